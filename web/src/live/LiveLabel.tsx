/** Whether what is shown is what there is: live, reconnecting, offline. */
import type { LiveState } from "@pagefault/react";

const WORDS: Record<LiveState, string> = {
  connecting: "Connecting",
  live: "Live",
  reconnecting: "Reconnecting",
  offline: "Offline",
};

export function LiveLabel({ state }: { state: LiveState }) {
  const tone = state === "live" ? "good" : state === "connecting" ? "" : "warn";
  return (
    <span className={`label live ${tone}`} role="status" data-state={state}>
      {WORDS[state]}
    </span>
  );
}
