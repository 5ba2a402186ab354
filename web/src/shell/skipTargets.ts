/** What of a view can be skipped to, for as long as it is shown. */
import { useEffect, useSyncExternalStore } from "react";

export interface SkipTarget {
  /** The `id` of the element. */
  readonly id: string;
  readonly said: string;
}

const listeners = new Set<() => void>();
let targets: readonly SkipTarget[] = [];

/** Offer a link to an element; `isThere` is false as long as it is not shown. */
export function useSkipTarget(id: string, said: string, isThere = true): void {
  useEffect(() => {
    if (!isThere) return undefined;
    const target = { id, said };
    change([...targets, target]);
    return () => change(targets.filter((each) => each !== target));
  }, [id, said, isThere]);
}

/** All that can be skipped to now, in the order in which it is shown. */
export function useSkipTargets(): readonly SkipTarget[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => targets,
  );
}

function change(changed: readonly SkipTarget[]): void {
  targets = changed.toSorted(byPlace);
  for (const listener of listeners) listener();
}

function byPlace(one: SkipTarget, other: SkipTarget): number {
  const [first, second] = [one, other].map(({ id }) => document.getElementById(id));
  if (first == null || second == null) return 0;
  return first.compareDocumentPosition(second) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
}
