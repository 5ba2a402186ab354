/** A stream of events for as long as a component stands. */
import { useEffect, useEffectEvent, useState } from "react";

import { useAccess } from "../access/key";
import { openEventStream, type LiveState, type Signal } from "./eventStream";

/** Listens at `/api/events`, or at the events of a session; gives the state of the connection. */
export function useEventStream(path: string, onSignal: (signal: Signal) => void): LiveState {
  const { key, isAsked } = useAccess();
  const [state, setState] = useState<LiveState>("connecting");
  const heard = useEffectEvent(onSignal);

  useEffect(() => {
    if (isAsked) return undefined;
    return openEventStream(path, { onSignal: (signal) => heard(signal), onState: setState });
  }, [path, key, isAsked]);

  return isAsked ? "offline" : state;
}
