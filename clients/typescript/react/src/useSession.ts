/** The live history of a session. */
import { useEffect, useMemo, useSyncExternalStore } from "react";

import { usePagefault } from "./context.ts";
import { hear } from "./hear.ts";
import type { LiveState } from "./liveStream.ts";
import { SessionHistory, type SessionHistoryState } from "./sessionHistory.ts";
import { useEventStream } from "./useEventStream.ts";

export interface ShownSession extends SessionHistoryState {
  /** Loads earlier entries, tries again, and so on. */
  readonly history: SessionHistory;
  readonly live: LiveState;
}

interface Wish {
  /** The number of an entry that is to be among those loaded, if there is one. */
  readonly reach?: number | undefined;
  /** Whose events tell of new entries: a view that listens to the project needs no other stream. */
  readonly events?: "session" | "project" | undefined;
}

/** The newest entries, earlier ones as they are asked for, and new ones as they are written. */
export function useSession(
  sessionId: string,
  { reach, events = "session" }: Wish = {},
): ShownSession {
  const client = usePagefault();
  const history = useMemo(() => new SessionHistory(client, sessionId), [client, sessionId]);
  const state = useSyncExternalStore(history.subscribe, history.state, history.state);

  // Before it is loaded, which brings the wanted entry along.
  useEffect(() => {
    if (reach !== undefined) history.reach(reach);
  }, [history, reach]);
  useEffect(() => history.load(), [history]);

  const live = useEventStream(events === "project" ? null : sessionId, (signal) =>
    hear(history, sessionId, signal),
  );
  return { ...state, history, live };
}
