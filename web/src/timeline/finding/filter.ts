/** Which rows of a timeline are shown. What is chosen stands in the address. */
import type { OutlineEntry } from "@pagefault/client";

import { type Row, entriesOf } from "../rows";

export type Kind = "tool" | "user" | "assistant" | "fault" | "system";

export interface Filter {
  readonly tool?: string | undefined;
  readonly kind?: Kind | undefined;
  readonly failed?: boolean | undefined;
}

export const KINDS: readonly Kind[] = ["user", "assistant", "tool", "fault", "system"];

export function filterIn(search: URLSearchParams): Filter {
  const kind = KINDS.find((each) => each === search.get("kind"));
  return {
    tool: search.get("tool") || undefined,
    kind,
    failed: search.get("failed") === "1" || undefined,
  };
}

/** The search of an address with another filter in it. */
export function withFilter(search: URLSearchParams, { tool, kind, failed }: Filter) {
  const changed = new URLSearchParams(search);
  const members = { tool, kind, failed: failed === true ? "1" : undefined };
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined || value === "") changed.delete(name);
    else changed.set(name, value);
  }
  return changed;
}

export function isEmptyFilter({ tool, kind, failed }: Filter): boolean {
  return tool === undefined && kind === undefined && failed === undefined;
}

/** The rows that have an entry, or a call, that fits; and the days they are of. */
export function filterRows(rows: readonly Row[], filter: Filter): readonly Row[] {
  if (isEmptyFilter(filter)) return rows;
  const found: Row[] = [];
  let day: Row | undefined;
  for (const row of rows) {
    if (row.kind === "day") day = row;
    else if (fits(row, filter)) {
      if (day !== undefined) found.push(day);
      day = undefined;
      found.push(row);
    }
  }
  return found;
}

/** The entries of some rows, in the order of their numbers. */
export function entriesIn(rows: readonly Row[]): readonly OutlineEntry[] {
  // An answer stands in the row of its call, before what was written meanwhile.
  return rows.flatMap(entriesOf).sort((one, other) => one.seq - other.seq);
}

function fits(row: Row, { tool, kind, failed }: Filter): boolean {
  const entries = entriesOf(row);
  const names = row.kind === "step" ? row.calls.map(({ name }) => name) : [];
  // Of a tool, its own failures count.
  const failures = row.kind === "step" && tool !== undefined
    ? row.calls.some(({ name, result }) => name === tool && result?.failed === true)
    : entries.some((entry) => entry.failed);
  return (
    (failed === undefined || failures) &&
    (tool === undefined || names.includes(tool)) &&
    (kind === undefined || entries.some((entry) => isOf(entry, kind)))
  );
}

function isOf(entry: OutlineEntry, kind: Kind): boolean {
  if (kind === "fault") return entry.entry === "page_fault";
  return kind === entry.role && entry.entry !== "page_fault";
}

/** The tools that were called, the most used first. */
export function toolsIn(rows: readonly Row[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    for (const { name } of row.kind === "step" ? row.calls : []) {
      if (name !== "") counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return [...counts].sort(([a, first], [b, second]) => second - first || a.localeCompare(b));
}

/** The number of the next entry that has something, or with -1 of the one before; behind the last, the first is next. */
export function nextWith(
  entries: readonly OutlineEntry[],
  from: number,
  step: 1 | -1,
  has: (entry: OutlineEntry) => boolean,
): number | undefined {
  const found = (step === 1 ? entries : entries.toReversed()).filter(has);
  return (found.find(({ seq }) => (seq - from) * step > 0) ?? found[0])?.seq;
}
