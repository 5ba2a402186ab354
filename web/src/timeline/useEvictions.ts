/** Which entries a model no longer has in full, by the frontier that turns move. */
import type { WorkingSet } from "@pagefault/client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { createContext } from "react";

import { pagefault } from "../api/client";
import { useIsStored } from "../file/openedFile";
import { DOCTOR_TARGET } from "./sessionContext";
import type { QuietSession } from "./useQuietSession";

const FRONTIER = "main";

/** Whether a model no longer has some entry of the session in full. */
export const HasEvictionsContext = createContext(false);

export interface Evictions {
  readonly evicted: ReadonlySet<number>;
  readonly hasFailed: boolean;
}

export function useEvictions(sessionId: string, { isQuiet, seq }: QuietSession): Evictions {
  const isStored = useIsStored();
  const read = useQuery({
    queryKey: ["evictions", sessionId, seq],
    queryFn: async ({ signal }) => {
      const query = { target: DOCTOR_TARGET, frontier: FRONTIER };
      const path = `/api/sessions/${encodeURIComponent(sessionId)}/working-set`;
      const answer = await pagefault().request(path, { query, signal });
      return evictedIn((await answer.json()) as WorkingSet);
    },
    enabled: isQuiet && isStored,
    placeholderData: keepPreviousData,
    retry: false,
  });
  return { evicted: read.data ?? NONE, hasFailed: read.isError };
}

/** The entries of a working set that are at a lower level; one line may stand for a run of them. */
function evictedIn({ entries }: WorkingSet): ReadonlySet<number> {
  const evicted = new Set<number>();
  for (const { fromSeq, seq, stepLevel } of entries) {
    if (stepLevel == null || seq == null) continue;
    for (let one = fromSeq ?? seq; one <= seq; one += 1) evicted.add(one);
  }
  return evicted;
}

const NONE: ReadonlySet<number> = new Set();
