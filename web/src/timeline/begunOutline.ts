/** The outline of the session that the address names: it loads while the scripts of the view do. */
import { SessionOutline } from "@pagefault/react";
import { matchPath } from "react-router";

import { pagefault } from "../api/client";

let begun: { readonly sessionId: string; readonly outline: SessionOutline } | undefined;

/** Begin to load the session of an address, if it is that of a timeline. */
export function beginOutline(path: string): void {
  const sessionId = matchPath("/sessions/:sessionId", path)?.params.sessionId;
  if (sessionId === undefined) return;
  const outline = new SessionOutline(pagefault(), sessionId);
  outline.loadAhead();
  begun = { sessionId, outline };
}

/** Return the begun outline of a session, to the first view of it alone: the next one is to be as of then. */
export function takeBegunOutline(sessionId: string): SessionOutline | undefined {
  const taken = begun?.sessionId === sessionId ? begun.outline : undefined;
  begun = undefined;
  return taken;
}
