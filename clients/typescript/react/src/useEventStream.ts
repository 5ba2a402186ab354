/** A stream of events for as long as a component stands. */
import { useEffect, useState } from "react";

import { useStreams } from "./context.ts";
import type { LiveState, Signal } from "./liveStream.ts";
import { useLatest } from "./useLatest.ts";

/** Listens to a session, or with null to the whole project; gives the state of the connection. */
export function useEventStream(
  sessionId: string | null,
  onSignal: (signal: Signal) => void,
): LiveState {
  const streams = useStreams();
  const [state, setState] = useState<LiveState>("connecting");
  const heard = useLatest(onSignal);
  useEffect(
    () => streams.listen(sessionId, { onSignal: heard, onState: setState }),
    [streams, sessionId, heard],
  );
  return state;
}
