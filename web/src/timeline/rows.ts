/**
 * The rows of a timeline: entries as they are read.
 *
 * A message that calls tools, and what answers its calls, are one row, however far the answers are
 * behind it. Everything else is a row of its own, and a new day begins with one.
 */
import type { OutlineEntry } from "@pagefault/client";

export interface Call {
  readonly id: string;
  readonly name: string;
  /** What answers it; null as long as nothing does. */
  readonly result: OutlineEntry | null;
  /** The entry answers other calls as well, and is a row of its own. */
  readonly isApart: boolean;
}

export type Row =
  | { readonly kind: "day"; readonly key: string; readonly day: string; readonly seq: number }
  | {
      readonly kind: "entry";
      readonly key: string;
      readonly seq: number;
      readonly entry: OutlineEntry;
    }
  | {
      readonly kind: "step";
      readonly key: string;
      readonly seq: number;
      /** The message that calls; null where a result stands alone. */
      readonly caller: OutlineEntry | null;
      readonly calls: readonly Call[];
    };

interface OpenCall {
  readonly id: string;
  readonly name: string;
  result: OutlineEntry | null;
  isApart: boolean;
}

/** The rows of a stretch of an outline, in the order of their first entries. */
export function rowsOf(outline: readonly OutlineEntry[]): readonly Row[] {
  const rows: Row[] = [];
  const open = new Map<string, OpenCall>();
  let day = "";
  for (const entry of outline) {
    const answered = entry.answers.flatMap((id) => open.get(id) ?? []);
    const [only] = answered;
    const isAnswer = entry.role === "tool" && entry.calls.length === 0;
    if (only !== undefined && answered.length === 1 && isAnswer) {
      only.result = entry;
      open.delete(only.id);
      continue;
    }
    for (const call of answered) {
      call.result = entry;
      call.isApart = true;
      open.delete(call.id);
    }
    const today = dayOf(entry.createdAt);
    if (today !== day) rows.push({ kind: "day", key: `day ${entry.seq}`, day: today, seq: entry.seq });
    day = today;
    rows.push(rowOf(entry, open));
  }
  return rows;
}

function rowOf(entry: OutlineEntry, open: Map<string, OpenCall>): Row {
  const { seq } = entry;
  const key = `entry ${seq}`;
  if (entry.calls.length > 0) {
    const calls = entry.calls.map((call) => ({ ...call, result: null, isApart: false }));
    // An id that is used again belongs to the call that used it last.
    for (const call of calls) open.set(call.id, call);
    return { kind: "step", key, seq, caller: entry, calls };
  }
  if (entry.entry === "tool_result" || entry.entry === "page_fault") {
    const name = entry.entry === "page_fault" ? "page_fault" : (entry.name ?? "");
    const call = { id: entry.answers[0] ?? "", name, result: entry, isApart: false };
    return { kind: "step", key, seq, caller: null, calls: [call] };
  }
  return { kind: "entry", key, seq, entry };
}

/** The day of a moment, where the reader is. */
function dayOf(moment: string): string {
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? "" : date.toDateString();
}

/** The entries of a row, as they are drawn. */
export function entriesOf(row: Row): readonly OutlineEntry[] {
  if (row.kind === "day") return [];
  if (row.kind === "entry") return [row.entry];
  const results = row.calls.flatMap(({ result, isApart }) => (isApart ? [] : (result ?? [])));
  return row.caller === null ? results : [row.caller, ...results];
}

/** Where each entry is drawn: the index of its row by its number. */
export function rowIndexes(rows: readonly Row[]): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  rows.forEach((row, index) => {
    for (const { seq } of entriesOf(row)) found.set(seq, index);
  });
  return found;
}
