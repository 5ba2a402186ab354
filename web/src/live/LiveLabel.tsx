/** Whether what is shown is what there is: live, reconnecting, offline. */
import type { LiveState } from "@pagefault/react";

import { SHELL } from "../words/shell";

export function LiveLabel({ state }: { state: LiveState }) {
  const tone = state === "live" ? "good" : state === "connecting" ? "" : "warn";
  return (
    <span className={`label live ${tone}`} role="status" data-state={state}>
      {SHELL.live[state]}
    </span>
  );
}
