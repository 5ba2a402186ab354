/** The sessions, the one last written to first, and a search in their names. */
import type { SessionRecord } from "@pagefault/client";
import { counted, fileSize, useEventStream, visibleName } from "@pagefault/react";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { NavLink, useMatch, useSearchParams } from "react-router";

import { pagefault } from "../api/client";
import { LiveLabel } from "../live/LiveLabel";
import { TimeText } from "../shared/TimeText";
import { Empty, Failure, Loading } from "../shared/states";
import { searchWithoutEntry } from "../timeline/placeKept";

const TYPING_PAUSE_MS = 200;
const LONGEST_ID = 128;

export function SessionList() {
  const state = useEventStream(null, () => undefined);
  // An open session says it itself.
  const isAlone = useMatch("/sessions") !== null;
  const [search, setSearch] = useSearchParams();
  const asked = search.get("q") ?? "";
  const [typed, setTyped] = useState(asked);

  useEffect(() => {
    if (typed === asked) return undefined;
    const timer = window.setTimeout(
      () => setSearch(typed === "" ? {} : { q: typed }, { replace: true }),
      TYPING_PAUSE_MS,
    );
    return () => window.clearTimeout(timer);
  }, [typed, asked, setSearch]);

  return (
    <section className="session-list" aria-label="Sessions">
      <header className="session-list-header">
        <h1>Sessions</h1>
        {isAlone && <LiveLabel state={state} />}
        <label className="unseen" htmlFor="session-search">
          Part of a session’s id
        </label>
        <input
          id="session-search"
          type="search"
          placeholder="Part of an id"
          autoComplete="off"
          spellCheck={false}
          maxLength={LONGEST_ID}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      </header>
      <FoundSessions q={asked} />
    </section>
  );
}

function FoundSessions({ q }: { q: string }) {
  const found = useInfiniteQuery({
    queryKey: ["sessions", q],
    queryFn: ({ pageParam, signal }) => {
      return pagefault().sessions.list({ limit: 50, q: q === "" ? undefined : q, signal }).slice(pageParam);
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    placeholderData: keepPreviousData,
  });
  if (found.data === undefined) {
    return found.isError ? (
      <Failure failure={found.error} onRetry={() => void found.refetch()} />
    ) : (
      <Loading what="the sessions" />
    );
  }
  const sessions = found.data.pages.flatMap((page) => page.items);
  if (sessions.length === 0) return <NoneFound q={q} />;
  return (
    <div className="session-list-items scroller">
      <ul>
        {q === "" && <OpenSession listed={sessions} />}
        {sessions.map((session) => (
          <SessionRow key={session.id} session={session} />
        ))}
      </ul>
      {found.isError && <Failure failure={found.error} onRetry={() => void found.refetch()} />}
      {found.hasNextPage && (
        <button
          type="button"
          className="button"
          disabled={found.isFetchingNextPage}
          onClick={() => void found.fetchNextPage()}
        >
          More sessions
        </button>
      )}
    </div>
  );
}

/** The open session, where it is not among those that are listed yet. */
function OpenSession({ listed }: { listed: readonly SessionRecord[] }) {
  const sessionId = useMatch("/sessions/:sessionId")?.params.sessionId ?? "";
  const isListed = sessionId === "" || listed.some(({ id }) => id === sessionId);
  const found = useQuery({
    queryKey: ["sessions", "open", sessionId],
    queryFn: ({ signal }) => pagefault().session(sessionId).get({ signal }),
    enabled: !isListed,
    retry: false,
  });
  return isListed || found.data === undefined ? null : <SessionRow session={found.data} />;
}

function NoneFound({ q }: { q: string }) {
  return q === "" ? (
    <Empty title="No session yet">
      <p>The first tool result, message or page that names a session makes it.</p>
    </Empty>
  ) : (
    <Empty title="No session is called like that">
      <p>Nothing has “{visibleName(q)}” in its id.</p>
    </Empty>
  );
}

function SessionRow({ session }: { session: SessionRecord }) {
  const [search] = useSearchParams();
  const { counts } = session;
  const entries =
    counts.toolResults + counts.pageFaults + counts.messages + counts.interactions + counts.answers;
  const row = useRef<HTMLLIElement>(null);
  const isOpen = useMatch("/sessions/:sessionId")?.params.sessionId === session.id;

  // Who comes by an address, or by Back, sees which one is open.
  useEffect(() => {
    if (isOpen) row.current?.scrollIntoView({ block: "nearest" });
  }, [isOpen]);

  return (
    <li ref={row}>
      <NavLink
        className="session-row"
        to={{ pathname: `/sessions/${encodeURIComponent(session.id)}`, search: searchWithoutEntry(search) }}
      >
        <span className="session-id">{visibleName(session.id)}</span>
        <span className="small quiet">
          <TimeText at={session.updatedAt} />
        </span>
        <span className="small quiet">
          {counted(entries, "entry", "entries")}
          {counts.pages > 0 && `, ${counted(counts.pages, "page")}`}
          {counts.resources > 0 &&
            `, ${counted(counts.resources, "file")} (${fileSize(session.bytesReferenced)})`}
        </span>
      </NavLink>
    </li>
  );
}
