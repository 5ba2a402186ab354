/** The live outline of a session, with its entries on demand. */
import { useEffect, useMemo, useSyncExternalStore } from "react";

import { usePagefault } from "./context.ts";
import { hear } from "./hear.ts";
import type { LiveState } from "./liveStream.ts";
import { SessionEntries } from "./sessionEntries.ts";
import { SessionOutline, type SessionOutlineState } from "./sessionOutline.ts";
import { useEventStream } from "./useEventStream.ts";

export interface OutlinedSession extends SessionOutlineState {
  /** Loads everything again, and so on. */
  readonly outline: SessionOutline;
  /** Loads the entries that are wanted. */
  readonly bodies: SessionEntries;
  readonly live: LiveState;
}

interface Wish {
  /** The outline of this session if it loads already; see `loadAhead`. */
  readonly begun?: SessionOutline | undefined;
  /** Whose events tell of new entries: a view that listens to the project needs no other stream. */
  readonly events?: "session" | "project" | undefined;
}

/** A line for each entry, the newest first, and whatever is written from now on. */
export function useOutline(
  sessionId: string,
  { events = "session", begun }: Wish = {},
): OutlinedSession {
  const client = usePagefault();
  const { outline, bodies } = useMemo(
    () => ({
      // With another key it is another client.
      outline: begun?.client === client ? begun : new SessionOutline(client, sessionId),
      bodies: new SessionEntries(client, sessionId),
    }),
    [client, sessionId, begun],
  );
  const state = useSyncExternalStore(outline.subscribe, outline.state, outline.state);
  // Entries that are looked at are drawn when they are there.
  useSyncExternalStore(bodies.subscribe, bodies.changes, bodies.changes);
  useEffect(() => outline.load(), [outline]);

  const live = useEventStream(events === "project" ? null : sessionId, (signal) =>
    hear(
      {
        catchUp: outline.catchUp,
        markDeleted: outline.markDeleted,
        load: () => {
          bodies.forget();
          outline.load();
        },
      },
      sessionId,
      signal,
    ),
  );
  return { ...state, outline, bodies, live };
}
