/** A search over everything that is stored: pages, results, messages, interactions, files. */
import type { SearchResult, SearchResults } from "@pagefault/client";
import { MediaPart, visibleName, visibleText } from "@pagefault/react";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { Link, useSearchParams } from "react-router";

import { pagefault } from "../api/client";
import { useKeys } from "../keys/useKeys";
import { TimeText } from "../shared/TimeText";
import { Empty, Failure, Loading } from "../shared/states";
import { usePageTitle } from "../shared/usePageTitle";
import { useTyped } from "../shared/useTyped";
import { useSkipTarget } from "../shell/skipTargets";
import { KEYS } from "../words/keys";
import { SEARCH } from "../words/search";
import { SHELL } from "../words/shell";
import { kindOf, nameOf } from "./hitNames";
import { marked } from "./marked";
import "./search.css";

export function SearchView() {
  usePageTitle(SEARCH.title);
  const [search, setSearch] = useSearchParams();
  const asked = search.get("q") ?? "";
  const kinds = search.get("kinds") ?? "";
  const [typed, setTyped] = useTyped(asked, (q) => setSearch(searchOf(q, kinds), { replace: true }));
  const field = useRef<HTMLInputElement>(null);
  useKeys([{ key: "/", said: KEYS.search, run: () => field.current?.focus() }]);

  return (
    <section className="view search-view">
      <h1>{SEARCH.title}</h1>
      <div className="row" role="search">
        <input
          ref={field}
          type="search"
          className="search-field"
          aria-label={SEARCH.label}
          placeholder={SEARCH.placeholder}
          maxLength={1_000}
          autoFocus
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
        <select
          aria-label={SEARCH.kind}
          value={kinds}
          onChange={({ target }) => setSearch(searchOf(typed, target.value))}
        >
          <option value="">{SEARCH.all}</option>
          {(Object.keys(SEARCH.kinds) as (keyof typeof SEARCH.kinds)[]).map((kind) => (
            <option key={kind} value={kind}>
              {SEARCH.kinds[kind]}
            </option>
          ))}
        </select>
      </div>
      {asked === "" ? (
        <Empty title={SEARCH.begin}>
          <p>{SEARCH.beginHint}</p>
        </Empty>
      ) : (
        <Hits asked={asked} kinds={kinds} />
      )}
    </section>
  );
}

function searchOf(q: string, kinds: string): Record<string, string> {
  return { ...(q === "" ? {} : { q }), ...(kinds === "" ? {} : { kinds }) };
}

function Hits({ asked, kinds }: { asked: string; kinds: string }) {
  const found = useInfiniteQuery({
    queryKey: ["search", asked, kinds],
    queryFn: async ({ pageParam, signal }) => {
      const query: Record<string, unknown> = { q: asked, limit: 30 };
      if (kinds !== "") query["kinds"] = kinds;
      if (pageParam !== null) query["cursor"] = pageParam;
      const answer = await pagefault().request("/api/search", { query, signal });
      return (await answer.json()) as SearchResults;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    placeholderData: keepPreviousData,
  });
  const hits = found.data?.pages.flatMap(({ items }) => items) ?? [];
  useSkipTarget("hits", SHELL.skipTo.hits, hits.length > 0 && !found.isError);
  if (found.isError) return <Failure failure={found.error} onRetry={() => void found.refetch()} />;
  if (found.data === undefined) return <Loading what={SEARCH.loading} />;
  const pending = found.data.pages.at(-1)?.pending ?? 0;
  if (hits.length === 0) {
    return (
      <Empty title={SEARCH.none}>
        <p>{SEARCH.noneHint}</p>
      </Empty>
    );
  }
  return (
    <>
      <p className="small quiet" role="status">
        {SEARCH.hits(hits.length, !found.hasNextPage)}
        {pending > 0 && `. ${SEARCH.pending(pending)}`}
      </p>
      <ol id="hits" className="search-hits" aria-label={SEARCH.found}>
        {hits.map((hit) => (
          <li key={`${hit.kind} ${hit.id}`}>
            <HitView hit={hit} asked={asked} />
          </li>
        ))}
      </ol>
      {found.hasNextPage && (
        <button
          type="button"
          className="button"
          disabled={found.isFetchingNextPage}
          onClick={() => void found.fetchNextPage()}
        >
          {SEARCH.more}
        </button>
      )}
    </>
  );
}

function HitView({ hit, asked }: { hit: SearchResult; asked: string }) {
  const address = addressOf(hit);
  const title = visibleName(nameOf(hit));
  return (
    <article className="search-hit">
      <h2>
        {address === null ? title : <Link to={address}>{title}</Link>}{" "}
        <span className="label">{SEARCH.kinds[kindOf(hit)]}</span>
      </h2>
      {hit.snippet !== null && <p>{marked(visibleText(hit.snippet), asked)}</p>}
      {hit.resource !== null && hit.modality === "image" && (
        <MediaPart medium={{ reference: hit.resource }} />
      )}
      <p className="small quiet">
        <TimeText at={hit.createdAt} />{" "}
        {hit.sessionId !== null && (
          <Link to={`/sessions/${encodeURIComponent(hit.sessionId)}`}>
            {SEARCH.in(visibleName(hit.sessionId))}
          </Link>
        )}{" "}
        <code>{hit.handle}</code>
      </p>
    </article>
  );
}

function addressOf({ sessionId, seq, pageId }: SearchResult): string | null {
  if (pageId !== null) return `/pages/${encodeURIComponent(pageId)}`;
  if (sessionId === null) return null;
  return `/sessions/${encodeURIComponent(sessionId)}${seq === null ? "" : `#${seq}`}`;
}
