/** What the service examines of a session unasked: one that is loaded, quiet for a while, and not too long. */
import type { OutlinedSession } from "@pagefault/react";
import { useEffect, useState } from "react";

const MOST_ENTRIES = 2_000;
const QUIET_MS = 1_000;

export function useQuietSession({ entries, lower }: OutlinedSession) {
  const last = entries.at(-1)?.seq ?? 0;
  const [seq, setSeq] = useState(0);
  useEffect(() => {
    const timer = window.setTimeout(() => setSeq(last), QUIET_MS);
    return () => window.clearTimeout(timer);
  }, [last]);
  const count = entries.length;
  return { isQuiet: lower === 0 && seq > 0 && count <= MOST_ENTRIES, seq, count };
}
