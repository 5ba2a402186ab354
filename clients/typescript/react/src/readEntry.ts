/** Reads an entry of a history from its JSON, which it keeps. */
import type { HistoryEntry } from "@pagefault/client";

/** An entry, and the JSON it was read from, in which no number has lost a digit. */
export interface SessionEntry {
  readonly seq: number;
  readonly entry: HistoryEntry;
  readonly source: string;
}

export function readEntry(source: string): SessionEntry {
  const entry = JSON.parse(source) as HistoryEntry;
  return { seq: entry.seq, entry, source };
}
