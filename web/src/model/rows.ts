/** The entries of a working set with what each lost, and its share of the tokens. */
import type { LossEntry, WorkingSetEntry } from "@pagefault/client";

/** The strongest first. */
const CUTS = ["folded", "arguments", "line", "preview", "media", "changed"];

export interface ModelRow {
  readonly entry: WorkingSetEntry;
  /** Its tokens, as a share of the most that any has. */
  readonly share: number;
  readonly losses: readonly LossEntry[];
  /** How it was cut: the name of its step level, `changed` if its target, an option or a repair did it. */
  readonly cut?: string | undefined;
  /** Only of a call or a result that is not stored, and has no number: the entry that it was inserted for. */
  readonly insertedFor?: number | undefined;
}

export interface ModelRows {
  readonly rows: readonly ModelRow[];
  /** What was lost by none of them. */
  readonly elsewhere: readonly LossEntry[];
}

/** An entry may be several turns; what it lost stands beside the one that is about it. */
export function rowsOf(
  listed: readonly WorkingSetEntry[],
  loss: readonly LossEntry[],
): ModelRows {
  const inserted = insertionsIn(listed, loss);
  const entries = listed.map((entry, index) => (inserted.has(index) ? { ...entry, seq: null } : entry));
  const insertions = new Map([...inserted].map(([index, each]) => [each, index]));
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
    const index = insertions.get(each) ?? (seq == null ? undefined : holders.get(seq));
    if (index === undefined) elsewhere.push(each);
    else if (losses.get(index)?.push(each) === undefined) losses.set(index, [each]);
  }
  const rows = entries.map((entry, index) => {
    const own = losses.get(index) ?? [];
    const cut = entry.stepLevel ?? (own.length > 0 ? "changed" : undefined);
    const insertedFor = inserted.get(index)?.seq ?? undefined;
    return { entry, share: entry.tokens / most, losses: own, cut, insertedFor };
  });
  return { rows, elsewhere };
}

/**
 * What a repair has inserted, by its index. In a working set, an inserted call has the number of its
 * result, and an inserted result that of the turn behind it. Where a stored result has that number too,
 * the two cannot be told apart, and neither is taken to be inserted.
 */
function insertionsIn(
  entries: readonly WorkingSetEntry[],
  loss: readonly LossEntry[],
): ReadonlyMap<number, LossEntry> {
  const found = new Map<number, LossEntry>();
  const added = loss.filter(({ from, seq }) => from === "nothing" && seq != null);
  for (const each of added) {
    const call = entries.findLastIndex(({ seq, role }) => seq === each.seq && role === "assistant");
    if (call >= 0 && each.to === "call") found.set(call, each);
    if (call < 0 || each.to !== "answer" || found.has(call + 1)) continue;
    const end = entries.findIndex(({ role }, index) => index > call && role !== "tool");
    const behind = entries[end]?.seq;
    const same = added.filter(({ seq, to }) => seq === each.seq && to === "answer");
    const results = entries.flatMap(({ seq }, index) =>
      index > call && index < end && seq != null && seq === behind ? [index] : [],
    );
    if (results.length === same.length) results.forEach((index, place) => found.set(index, same[place] ?? each));
  }
  return found;
}

/** The first and the last `seq` of entries that were folded as one, or twice that of one entry. */
export type EntryRange = readonly [number, number];

/** Which entries were cut, by how; the strongest first. Each entry is in one of them. */
export function cutsOf(rows: readonly ModelRow[]): readonly (readonly [string, readonly EntryRange[]])[] {
  const cuts = new Map<number, number>();
  const ends = new Map<number, number>();
  for (const { entry, cut, insertedFor } of rows) {
    const last = entry.seq ?? insertedFor;
    if (last === undefined || cut === undefined) continue;
    const first = entry.fromSeq ?? last;
    const strength = CUTS.indexOf(cut);
    // An entry that is several turns has the strongest of its cuts.
    if (strength >= (cuts.get(first) ?? CUTS.length)) continue;
    cuts.set(first, strength);
    ends.set(first, last);
  }
  return CUTS.map((cut, strength) => {
    const firsts = [...cuts].filter(([, each]) => each === strength).map(([first]) => first);
    return [cut, firsts.map((first): EntryRange => [first, ends.get(first) ?? first])] as const;
  }).filter(([, ranges]) => ranges.length > 0);
}

/** How many entries stand in the rows. */
export function countEntries(rows: readonly ModelRow[]): number {
  const sizes = new Map<number, number>();
  for (const { entry } of rows) {
    if (entry.seq != null) sizes.set(entry.seq, sizeOf([entry.fromSeq ?? entry.seq, entry.seq]));
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}

export function sizeOf([first, last]: EntryRange): number {
  return last - first + 1;
}
