/** One row of a timeline: an entry, or a step with its calls and what answers them. */
import type { SessionEntry } from "@pagefault/react";
import { memo } from "react";

import { type Row, entriesOf } from "../rows";
import { EntryBoundary } from "./EntryBoundary";
import { EntryView } from "./EntryView";
import { StepView } from "./StepView";
import { UnloadedEntry } from "./UnloadedEntry";

export type DrawnRow = Exclude<Row, { kind: "day" }>;

interface RowViewProps {
  readonly row: DrawnRow;
  readonly loaded: (seq: number) => SessionEntry | undefined;
  /** The entry that the address names. */
  readonly named: number | undefined;
}

export function RowView({ row, loaded, named }: RowViewProps) {
  const entries = entriesOf(row);
  const isNamed = entries.some(({ seq }) => seq === named);
  return (
    <DrawnRowView
      row={row}
      named={isNamed ? named : undefined}
      bodies={entries.map(({ seq }) => loaded(seq))}
    />
  );
}

interface DrawnRowViewProps {
  readonly row: DrawnRow;
  readonly named: number | undefined;
  /** The entries of the row, in its order; undefined where one is not loaded yet. */
  readonly bodies: readonly (SessionEntry | undefined)[];
}

// Entries never change: a row is drawn again when more of it is there.
const DrawnRowView = memo(
  function DrawnRowView({ row, named, bodies }: DrawnRowViewProps) {
    const [first] = bodies;
    return (
      <EntryBoundary seq={row.seq} source={first?.source ?? "null"}>
        {row.kind === "step" ? (
          <StepView row={row} named={named} bodies={bodies} />
        ) : first === undefined ? (
          <UnloadedEntry seq={row.seq} />
        ) : (
          <EntryView shown={first} isNamed={named === row.seq} />
        )}
      </EntryBoundary>
    );
  },
  (before, after) =>
    before.named === after.named &&
    before.bodies.length === after.bodies.length &&
    before.bodies.every((body, index) => body === after.bodies[index]) &&
    isSame(before.row, after.row),
);

/** Rows are made anew whenever the outline grows. */
export function isSame(before: DrawnRow, after: DrawnRow): boolean {
  if (before === after) return true;
  const [first, second] = [entriesOf(before), entriesOf(after)];
  return first.length === second.length && first.every((each, index) => each === second[index]);
}
