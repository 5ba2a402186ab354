/** A memory page, kept fresh while it is shown. */
import type { PageRecord } from "@pagefault/client";
import { useEffect, useState } from "react";

import { usePagefault } from "./context.ts";
import type { LiveState, Signal } from "./liveStream.ts";
import { useEventStream } from "./useEventStream.ts";
import { useLatest } from "./useLatest.ts";

export interface ShownPage {
  /** As it was read last; also while it is read again, and if that failed. */
  readonly page: PageRecord | undefined;
  readonly isLoading: boolean;
  /** Why it was not read: a `NotFoundError` if there is none, or none any more. */
  readonly failure: unknown;
  readonly reload: () => void;
  readonly live: LiveState;
}

interface Reading {
  readonly pageId: string;
  readonly page?: PageRecord | undefined;
  readonly failure: unknown;
}

// A session takes its pages along, wherever it goes.
const CHANGES = new Set([
  "page:created",
  "page:updated",
  "page:deleted",
  "session:deleted",
  "session:imported",
]);
const PAUSE_MS = 1_000;
const NOTHING = { reload: () => undefined, end: () => undefined };

export function usePage(pageId: string): ShownPage {
  const client = usePagefault();
  const [reading, setReading] = useState<Reading>();
  const [reader, setReader] = useState<{ reload: () => void }>(NOTHING);
  const read = useLatest((signal: AbortSignal, done: () => void) => {
    client.pages
      .get(pageId, { signal })
      .then((page) => setReading({ pageId, page, failure: null }))
      .catch((failure: unknown) => {
        if (!signal.aborted)
          setReading((last) => ({ ...(last?.pageId === pageId ? last : { pageId }), failure }));
      })
      .finally(done);
  });
  const live = useEventStream(null, (signal) => {
    if (concerns(signal, pageId)) reader.reload();
  });

  useEffect(() => {
    const made = repeated(read);
    setReader(made);
    made.reload();
    return made.end;
  }, [client, pageId, read]);

  const { page, failure } =
    reading?.pageId === pageId ? reading : { page: undefined, failure: null };
  return {
    page,
    failure,
    isLoading: page === undefined && failure === null,
    reload: reader.reload,
    live,
  };
}

/** Reads one after the other, with a pause between, however often it is asked to. */
function repeated(read: (signal: AbortSignal, done: () => void) => void) {
  const life = new AbortController();
  let isResting = false;
  let isDue = false;
  function reload(): void {
    if (isResting) {
      isDue = true;
      return;
    }
    isResting = true;
    isDue = false;
    read(life.signal, () => {
      setTimeout(() => {
        isResting = false;
        if (isDue && !life.signal.aborted) reload();
      }, PAUSE_MS);
    });
  }
  return { reload, end: () => life.abort() };
}

function concerns(signal: Signal, pageId: string): boolean {
  // Events without a listener are lost, so any other signal reloads the page.
  if (signal.kind !== "event") return true;
  return CHANGES.has(signal.name) && (signal.id === pageId || signal.name.startsWith("session:"));
}
