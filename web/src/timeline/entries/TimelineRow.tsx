/** A row of a timeline: as lines, or, where they are opened or there are few, as cards. */
import type { SessionEntries } from "@pagefault/react";

import type { CSSProperties } from "react";

import { LINE } from "../../words/timeline";
import type { OpenedRows } from "../density";
import { entriesOf } from "../rows";
import { useDepth } from "../subAgents";
import { LineRow } from "./LineRow";
import { type DrawnRow, RowView } from "./RowView";

const MOST_DEPTH = 5;

interface TimelineRowProps extends OpenedRows {
  readonly row: DrawnRow;
  readonly bodies: SessionEntries;
  readonly named: number | undefined;
  readonly isLines: boolean;
}

export function TimelineRow(props: TimelineRowProps) {
  const depth = useDepth(props.row);
  if (depth === 0) return <RowContent {...props} />;
  return (
    <div className="sub-agent" style={{ "--depth": Math.min(depth, MOST_DEPTH) } as CSSProperties}>
      <RowContent {...props} />
    </div>
  );
}

function RowContent(props: TimelineRowProps) {
  const { row, bodies, named, isLines, rows, open, close } = props;
  if (!isLines) return <RowView row={row} loaded={bodies.find} named={named} />;
  if (rows.has(row.seq)) {
    return (
      <div className="opened-row">
        <button
          type="button"
          className="button plain small"
          aria-expanded
          onClick={() => close(row.seq)}
        >
          {LINE.close}
        </button>
        <RowView row={row} loaded={bodies.find} named={named} />
      </div>
    );
  }
  const entries = entriesOf(row);
  const isNamed = entries.some(({ seq }) => seq === named);
  return (
    <LineRow
      row={row}
      bodies={entries.map(({ seq }) => bodies.find(seq))}
      named={isNamed ? named : undefined}
      open={open}
    />
  );
}
