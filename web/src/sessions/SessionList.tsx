/** The sessions, the one last written to first, and a search in their names. */
import type { SearchResult, SessionRecord } from "@pagefault/client";
import { useEventStream, visibleName } from "@pagefault/react";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useLocation, useMatch, useNavigate, useSearchParams } from "react-router";

import { pagefault } from "../api/client";
import { useKeys } from "../keys/useKeys";
import { LiveLabel } from "../live/LiveLabel";
import { spokenDayText } from "../shared/formats";
import { Empty, Failure, Loading } from "../shared/states";
import { useTyped } from "../shared/useTyped";
import { useSkipTarget } from "../shell/skipTargets";
import { KEYS } from "../words/keys";
import { SESSIONS } from "../words/sessions";
import { SHELL } from "../words/shell";
import { FirstRun } from "./FirstRun";
import { ImportBundle } from "./ImportBundle";
import { ListChips, ListSort } from "./ListOrderBar";
import { SessionRow, useOpenSession } from "./SessionRow";
import { type ListFilters, areFilters, filtersOf, orderIn, ordered, searchOfList } from "./listOrder";
import { useSessionRecord } from "./marks";
import "../reading/reading.css";

const LONGEST_ID = 128;
const MOST_WITH_WORDS = 20;
const LIVE_CHECK_MS = 15_000;
const NO_SESSIONS: readonly SessionRecord[] = [];

export function SessionList() {
  const state = useEventStream(null, () => undefined);
  // An open session says it itself.
  const isAlone = useMatch("/sessions") !== null;
  const navigate = useNavigate();
  useSkipTarget("session-list", SHELL.skipTo.sessions);
  const { search, hash } = useLocation();
  const asked = new URLSearchParams(search).get("q") ?? "";
  // The rest of the address belongs to the open session, which stays as it is.
  const [typed, setTyped] = useTyped(asked, (text) => {
    const changed = new URLSearchParams(search);
    if (text === "") changed.delete("q");
    else changed.set("q", text);
    void navigate({ search: `${changed}`, hash }, { replace: true });
  });

  return (
    <section id="session-list" className="session-list" aria-label={SESSIONS.title}>
      <header className="session-list-header">
        <h1>{SESSIONS.title}</h1>
        {/* A chip is called like the word of its state. */}
        {isAlone && <LiveLabel state={state} isDot />}
        <label className="unseen" htmlFor="session-search">
          {SESSIONS.searchLabel}
        </label>
        <input
          id="session-search"
          type="search"
          placeholder={SESSIONS.placeholder}
          autoComplete="off"
          spellCheck={false}
          maxLength={LONGEST_ID}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <ListChips />
        <ListSort />
        <ImportBundle />
      </header>
      <FoundSessions q={asked} />
    </section>
  );
}

function FoundSessions({ q }: { q: string }) {
  const [search] = useSearchParams();
  const order = orderIn(search);
  const filters = filtersOf(order);
  const isFiltered = areFilters(filters);
  const query = { q: q === "" ? undefined : q, ...filters, limit: 50 };
  // A session ceases to be live without an event.
  const refetchInterval = filters.writtenWithin === undefined ? (false as const) : LIVE_CHECK_MS;
  const found = useInfiniteQuery({
    queryKey: ["sessions", "list", query],
    queryFn: ({ pageParam, signal }) =>
      pagefault().sessions.list({ ...query, signal }).slice(pageParam),
    refetchInterval,
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    placeholderData: keepPreviousData,
  });
  // They are first, however long ago they were written to.
  const pinnedFirst = useQuery({
    queryKey: ["sessions", "pinned", query],
    queryFn: async ({ signal }) =>
      (await pagefault().sessions.list({ ...query, pinned: true, signal }).slice(null)).items,
    refetchInterval,
    placeholderData: keepPreviousData,
  });
  const pinned = pinnedFirst.data ?? NO_SESSIONS;
  const loaded = found.data?.pages.flatMap((page) => page.items) ?? NO_SESSIONS;
  const first = ordered(pinned, order);
  const others = ordered(
    loaded.filter(({ id }) => !pinned.some((each) => each.id === id)),
    order,
  );
  const sessions = [...first, ...others];
  const [ticked, setTicked] = useState<readonly string[]>([]);
  useNeighbourKeys(sessions);
  if (found.data === undefined) {
    return found.isError ? (
      <Failure failure={found.error} onRetry={() => void found.refetch()} />
    ) : (
      <Loading what={SESSIONS.loading} />
    );
  }
  if (loaded.length === 0) {
    return (
      // It may scroll, so it has to be reachable by keyboard.
      <div
        className="session-list-items scroller"
        role="region"
        tabIndex={0}
        aria-label={SESSIONS.noneTitle}
      >
        {q === "" ? (
          <NoneFound q={q} isFiltered={isFiltered} />
        ) : (
          <SessionsWithWords q={q} filters={filters} listed={loaded}>
            <NoneFound q={q} isFiltered={isFiltered} />
          </SessionsWithWords>
        )}
      </div>
    );
  }
  const rows = (some: readonly SessionRecord[]) => (
    <ul>
      {some.map((session) => (
        <SessionRow
          key={session.id}
          session={session}
          isTicked={ticked.includes(session.id)}
          onTick={(isTicked) => {
            const others = ticked.filter((id) => id !== session.id);
            // Two are compared: the third takes the place of the first.
            setTicked(isTicked ? [...others.slice(-1), session.id] : others);
          }}
        />
      ))}
    </ul>
  );
  return (
    <div className="session-list-items scroller">
      {q === "" && !isFiltered && <OpenSession listed={[...pinned, ...loaded]} />}
      {sessions.length === 0 && <p className="state">{SESSIONS.noneFits}</p>}
      {first.length > 0 && (
        <section aria-label={SESSIONS.pinned}>
          <h2 className="session-group">{SESSIONS.pinned}</h2>
          {rows(first)}
        </section>
      )}
      {first.length > 0 && others.length > 0 && order.sort !== "time" && (
        <h2 className="session-group">{SESSIONS.notPinned}</h2>
      )}
      {order.sort !== "time"
        ? rows(others)
        : byDay(others).map(([day, ofDay]) => (
            <section key={day} aria-label={spokenDayText(day)}>
              <h2 className="session-group">{spokenDayText(day)}</h2>
              {rows(ofDay)}
            </section>
          ))}
      {q !== "" && <SessionsWithWords {...{ q, filters }} listed={[...pinned, ...loaded]} />}
      {found.isError && <Failure failure={found.error} onRetry={() => void found.refetch()} />}
      {found.hasNextPage && (
        <button
          type="button"
          className="button"
          disabled={found.isFetchingNextPage}
          onClick={() => void found.fetchNextPage()}
        >
          {SESSIONS.more}
        </button>
      )}
      {ticked.length === 2 && (
        <Link
          className="button primary session-compare"
          to={`/compare?${new URLSearchParams({ a: ticked[0] ?? "", b: ticked[1] ?? "" })}`}
        >
          {SESSIONS.compare}
        </Link>
      )}
    </div>
  );
}

/** The open session, where it is not among those that are listed yet. */
function OpenSession({ listed }: { listed: readonly SessionRecord[] }) {
  const sessionId = useOpenSession() ?? "";
  const isListed = sessionId === "" || listed.some(({ id }) => id === sessionId);
  const found = useSessionRecord(sessionId, !isListed);
  if (isListed || found.data === undefined) return null;
  return (
    <ul>
      <SessionRow session={found.data} />
    </ul>
  );
}

/** Keys for the session above and below the open one. */
function useNeighbourKeys(sessions: readonly SessionRecord[]): void {
  const navigate = useNavigate();
  const [search] = useSearchParams();
  const open = useOpenSession();
  const at = sessions.findIndex(({ id }) => id === open);
  const move = (step: 1 | -1) => {
    const next = sessions[at === -1 ? 0 : at + step];
    if (next === undefined) return;
    const pathname = `/sessions/${encodeURIComponent(next.id)}`;
    void navigate({ pathname, search: searchOfList(search) }, { flushSync: true });
  };
  useKeys([
    { key: "]", said: KEYS.nextSession, run: () => move(1) },
    { key: "[", said: KEYS.previousSession, run: () => move(-1) },
  ]);
}

function NoneFound({ q, isFiltered }: { q: string; isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title={SESSIONS.noneFoundTitle}>
        <p>{SESSIONS.noneFiltered}</p>
      </Empty>
    );
  }
  return q === "" ? (
    <>
      <Empty title={SESSIONS.noneTitle} />
      {/* Wider screens have it in the pane beside the list. */}
      <div className="first-run-here">
        <FirstRun />
      </div>
    </>
  ) : (
    <Empty title={SESSIONS.noneFoundTitle}>
      <p>{SESSIONS.noneFound(visibleName(q))}</p>
    </Empty>
  );
}

interface SessionsWithWordsProps {
  readonly q: string;
  readonly filters: ListFilters;
  readonly listed: readonly SessionRecord[];
  /** Shown if no session has the words. */
  readonly children?: ReactNode;
}

/** Sessions in which something has the words: their titles, tools, messages, results. */
function SessionsWithWords({ q, filters, listed, children }: SessionsWithWordsProps) {
  const isFiltered = areFilters(filters);
  const found = useQuery({
    queryKey: ["sessions", "words", q, filters],
    queryFn: async ({ signal }) => {
      const query = { q, limit: 100 };
      const answer = await pagefault().request("/api/search", { query, signal });
      const { items } = (await answer.json()) as { items: SearchResult[] };
      const ids = new Set(items.flatMap(({ sessionId }) => sessionId ?? []));
      const known = [...ids].slice(0, MOST_WITH_WORDS);
      if (!isFiltered) return Promise.all(known.map((id) => pagefault().session(id).get({ signal })));
      const lists = known.map((id) => pagefault().sessions.list({ q: id, ...filters, limit: 200, signal }));
      const found = (await Promise.all(lists.map((list) => list.slice()))).flatMap((list) => list.items);
      return known.flatMap((id) => found.find((session) => session.id === id) ?? []);
    },
    retry: false,
  });
  const others = (found.data ?? []).filter(({ id }) => !listed.some((each) => each.id === id));
  if (others.length === 0) return found.isPending ? null : children;
  return (
    <>
      <h2 className="session-group">{SESSIONS.found}</h2>
      <ul>
        {others.map((session) => (
          <SessionRow key={session.id} session={session} />
        ))}
      </ul>
    </>
  );
}

/** Sessions by the day on which they were last written to. */
function byDay(sessions: readonly SessionRecord[]): readonly (readonly [string, SessionRecord[]])[] {
  const days = new Map<string, SessionRecord[]>();
  for (const session of sessions) {
    const day = new Date(session.updatedAt).toDateString();
    days.set(day, [...(days.get(day) ?? []), session]);
  }
  return [...days];
}
