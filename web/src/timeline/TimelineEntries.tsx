/** The entries of a window, the way to earlier ones, and the word that there are new ones. */
import {
  counted,
  type SessionHistory,
  type SessionHistoryState,
  visibleName,
} from "@pagefault/react";
import { type RefObject, useEffect, useRef, useState } from "react";

import { Failure } from "../shared/states";
import { EntryBoundary } from "./entries/EntryBoundary";
import { EntryView } from "./entries/EntryView";
import { titleOf } from "./history";
import type { KeptPlace } from "./placeKept";
import { useReadingPlace } from "./useReadingPlace";

interface TimelineEntriesProps {
  readonly history: SessionHistory;
  readonly state: SessionHistoryState;
}

export function TimelineEntries({
  history,
  state,
  place,
}: TimelineEntriesProps & { readonly place: KeptPlace }) {
  const { entries } = state;
  const { scroller, list, newCount, goToEnd } = useReadingPlace(state, place);

  // Who has just come here by keyboard scrolls with it, without passing through the list.
  useEffect(() => {
    if (document.activeElement?.id === "main") scroller.current?.focus({ preventScroll: true });
  }, [scroller]);

  return (
    <div className="timeline-window">
      <div
        ref={scroller}
        className="timeline-scroller scroller"
        tabIndex={0}
        role="region"
        aria-label="Entries"
      >
        {state.hasEarlier && <EarlierEntries {...{ history, state, scroller }} />}
        <ol ref={list} className="entries">
          {entries.map((shown) => (
            <li
              key={shown.seq}
              data-seq={shown.seq}
              className="entry-place-holder"
              aria-current={shown.seq === place.named ? "location" : undefined}
            >
              <EntryBoundary seq={shown.seq} source={shown.source}>
                <EntryView shown={shown} />
              </EntryBoundary>
            </li>
          ))}
        </ol>
        {state.failure !== null && <Failure failure={state.failure} onRetry={history.catchUp} />}
      </div>
      <Announcement state={state} />
      {newCount > 0 && (
        <button type="button" className="button primary new-entries" onClick={goToEnd}>
          {counted(newCount, "new entry", "new entries")}
        </button>
      )}
    </div>
  );
}

interface EarlierEntriesProps extends TimelineEntriesProps {
  readonly scroller: RefObject<HTMLDivElement | null>;
}

/** Loads earlier entries when it is asked to, and when the reader comes to it. */
function EarlierEntries({ history, state, scroller }: EarlierEntriesProps) {
  const place = useRef<HTMLDivElement>(null);
  const mayLoad = !state.isLoadingEarlier && state.earlierFailure === null;

  useEffect(() => {
    if (place.current === null || !mayLoad) return undefined;
    const observer = new IntersectionObserver(
      (changes) => {
        if (changes.some((change) => change.isIntersecting)) void history.loadEarlier();
      },
      { root: scroller.current, rootMargin: "200px 0px" },
    );
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [history, scroller, mayLoad]);

  return (
    <div ref={place} className="earlier">
      {state.earlierFailure !== null && <Failure failure={state.earlierFailure} />}
      <button
        type="button"
        className="button"
        disabled={state.isLoadingEarlier}
        onClick={() => void history.loadEarlier()}
      >
        {state.isLoadingEarlier ? "Loading earlier entries …" : "Load earlier"}
      </button>
    </div>
  );
}

/** Says what came last, to those who do not see it come. What was loaded at first is not news. */
function Announcement({ state }: { state: SessionHistoryState }) {
  const last = state.entries.at(-1);
  const [shownFirst] = useState(last?.seq);
  const isNews = last !== undefined && last.seq !== shownFirst;
  return (
    <p className="unseen" aria-live="polite">
      {isNews && `New: ${visibleName(titleOf(last.entry))}, number ${last.seq}`}
    </p>
  );
}
