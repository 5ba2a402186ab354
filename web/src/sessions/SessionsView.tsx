/**
 * The sessions, and the one that is open beside them; on a narrow screen one of the two.
 *
 * The view holds one stream of events, since a browser opens only six connections to a service: that
 * of the project while the list is to be seen, else that of the open session.
 */
import { useQueryClient } from "@tanstack/react-query";
import { useMemo, useState, useSyncExternalStore } from "react";
import { Outlet, useMatch } from "react-router";

import type { Signal } from "../live/eventStream";
import { refreshSoon } from "../live/refreshSoon";
import { useEventStream } from "../live/useEventStream";
import { StreamContext } from "./live";
import { SessionList } from "./SessionList";
import "./sessions.css";

// The same width as in sessions.css.
const BOTH_FIT = window.matchMedia("(min-width: 60rem)");

export function SessionsView() {
  const queries = useQueryClient();
  const sessionId = useMatch("/sessions/:sessionId")?.params.sessionId;
  const bothFit = useSyncExternalStore(watchWidth, () => BOTH_FIT.matches);
  const isListShown = bothFit || sessionId === undefined;
  const [listeners] = useState(() => new Set<(signal: Signal) => void>());
  const path =
    isListShown || sessionId === undefined
      ? "/api/events"
      : `/api/sessions/${encodeURIComponent(sessionId)}/events`;

  const state = useEventStream(path, (signal) => {
    if (isListShown) refreshSoon(queries, "sessions");
    for (const listener of listeners) listener(signal);
  });
  const stream = useMemo(() => ({ state, listeners }), [state, listeners]);

  return (
    <StreamContext value={stream}>
      <div className="sessions" data-open={sessionId !== undefined}>
        {isListShown && <SessionList />}
        <Outlet />
      </div>
    </StreamContext>
  );
}

function watchWidth(changed: () => void): () => void {
  BOTH_FIT.addEventListener("change", changed);
  return () => BOTH_FIT.removeEventListener("change", changed);
}
