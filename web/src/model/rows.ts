/** The entries of a working set with what each lost, and its share of the tokens. */
import type { LossEntry, WorkingSetEntry } from "@pagefault/client";

export interface ModelRow {
  readonly entry: WorkingSetEntry;
  /** Its tokens, as a share of the most that any has. */
  readonly share: number;
  readonly losses: readonly LossEntry[];
}

export interface ModelRows {
  readonly rows: readonly ModelRow[];
  /** The last row that gave way; -1 if none did. */
  readonly lastEvicted: number;
  /** What was lost by none of them. */
  readonly elsewhere: readonly LossEntry[];
}

/** An entry may be several turns; what it lost stands beside the one that is about it. */
export function rowsOf(
  entries: readonly WorkingSetEntry[],
  loss: readonly LossEntry[],
): ModelRows {
  const holders = new Map<number, number>();
  let most = 1;
  entries.forEach(({ seq, role, tokens }, index) => {
    most = Math.max(most, tokens);
    if (seq == null) return;
    const held = holders.get(seq);
    const isFirstTool = role === "tool" && (held === undefined || entries[held]?.role !== "tool");
    if (held === undefined || isFirstTool) holders.set(seq, index);
  });
  const losses = new Map<number, LossEntry[]>();
  const elsewhere: LossEntry[] = [];
  for (const each of loss) {
    // One that stands for a run is about the last entry in it.
    const seq = each.seq ?? each.toSeq;
    const index = seq == null ? undefined : holders.get(seq);
    if (index === undefined) elsewhere.push(each);
    else if (losses.get(index)?.push(each) === undefined) losses.set(index, [each]);
  }
  const rows = entries.map((entry, index) => ({
    entry,
    share: entry.tokens / most,
    losses: losses.get(index) ?? [],
  }));
  return { rows, lastEvicted: entries.findLastIndex(({ evicted }) => evicted === true), elsewhere };
}
