/** One session: everything written to it, in the order of its numbers, as it is written. */
import { useOutline, visibleName } from "@pagefault/react";
import { useContext, useMemo, useState } from "react";
import { Link, useParams } from "react-router";

import type { FileSession } from "../file/fileClient";
import { FileContext } from "../file/openedFile";
import { EventsContext } from "../sessions/live";
import { Empty, Failure, Loading } from "../shared/states";
import { usePageTitle } from "../shared/usePageTitle";
import { FILE } from "../words/file";
import { HEADER, TIMELINE } from "../words/timeline";
import { takeBegunOutline } from "./begunOutline";
import { Timeline } from "./Timeline";
import { SessionHeader } from "./SessionHeader";
import { useKeptPlace } from "./placeKept";
import { rowsOf } from "./rows";
import { HasEvictionsContext, useEvictions } from "./useEvictions";
import { FindingsContext, useFindings, useFindingsBySeq } from "./useFindings";
import { useQuietSession } from "./useQuietSession";
import "./timeline.css";

export function TimelineView() {
  const { sessionId = "" } = useParams();
  // Another session is another timeline: nothing of the last one stays, its place included.
  return <SessionTimeline key={sessionId} sessionId={sessionId} />;
}

/** The timeline of a stored session, or of a file by the client around. */
export function SessionTimeline({ sessionId }: { sessionId: string }) {
  const place = useKeptPlace(sessionId);
  const events = useContext(EventsContext);
  const [begun] = useState(() => takeBegunOutline(sessionId));
  const session = useOutline(sessionId, { events, begun });
  const { status, entries, failure, outline } = session;
  const rows = useMemo(() => rowsOf(entries), [entries]);
  const name = visibleName(sessionId);
  // Wider screens show them always.
  const quiet = useQuietSession(session);
  const { findings, hasFailed } = useFindings(sessionId, quiet);
  const evictions = useEvictions(sessionId, quiet);
  const file = useContext(FileContext);
  const missing =
    file === null
      ? missingOf(quiet.isTooLong, hasFailed, evictions.hasFailed)
      : missingOfFile(file, quiet.isTooLong, hasFailed);
  const findingsBySeq = useFindingsBySeq(findings);
  const [areToolsShown, showTools] = useState(false);
  usePageTitle(TIMELINE.title(name));
  return (
    <section
      className={areToolsShown ? "timeline tools-shown" : "timeline"}
      aria-label={TIMELINE.session(name)}>
      <SessionHeader
        {...{ sessionId, session, rows, findings, missing, areToolsShown, showTools }}
      />
      {status === "failed" && entries.length === 0 && (
        <Failure failure={failure} onRetry={outline.load} />
      )}
      {status === "absent" && (
        <Empty title={TIMELINE.absentTitle(name)}>
          <p>{TIMELINE.absent}</p>
          <Link to="/sessions">{TIMELINE.allSessions}</Link>
        </Empty>
      )}
      {status === "loading" && entries.length === 0 && <Loading what={TIMELINE.history} />}
      {status === "ready" && entries.length === 0 && (
        <Empty title={TIMELINE.emptyTitle}>
          <p>{TIMELINE.empty}</p>
        </Empty>
      )}
      <FindingsContext value={findingsBySeq}>
        <HasEvictionsContext value={evictions.evicted.size > 0}>
          {entries.length > 0 && (
            <Timeline {...{ sessionId, session, rows, place }} evicted={evictions.evicted} />
          )}
        </HasEvictionsContext>
      </FindingsContext>
    </section>
  );
}

/** The same of a file, which has no evictions. */
function missingOfFile({ format }: FileSession, isTooLong: boolean, isUnexamined: boolean): readonly string[] {
  if (format === "bundle") return [FILE.bundleUnexamined];
  if (isTooLong) return [FILE.tooLong];
  return isUnexamined ? [HEADER.unexamined] : [];
}

/** What the page does not know of a session, and why. */
function missingOf(isTooLong: boolean, isUnexamined: boolean, isUnread: boolean): readonly string[] {
  if (isTooLong) return [HEADER.tooLong];
  return [...(isUnexamined ? [HEADER.unexamined] : []), ...(isUnread ? [HEADER.noEvictions] : [])];
}
