/** `/pages`: the list of pages, and the search in them. What is asked for stands in the address. */
import type { Modality } from "@pagefault/client";
import { visibleName } from "@pagefault/react";
import { useSearchParams } from "react-router";

import { LiveLabel } from "../live/LiveLabel";
import { Empty, Failure, Loading } from "../shared/states";
import { usePageTitle } from "../shared/usePageTitle";
import { PageFilters } from "./PageFilters";
import { PageRow } from "./PageRow";
import { MODALITIES } from "./pageWords";
import { usePageEvents } from "./usePageEvents";
import { type PageFilter, useFoundPages } from "./usePages";
import { useSkipTarget } from "../shell/skipTargets";
import { PAGES } from "../words/pages";
import { SHELL } from "../words/shell";
import "./pages.css";

export function PagesView() {
  const [asked, setAsked] = useSearchParams();
  const filter = filterOf(asked);
  const found = useFoundPages(filter);
  const live = usePageEvents();
  const pages = found.data?.pages.flatMap((list) => list.items) ?? [];
  const isSearch = filter.words !== "";
  useSkipTarget("pages", SHELL.skipTo.pages, pages.length > 0);
  usePageTitle(isSearch ? PAGES.with(visibleName(filter.words)) : PAGES.title);

  return (
    <section className="view" aria-labelledby="pages-title">
      <div className="row">
        <h1 id="pages-title">{PAGES.title}</h1>
        <LiveLabel state={live} />
      </div>
      <PageFilters asked={filter} onAsk={(next) => setAsked(addressOf(next))} />
      <p className="quiet small" role="status">
        {found.isSuccess &&
          pages.length > 0 &&
          PAGES.found(pages.length, found.hasNextPage, isSearch)}
      </p>
      {found.isPending && <Loading what={PAGES.loading} />}
      {found.isError && <Failure failure={found.error} onRetry={() => void found.refetch()} />}
      {found.isSuccess && pages.length === 0 && <NothingFound filter={filter} />}
      {pages.length > 0 && (
        <ul id="pages" className="page-list" aria-label={isSearch ? PAGES.best : PAGES.newest}>
          {pages.map((page) => (
            <PageRow key={page.page_id} page={page} />
          ))}
        </ul>
      )}
      {found.hasNextPage && (
        <button
          type="button"
          className="button page-more"
          disabled={found.isFetchingNextPage}
          onClick={() => void found.fetchNextPage()}
        >
          {found.isFetchingNextPage ? PAGES.loadingMore : PAGES.more}
        </button>
      )}
    </section>
  );
}

function NothingFound({ filter }: { filter: PageFilter }) {
  const isFiltered = filter.session !== "" || filter.modality !== null || filter.isPinned;
  if (filter.words !== "") {
    return (
      <Empty title={PAGES.noWordsTitle}>
        <p>
          {PAGES.noWords}
        </p>
      </Empty>
    );
  }
  if (isFiltered) return <Empty title={PAGES.noneLike} />;
  return (
    <Empty title={PAGES.noneTitle}>
      <p>
        {PAGES.none}
      </p>
    </Empty>
  );
}

function filterOf(asked: URLSearchParams): PageFilter {
  const modality = asked.get("modality");
  return {
    words: asked.get("q")?.trim() ?? "",
    modality: isModality(modality) ? modality : null,
    session: asked.get("session") ?? "",
    isPinned: asked.get("pinned") === "true",
  };
}

function addressOf(filter: PageFilter): URLSearchParams {
  const asked = new URLSearchParams();
  if (filter.words !== "") asked.set("q", filter.words);
  if (filter.modality !== null) asked.set("modality", filter.modality);
  if (filter.session !== "") asked.set("session", filter.session);
  if (filter.isPinned) asked.set("pinned", "true");
  return asked;
}

function isModality(text: string | null): text is Modality {
  return MODALITIES.some((modality) => modality === text);
}
