/** One session: everything written to it, in the order of its numbers, as it is written. */
import { useSession, visibleName } from "@pagefault/react";
import { useContext } from "react";
import { Link, useParams, useSearchParams } from "react-router";

import { LiveLabel } from "../live/LiveLabel";
import { EventsContext } from "../sessions/live";
import { Empty, Failure, Loading } from "../shared/states";
import { usePageTitle } from "../shared/usePageTitle";
import { TimelineEntries } from "./TimelineEntries";
import { searchWithoutEntry, useKeptPlace } from "./placeKept";
import "./timeline.css";

export function TimelineView() {
  const { sessionId = "" } = useParams();
  // Another session is another timeline: nothing of the last one stays, its place included.
  return <SessionTimeline key={sessionId} sessionId={sessionId} />;
}

function SessionTimeline({ sessionId }: { sessionId: string }) {
  const place = useKeptPlace(sessionId);
  const wanted = place.start === "end" ? undefined : place.start?.seq;
  const events = useContext(EventsContext);
  const { history, live, ...state } = useSession(sessionId, { reach: wanted, events });
  const [search] = useSearchParams();
  const name = visibleName(sessionId);
  usePageTitle(`${name} · Sessions`);
  return (
    <section className="timeline" aria-label={`Session ${name}`}>
      <header className="timeline-header">
        <Link
          className="timeline-back"
          to={{ pathname: "/sessions", search: searchWithoutEntry(search) }}
        >
          All sessions
        </Link>
        <h1>{name}</h1>
        {state.wasDeleted && <span className="label bad">Deleted</span>}
        <LiveLabel state={live} />
      </header>
      {state.status === "failed" && <Failure failure={state.failure} onRetry={history.load} />}
      {state.status === "absent" && (
        <Empty title="Nothing was written to this session yet">
          <p>What is written to it from now on will be shown here.</p>
        </Empty>
      )}
      {state.status === "loading" && state.entries.length === 0 && <Loading what="the history" />}
      {state.status === "ready" && state.entries.length === 0 && (
        <Empty title="This session has no entries">
          <p>It may hold pages: they are not part of its history.</p>
        </Empty>
      )}
      {state.entries.length > 0 && <TimelineEntries {...{ history, state, place }} />}
    </section>
  );
}
