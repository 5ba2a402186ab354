/** Whether what is shown is what there is: live, reconnecting, offline. */
import type { LiveState } from "@pagefault/react";

import { SHELL } from "../words/shell";

interface LiveLabelProps {
  readonly state: LiveState;
  /** Whether a dot says it as long as all is well. */
  readonly isDot?: boolean;
}

export function LiveLabel({ state, isDot = false }: LiveLabelProps) {
  const tone = state === "live" ? "good" : state === "connecting" ? "" : "warn";
  const said = SHELL.live[state];
  const isWell = isDot && (state === "live" || state === "connecting");
  return (
    <span
      className={isWell ? `live-dot ${tone}` : `label live ${tone}`}
      role="status"
      data-state={state}
      title={isWell ? said : undefined}
    >
      {isWell ? <span className="unseen">{said}</span> : said}
    </span>
  );
}
