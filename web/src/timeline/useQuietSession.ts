/** What the service examines of a session unasked: one that is loaded, quiet for a while, and not too long. */
import type { OutlinedSession } from "@pagefault/react";
import { useEffect, useState } from "react";

/** Longer ones take the service more than 10 s of processor time. */
const MOST_ENTRIES = 10_000;
const QUIET_MS = 1_000;
/** An examination takes 0.7 ms of processor time for each entry; the next one waits much longer than that. */
const PAUSE_MS_PER_ENTRY = 5;

export interface QuietSession {
  readonly isQuiet: boolean;
  /** The last entry when it became quiet. */
  readonly seq: number;
  readonly isTooLong: boolean;
}

export function useQuietSession({ entries, lower }: OutlinedSession): QuietSession {
  const last = entries.at(-1)?.seq ?? 0;
  const count = entries.length;
  const isLoaded = lower === 0 && count > 0;
  const [seq, setSeq] = useState(0);
  const pause = seq === 0 ? QUIET_MS : Math.max(QUIET_MS, PAUSE_MS_PER_ENTRY * count);
  useEffect(() => {
    if (!isLoaded) return undefined;
    const timer = window.setTimeout(() => setSeq(last), pause);
    return () => window.clearTimeout(timer);
  }, [last, isLoaded, pause]);
  const isTooLong = count > MOST_ENTRIES;
  return { isQuiet: isLoaded && seq > 0 && !isTooLong, seq, isTooLong };
}
