/** Which entries a model no longer has in full, by the frontier that turns move. */
import type { OutlineEntry } from "@pagefault/client";
import type { OutlinedSession } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";

import { pagefault } from "../api/client";
import { useIsStored } from "../file/openedFile";
import { DOCTOR_TARGET } from "./sessionContext";
import { useQuietSession } from "./useQuietSession";

const FRONTIER = "main";

export function useEvictions(sessionId: string, session: OutlinedSession): ReadonlySet<number> {
  const isStored = useIsStored();
  const { isQuiet, seq, count } = useQuietSession(session);
  const read = useQuery({
    queryKey: ["evictions", sessionId, seq],
    queryFn: async ({ signal }) => {
      const query = { target: DOCTOR_TARGET, frontier: FRONTIER, limit: count };
      const path = `/api/sessions/${encodeURIComponent(sessionId)}/outline`;
      const answer = await pagefault().request(path, { query, signal });
      const { items } = (await answer.json()) as { items: readonly OutlineEntry[] };
      return new Set(items.filter(({ stepLevel }) => stepLevel != null).map((each) => each.seq));
    },
    enabled: isQuiet && isStored,
    retry: false,
  });
  return read.data ?? NONE;
}

const NONE: ReadonlySet<number> = new Set();
