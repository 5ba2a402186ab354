/** Keeps what is shown of pages fresh: it is asked for again when one was written or deleted. */
import { type LiveState, type Signal, useEventStream } from "@pagefault/react";
import { useQueryClient } from "@tanstack/react-query";

import { refreshSoon } from "../live/refreshSoon";

// A fault only reads a page. A session takes its pages along, wherever it goes.
const CHANGES = new Set([
  "page:created",
  "page:updated",
  "page:deleted",
  "session:deleted",
  "session:imported",
]);

/** Listen for changes of all pages, or of one; gives the state of the connection. */
export function usePageEvents(pageId?: string): LiveState {
  const queries = useQueryClient();
  return useEventStream(null, (signal) => {
    if (concerns(signal, pageId)) refreshSoon(queries, "pages");
  });
}

function concerns(signal: Signal, pageId: string | undefined): boolean {
  // What happened while nobody listened is not told of: all is asked for again.
  if (signal.kind !== "event") return true;
  if (!CHANGES.has(signal.name)) return false;
  return pageId === undefined || signal.id === pageId || signal.name.startsWith("session:");
}
