/** Memory pages and their levels. */
import { openContent, type ContentOptions } from "./content.ts";
import type {
  CreatedPages,
  FaultRequest,
  GetPageBlocksData,
  GetPageContentData,
  GetPageContentResponse,
  GetPageData,
  ListPagesData,
  PageBlocksRecord,
  PageDraft,
  PageLevelRecord,
  PageList,
  PagePatch,
  PageRecord,
  PageSummary,
  PageToolMessage,
  RenderedRecord,
  RenderPageData,
  RepresentationDraft,
  SearchHit,
  SearchHits,
  SearchPagesData,
} from "./generated/types.gen.ts";
import { listAt, type List } from "./lists.ts";
import {
  at,
  newIdempotencyKey,
  splitOptions,
  type Conditions,
  type QueryOf,
  type RequestOptions,
  type Transport,
  type ApiPromise,
} from "./transport.ts";

/** A level of a page, by number or by name. */
export type PageLevel = 0 | 1 | 2 | 3 | "FULL" | "REDUCED" | "ABSTRACT" | "REFERENCE";

type Filter<Data extends { query?: unknown }> = Omit<QueryOf<Data>, "cursor" | "level"> & {
  level?: PageLevel | undefined;
};
type AtLevel<Data extends { query?: unknown }> = Omit<QueryOf<Data>, "level"> & {
  level?: PageLevel | undefined;
};

const NUMBERS: Readonly<Record<PageLevel, 0 | 1 | 2 | 3>> = {
  0: 0,
  1: 1,
  2: 2,
  3: 3,
  FULL: 0,
  REDUCED: 1,
  ABSTRACT: 2,
  REFERENCE: 3,
};

export class Pages {
  private readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** Create a page, or replace it. */
  put(
    pageId: string,
    page: PageDraft,
    options: Conditions & RequestOptions = {},
  ): ApiPromise<PageRecord> {
    return this.transport.json({ ...options, method: "PUT", path: pathOf(pageId), json: page });
  }

  /** Create a page, which is given an id unless it has one. */
  create(
    page: PageDraft,
    options: RequestOptions & { idempotencyKey?: string } = {},
  ): ApiPromise<PageRecord> {
    const { idempotencyKey = newIdempotencyKey(), ...rest } = options;
    return this.transport.json({
      ...rest,
      idempotencyKey,
      method: "POST",
      path: "/api/pages",
      json: page,
    });
  }

  /** Create up to 1,000 pages, all of them or none. */
  createMany(pages: readonly PageDraft[], options: RequestOptions = {}): ApiPromise<CreatedPages> {
    return this.transport.json({
      ...options,
      method: "POST",
      path: "/api/pages/bulk",
      json: { pages },
    });
  }

  get(
    pageId: string,
    { media, ...options }: QueryOf<GetPageData> & RequestOptions = {},
  ): ApiPromise<PageRecord> {
    return this.transport.json({ ...options, path: pathOf(pageId), query: { media } });
  }

  /** Change fields of a page; null removes one. */
  patch(
    pageId: string,
    change: PagePatch,
    options: Pick<Conditions, "ifMatch"> & RequestOptions = {},
  ): ApiPromise<PageRecord> {
    const headers = { "Content-Type": "application/merge-patch+json", ...options.headers };
    // The same change once more changes nothing.
    const call = {
      ...options,
      method: "PATCH",
      path: pathOf(pageId),
      json: change,
      headers,
      isRepeatable: true,
    };
    return this.transport.json(call);
  }

  delete(
    pageId: string,
    options: Pick<Conditions, "ifMatch"> & RequestOptions = {},
  ): Promise<void> {
    return this.transport.done({ ...options, method: "DELETE", path: pathOf(pageId) });
  }

  list(wish: Filter<ListPagesData> & RequestOptions = {}): List<PageSummary, PageList> {
    const [options, query] = splitOptions(wish);
    return listAt(this.transport, "/api/pages", { ...options, query });
  }

  /** Pages that have all words, the best first. */
  search(
    words: string,
    wish: Omit<Filter<SearchPagesData>, "q" | "level"> & RequestOptions = {},
  ): List<SearchHit, SearchHits> {
    const [options, query] = splitOptions(wish);
    return listAt(this.transport, "/api/pages/search", {
      ...options,
      query: { ...query, q: words },
    });
  }

  /** The tool message for a model that faults a page in. */
  fault(
    pageId: string,
    request: Omit<FaultRequest, "target_level"> & { target_level?: PageLevel | undefined } = {},
    options: RequestOptions = {},
  ): ApiPromise<PageToolMessage> {
    // In a session, a fault without the id of its call would be written twice.
    const isRepeatable = !request.session_id || !!request.tool_call_id;
    return this.transport.json({
      ...options,
      method: "POST",
      path: `${pathOf(pageId)}/fault`,
      json: request,
      isRepeatable,
    });
  }

  /** A level as a model is shown it. */
  blocks(
    pageId: string,
    wish: AtLevel<GetPageBlocksData> = {},
    options: RequestOptions = {},
  ): ApiPromise<PageBlocksRecord> {
    return this.transport.json({ ...options, path: `${pathOf(pageId)}/blocks`, query: wish });
  }

  /** A level by its kind: texts, data, or a medium and what is known of it. */
  content(
    pageId: string,
    wish: AtLevel<GetPageContentData> = {},
    options: RequestOptions = {},
  ): ApiPromise<GetPageContentResponse> {
    return this.transport.json({ ...options, path: `${pathOf(pageId)}/content`, query: wish });
  }

  /** A level as it is stored. */
  level(pageId: string, level: PageLevel, options: RequestOptions = {}): ApiPromise<PageLevelRecord> {
    return this.transport.json({ ...options, path: levelPath(pageId, level) });
  }

  /** Supply a level: a caption, a summary, a transcript, a smaller image. */
  putLevel(
    pageId: string,
    level: PageLevel,
    content: RepresentationDraft["content"],
    options: Pick<Conditions, "ifMatch"> & RequestOptions = {},
  ): ApiPromise<PageLevelRecord> {
    return this.transport.json({
      ...options,
      method: "PUT",
      path: levelPath(pageId, level),
      json: { content },
    });
  }

  /** Return a supplied level to the derived one. */
  deleteLevel(
    pageId: string,
    level: PageLevel,
    options: Pick<Conditions, "ifMatch"> & RequestOptions = {},
  ): Promise<void> {
    return this.transport.done({ ...options, method: "DELETE", path: levelPath(pageId, level) });
  }

  /** The page as messages of a provider. */
  render(
    pageId: string,
    wish: AtLevel<RenderPageData>,
    options: RequestOptions = {},
  ): ApiPromise<RenderedRecord> {
    return this.transport.json({ ...options, path: `${pathOf(pageId)}/render`, query: wish });
  }

  /** The page as a file. */
  download(
    pageId: string,
    { level, ...options }: ContentOptions & { level?: PageLevel | undefined } = {},
  ): Promise<Response> {
    return openContent(this.transport, {
      ...options,
      path: `${pathOf(pageId)}/download`,
      query: { level },
    });
  }
}

function pathOf(pageId: string): string {
  return at`/api/pages/${pageId}`;
}

function levelPath(pageId: string, level: PageLevel): string {
  return at`/api/pages/${pageId}/representations/${NUMBERS[level]}`;
}
