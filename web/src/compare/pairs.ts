/** Two outlines side by side, in order: entries of the same kind, tool and title are pairs. */
import type { OutlineEntry } from "@pagefault/client";
import { diffArrays } from "diff";

export interface Pair {
  readonly key: string;
  readonly state: "same" | "differs" | "first" | "second";
  readonly first: OutlineEntry | null;
  readonly second: OutlineEntry | null;
}

const LONGEST_MS = 2_000;

export function pairsOf(
  first: readonly OutlineEntry[],
  second: readonly OutlineEntry[],
): readonly Pair[] {
  const pairs: Pair[] = [];
  let [a, b] = [0, 0];
  // What does the same stands opposite, and of that, what says the same is the same.
  for (const part of partsOf(first.map(deedOf), second.map(deedOf))) {
    for (let count = 0; count < part.value.length; count += 1) {
      const one = part.added ? null : (first[a++] ?? null);
      const other = part.removed ? null : (second[b++] ?? null);
      const state =
        one === null
          ? "second"
          : other === null
            ? "first"
            : one.fingerprint === other.fingerprint
              ? "same"
              : "differs";
      pairs.push({ key: `${one?.seq ?? ""}-${other?.seq ?? ""}`, state, first: one, second: other });
    }
  }
  return pairs;
}

interface Part {
  readonly value: readonly string[];
  readonly added: boolean;
  readonly removed: boolean;
}

/** How two lists differ. Where they differ too much for that to be found soon, they are two lists. */
function partsOf(first: string[], second: string[]): readonly Part[] {
  return (
    diffArrays(first, second, { timeout: LONGEST_MS }) ?? [
      { value: first, added: false, removed: true },
      { value: second, added: true, removed: false },
    ]
  );
}

function deedOf({ entry, role, name, calls }: OutlineEntry): string {
  return JSON.stringify([entry, role, name, calls.map((call) => call.name)]);
}

