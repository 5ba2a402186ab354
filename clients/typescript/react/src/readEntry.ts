/** An entry of a history, read from its JSON, which it keeps. */
import type { HistoryEntry } from "@pagefault/client";

import type { SessionEntry } from "./sessionHistory.ts";

export function readEntry(source: string): SessionEntry {
  const entry = JSON.parse(source) as HistoryEntry;
  return { seq: entry.seq, entry, source };
}
