/** `/pages/:pageId`: one page: what is said of it, its content at a level, what a model gets. */
import { useState } from "react";
import { Link, useParams } from "react-router";

import type { Level, PageRecord } from "../api/generated";
import { ProblemError } from "../api/problem";
import { LiveLabel } from "../live/LiveLabel";
import { Failure, Loading } from "../shared/states";
import { usePageTitle } from "../shared/usePageTitle";
import { visibleName } from "../shared/visibleText";
import { LevelContent } from "./LevelContent";
import { LevelSwitch } from "./LevelSwitch";
import { PageDownload } from "./PageDownload";
import { PageFacts } from "./PageFacts";
import { ProviderPreview } from "./ProviderPreview";
import { usePageEvents } from "./usePageEvents";
import { usePage } from "./usePages";
import "./pages.css";

export function PageView() {
  const { pageId = "" } = useParams();
  const page = usePage(pageId);
  const live = usePageEvents(pageId);
  const name = visibleName(pageId);
  usePageTitle(`Page ${name}`);
  return (
    <article className="view" aria-labelledby="page-title">
      <header className="row">
        <h1 id="page-title">{name}</h1>
        {page.data !== undefined && (
          <>
            <span className="label">{page.data.modality}</span>
            {page.data.pinned && <span className="label warn">pinned</span>}
          </>
        )}
        <LiveLabel state={live} />
        <Link className="page-back" to="/pages">
          All pages
        </Link>
      </header>
      {page.isPending && <Loading what="the page" />}
      {page.isError && <Failure failure={page.error} onRetry={() => void page.refetch()} />}
      {/* Another page begins at its own level; one that was deleted meanwhile is not shown. */}
      {page.data !== undefined && !isGone(page.error) && (
        <LoadedPage key={page.data.page_id} page={page.data} />
      )}
    </article>
  );
}

function LoadedPage({ page }: { page: PageRecord }) {
  const [level, setLevel] = useState<Level>(firstLevel(page));
  return (
    <div className="page-parts">
      <section className="page-part" aria-labelledby="content-title">
        <h2 id="content-title">Content</h2>
        <LevelSwitch levels={page.levels} level={level} onChange={setLevel} />
        <LevelContent page={page} level={level} />
        <PageDownload pageId={page.page_id} level={level} />
      </section>
      <section className="page-part" aria-labelledby="facts-title">
        <h2 id="facts-title">About the page</h2>
        <PageFacts page={page} />
      </section>
      <section className="page-part page-preview" aria-labelledby="preview-title">
        <h2 id="preview-title">What a model gets</h2>
        <ProviderPreview page={page} level={level} />
      </section>
    </div>
  );
}

function isGone(failure: unknown): boolean {
  return failure instanceof ProblemError && failure.problem.status === 404;
}

/** The level the page names itself, or the nearest above it that exists. */
function firstLevel(page: PageRecord): Level {
  const ordered = [...page.levels].sort((one, other) => one - other);
  return ordered.find((level) => level >= page.compression_level) ?? ordered[0] ?? 0;
}
