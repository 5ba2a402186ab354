/** What a session is about, and its totals: when, how long, how much, what went wrong. */
import type { OutlineEntry } from "@pagefault/client";
import { Failure, type OutlinedSession, numberText, visibleName } from "@pagefault/react";
import { useContext, useMemo } from "react";
import { Link, useLocation, useSearchParams } from "react-router";

import { CostText } from "../cost/CostText";
import { FileContext, useIsStored } from "../file/openedFile";
import { LiveLabel } from "../live/LiveLabel";
import { CopyButton } from "../reading/CopyButton";
import { SessionActions } from "../sessions/SessionActions";
import { SessionMarks } from "../sessions/SessionMarks";
import { useMarking, useSessionRecord } from "../sessions/marks";
import { TimeText } from "../shared/TimeText";
import { spanText } from "../shared/formats";
import { MODEL } from "../words/model";
import { HEADER, TIMELINE } from "../words/timeline";
import { SessionTitle } from "./SessionTitle";
import { toolsIn } from "./finding/filter";
import { searchWithoutEntry } from "./placeKept";
import type { Row } from "./rows";
import { modelPath } from "./sessionContext";
import { type Findings, useDoctorPath } from "./useFindings";

interface SessionHeaderProps {
  readonly sessionId: string;
  readonly session: OutlinedSession;
  readonly rows: readonly Row[];
  readonly findings: Findings;
  /** What could not be found out. */
  readonly missing: readonly string[];
  /** Whether a phone shows the totals and the search, which take much of its screen. */
  readonly areToolsShown: boolean;
  readonly showTools: (areShown: boolean) => void;
}

export function SessionHeader(props: SessionHeaderProps) {
  const { sessionId, session, rows, findings, missing, areToolsShown, showTools } = props;
  const [search] = useSearchParams();
  const { hash } = useLocation();
  const title = titleOf(session);
  const marking = useMarking(sessionId);
  const isStored = useIsStored();
  return (
    <>
      <header className="timeline-header">
        <Link
          className="timeline-back"
          to={{ pathname: "/sessions", search: searchWithoutEntry(search) }}
        >
          <span className="phone-only" aria-hidden="true">
            ‹
          </span>
          <span className="back-words">{TIMELINE.allSessions}</span>
        </Link>
        <SessionTitle {...{ sessionId, title }} entries={session.entries} />
        {session.wasDeleted && <span className="label bad">{TIMELINE.deleted}</span>}
        {isStored && <LiveLabel state={session.live} isDot />}
        <button
          type="button"
          className="button phone-only"
          aria-expanded={areToolsShown}
          onClick={() => showTools(!areToolsShown)}
        >
          {HEADER.tools}
        </button>
        {isStored && session.status !== "absent" && (
          <>
            <Link
              className="button wide-only"
              to={{ pathname: modelPath(sessionId), hash: hash.replace("#", "#entry-") }}
            >
              {MODEL.open}
            </Link>
            <SessionActions
              sessionId={sessionId}
              entries={session.lower === 0 ? session.entries : undefined}
            />
          </>
        )}
      </header>
      <Totals {...{ sessionId, session, rows, findings, missing, marking }} />
      {marking.isError && <Failure failure={marking.error} />}
    </>
  );
}

function Totals({ sessionId, session, rows, findings, missing, marking }: TotalsProps) {
  const isStored = useIsStored();
  const isBundle = useContext(FileContext)?.format === "bundle";
  const doctor = useDoctorPath(sessionId);
  const { entries, lower, record } = session;
  const tokens = useMemo(() => entries.reduce((sum, each) => sum + each.tokensEst, 0), [entries]);
  const failures = useMemo(() => entries.filter(({ failed }) => failed).length, [entries]);
  const models = useMemo(() => modelsIn(entries), [entries]);
  const tools = useMemo(() => toolsIn(rows), [rows]);
  const [first, last] = [entries[0], entries.at(-1)];
  const isMarkable = isStored && session.status === "ready" && !session.wasDeleted;
  const marked = useSessionRecord(sessionId, isMarkable);
  const begun = lower === 0 ? first?.createdAt : record?.createdAt;
  const lasted = Date.parse(last?.createdAt ?? "") - Date.parse(begun ?? "");
  return (
    <div className="timeline-totals small quiet">
      <span className="session-name">
        <code title={visibleName(sessionId)}>{visibleName(shortId(sessionId))}</code>{" "}
        {isStored && <CopyButton text={sessionId} name={HEADER.copyId} />}
      </span>
      {begun !== undefined && <TimeText at={begun} />}
      {lasted > 0 && <span>{HEADER.lasted(spanText(lasted))}</span>}
      {lower === 0 && entries.length > 0 && (
        <>
          <span>{HEADER.entries(entries.length)}</span>
          <span title={HEADER.tokensHint}>{HEADER.tokens(numberText(tokens))}</span>
          <CostText {...{ sessionId, entries }} />
          {failures > 0 && (
            <Link className="bad-text" to="?failed=1" title={HEADER.showFailures}>
              {HEADER.failures(failures)}
            </Link>
          )}
          {findings.length > 0 && (
            <Link className="label warn" to={doctor}>
              {HEADER.refused(findings.length)}
            </Link>
          )}
          {missing.map((each) =>
            isBundle ? (
              <span key={each}>{each}</span>
            ) : (
              <Link key={each} to={doctor}>
                {each}
              </Link>
            ),
          )}
          {models.length > 0 && <span>{models.map(visibleName).join(", ")}</span>}
          {tools.length > 0 && (
            <span title={tools.map(([name, calls]) => `${visibleName(name)} ${numberText(calls)}`).join(", ")}>
              {HEADER.toolsUsed(tools.length)}
            </span>
          )}
        </>
      )}
      {marked.data !== undefined && isMarkable && (
        <SessionMarks session={marked.data} marking={marking} />
      )}
    </div>
  );
}

interface TotalsProps
  extends Pick<SessionHeaderProps, "sessionId" | "session" | "rows" | "findings" | "missing"> {
  readonly marking: ReturnType<typeof useMarking>;
}

/** The first line that a user said, as the service names it, or as it is told meanwhile. */
function titleOf({ record, entries }: OutlinedSession): string | null {
  return record?.title ?? entries.find(({ role, title }) => role === "user" && title)?.title ?? null;
}

/** The models that wrote something, in the order in which they did. */
function modelsIn(entries: readonly OutlineEntry[]): readonly string[] {
  return [...new Set(entries.flatMap(({ model }) => model ?? []))];
}

const LONGEST_ID = 28;

/** A long id with its middle left out, since ids differ at either end. */
function shortId(id: string): string {
  return id.length <= LONGEST_ID ? id : `${id.slice(0, 14)}…${id.slice(-10)}`;
}
