/**
 * The sessions, and the one that is open beside them; on a narrow screen one of the two.
 *
 * The view holds one stream of events, since a browser opens only six connections to a service: that
 * of the project while the list is to be seen, else that of the open session.
 */
import { useEventStream } from "@pagefault/react";
import { useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { Outlet, useMatch } from "react-router";

import { refreshSoon } from "../live/refreshSoon";
import { SessionList } from "./SessionList";
import { EventsContext } from "./live";
import "./sessions.css";

// The same width as in sessions.css.
const BOTH_FIT = window.matchMedia("(min-width: 60rem)");

export function SessionsView() {
  const queries = useQueryClient();
  const sessionId = useMatch("/sessions/:sessionId")?.params.sessionId;
  const bothFit = useSyncExternalStore(watchWidth, () => BOTH_FIT.matches);
  const isListShown = bothFit || sessionId === undefined;
  const events = isListShown ? "project" : "session";

  useEventStream(isListShown ? null : sessionId, () => {
    if (isListShown) refreshSoon(queries, "sessions");
  });

  return (
    <EventsContext value={events}>
      <div className="sessions" data-open={sessionId !== undefined}>
        {isListShown && <SessionList />}
        <Outlet />
      </div>
    </EventsContext>
  );
}

function watchWidth(changed: () => void): () => void {
  BOTH_FIT.addEventListener("change", changed);
  return () => BOTH_FIT.removeEventListener("change", changed);
}
