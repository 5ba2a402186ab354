/** `/pages/:pageId`: one page: what is said of it, its content at a level, what a model gets. */
import { type Level, NotFoundError, type PageRecord } from "@pagefault/client";
import { usePage, visibleName } from "@pagefault/react";
import { useState } from "react";
import { Link, useParams } from "react-router";

import { LiveLabel } from "../live/LiveLabel";
import { Failure, Loading } from "../shared/states";
import { usePageTitle } from "../shared/usePageTitle";
import { LevelContent } from "./LevelContent";
import { LevelSwitch } from "./LevelSwitch";
import { PageDownload } from "./PageDownload";
import { PageFacts } from "./PageFacts";
import { ProviderPreview } from "./ProviderPreview";
import { usePageEvents } from "./usePageEvents";
import { PAGES } from "../words/pages";
import "./pages.css";

export function PageView() {
  const { pageId = "" } = useParams();
  const { page, isLoading, failure, reload } = usePage(pageId);
  const live = usePageEvents(pageId);
  const name = visibleName(pageId);
  usePageTitle(PAGES.page(name));
  return (
    <article className="view" aria-labelledby="page-title">
      <header className="row">
        <h1 id="page-title">{name}</h1>
        {page !== undefined && (
          <>
            <span className="label">{page.modality}</span>
            {page.pinned && <span className="label warn">{PAGES.pinned}</span>}
          </>
        )}
        <LiveLabel state={live} />
        {page?.session_id != null && (
          <Link to={`/sessions/${encodeURIComponent(page.session_id)}?kind=fault`}>
            {PAGES.faults}
          </Link>
        )}
        <Link className="page-back" to="/pages">
          {PAGES.all}
        </Link>
      </header>
      {isLoading && <Loading what={PAGES.loadingOne} />}
      {failure !== null && <Failure failure={failure} onRetry={reload} />}
      {/* Another page begins at its own level; one that was deleted meanwhile is not shown. */}
      {page !== undefined && !(failure instanceof NotFoundError) && (
        <LoadedPage key={page.page_id} page={page} />
      )}
    </article>
  );
}

function LoadedPage({ page }: { page: PageRecord }) {
  const [level, setLevel] = useState<Level>(firstLevel(page));
  return (
    <div className="page-parts">
      <section className="page-part" aria-labelledby="content-title">
        <h2 id="content-title">{PAGES.content}</h2>
        <LevelSwitch levels={page.levels} level={level} onChange={setLevel} />
        <LevelContent page={page} level={level} />
        <PageDownload pageId={page.page_id} level={level} />
      </section>
      <section className="page-part" aria-labelledby="facts-title">
        <h2 id="facts-title">{PAGES.about}</h2>
        <PageFacts page={page} />
      </section>
      <section className="page-part page-preview" aria-labelledby="preview-title">
        <h2 id="preview-title">{PAGES.preview}</h2>
        <ProviderPreview page={page} level={level} />
      </section>
    </div>
  );
}

/** The level the page names itself, or the nearest above it that exists. */
function firstLevel(page: PageRecord): Level {
  const ordered = [...page.levels].sort((one, other) => one - other);
  return ordered.find((level) => level >= page.compression_level) ?? ordered[0] ?? 0;
}
