/** The one stream of the sessions view: its list and its timeline hear the same signals. */
import { createContext, useContext, useEffect, useEffectEvent } from "react";

import type { LiveState, Signal } from "../live/eventStream";

export interface SharedStream {
  readonly state: LiveState;
  readonly listeners: Set<(signal: Signal) => void>;
}

export const StreamContext = createContext<SharedStream>({
  state: "connecting",
  listeners: new Set(),
});

/** Hear the signals of the stream around; gives its state. */
export function useSharedStream(onSignal: (signal: Signal) => void): LiveState {
  const { state, listeners } = useContext(StreamContext);
  const heard = useEffectEvent(onSignal);
  useEffect(() => {
    const listener = (signal: Signal) => heard(signal);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, [listeners]);
  return state;
}
