/** The timeline of a session, kept up with what is written to it. */
import { useEffect, useMemo, useSyncExternalStore } from "react";

import { useAccess } from "../access/key";
import type { LiveState, Signal } from "../live/eventStream";
import { useSharedStream } from "../sessions/live";
import { Timeline, type TimelineState } from "./Timeline";

interface ShownTimeline {
  readonly timeline: Timeline;
  readonly state: TimelineState;
  readonly live: LiveState;
}

/** The timeline, with the entry of this number in its window if it has one. */
export function useTimeline(sessionId: string, wanted: number | undefined): ShownTimeline {
  const { key } = useAccess();
  // With another key it may be another project's session.
  const timeline = useMemo(() => new Timeline(sessionId), [sessionId, key]);
  const state = useSyncExternalStore(timeline.subscribe, timeline.state);

  // Before it is loaded, which brings the wanted entry along.
  useEffect(() => {
    if (wanted !== undefined) timeline.reach(wanted);
  }, [timeline, wanted]);
  useEffect(() => timeline.load(), [timeline]);

  const live = useSharedStream((signal) => hear(timeline, sessionId, signal));
  return { timeline, state, live };
}

function hear(timeline: Timeline, sessionId: string, signal: Signal): void {
  if (signal.kind === "open") timeline.catchUp();
  else if (signal.kind === "reset") timeline.load();
  else if (signal.sessionId !== sessionId) return;
  else if (signal.name === "session:deleted") timeline.markDeleted();
  else if (signal.name === "session:imported") timeline.load();
  else timeline.catchUp();
}
