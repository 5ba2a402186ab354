/** The marks that people set on a session: pinned, tags, a note. They are written at once. */
import type { SessionPatch, SessionRecord } from "@pagefault/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { pagefault } from "../api/client";

export type Change = SessionPatch | ((session: SessionRecord) => SessionPatch);

/** Writes marks; what is written over is read first where a change depends on it. */
export function useMarking(sessionId: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (change: Change) => {
      const session = pagefault().session(sessionId);
      return session.patch(typeof change === "function" ? change(await session.get()) : change);
    },
    // All that shows marks is under this key.
    onSuccess: () => queries.invalidateQueries({ queryKey: ["sessions"] }),
  });
}

/** A session by itself, where no list has it. */
export function useSessionRecord(sessionId: string, isWanted = true) {
  return useQuery({
    queryKey: ["sessions", "open", sessionId],
    queryFn: ({ signal }) => pagefault().session(sessionId).get({ signal }),
    enabled: isWanted,
    retry: false,
  });
}
