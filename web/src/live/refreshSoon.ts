/** Asks queries again when something has changed, at most once a second however much changes. */
import type { QueryClient } from "@tanstack/react-query";

const PAUSE_MS = 1_000;
const resting = new Map<string, boolean>();

/**
 * Ask all queries under a key again: now, or once more when they are answered and the pause is over.
 *
 * Asking again gives up what is under way; so a slow answer is waited for, however much changes.
 */
export function refreshSoon(queries: QueryClient, key: string): void {
  if (resting.has(key)) {
    resting.set(key, true);
    return;
  }
  resting.set(key, false);
  void queries.invalidateQueries({ queryKey: [key] }).finally(() => {
    window.setTimeout(() => {
      const isDue = resting.get(key) === true;
      resting.delete(key);
      if (isDue) refreshSoon(queries, key);
    }, PAUSE_MS);
  });
}
