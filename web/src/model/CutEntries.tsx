/** Which entries the model no longer sees in full, by how they were cut; each leads to its row. */
import { numberText } from "@pagefault/react";
import { useState } from "react";
import { Link, useLocation } from "react-router";

import { MODEL } from "../words/model";
import { type EntryRange, type ModelRow, countEntries, cutsOf, sizeOf } from "./rows";

interface CutEntriesProps {
  readonly rows: readonly ModelRow[];
  readonly at: number | undefined;
}

const FIRST = 12;

export function CutEntries({ rows, at }: CutEntriesProps) {
  const cuts = cutsOf(rows);
  if (cuts.length === 0) return <p>{MODEL.allSeen(at)}</p>;
  // What the target, an option or a repair has changed was not there in full before.
  const evicted = cuts.flatMap(([cut, ranges]) => (cut === "changed" ? [] : ranges));
  const count = evicted.reduce((sum, range) => sum + sizeOf(range), 0);
  return (
    <>
      <p>
        <strong>
          {count === 0
            ? MODEL.noneEvicted(at)
            : MODEL.unseen(at, numberText(count), numberText(countEntries(rows)))}
        </strong>
      </p>
      <ul>
        {cuts.map(([cut, ranges]) => (
          <Cut key={cut} {...{ cut, ranges }} />
        ))}
      </ul>
    </>
  );
}

function Cut({ cut, ranges }: { cut: string; ranges: readonly EntryRange[] }) {
  const [isWhole, setWhole] = useState(false);
  const { search } = useLocation();
  const shown = isWhole ? ranges : ranges.slice(0, FIRST);
  return (
    <li>
      {MODEL.cuts[cut] ?? cut}:{" "}
      {shown.map(([first, last]) => (
        <Link
          key={first}
          to={{ search, hash: `#entry-${first}` }}
          state={{ isMove: true }}
          replace
          preventScrollReset
        >
          #{first}
          {last !== first && ` ${MODEL.upTo} #${last}`}
        </Link>
      ))}
      {shown.length < ranges.length && (
        <button type="button" className="button plain small" onClick={() => setWhole(true)}>
          {MODEL.moreEntries(ranges.length - shown.length)}
        </button>
      )}
    </li>
  );
}
