/** Pages, their levels and their renderings, as the service has them. */
import type { Level, Modality, PageLevelRecord, RenderedRecord } from "@pagefault/client";
import { memberOf } from "@pagefault/client/json";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { pagefault } from "../api/client";

/** Which pages to list: all of them, newest first, or those that hold the words, best first. */
export interface PageFilter {
  words: string;
  modality: Modality | null;
  session: string;
  /** Of the list only: a search does not know it. */
  isPinned: boolean;
}

export function useFoundPages({ words, modality, session, isPinned }: PageFilter) {
  return useInfiniteQuery({
    queryKey: ["pages", "found", { words, modality, session, isPinned }],
    queryFn: ({ pageParam: cursor, signal }) => {
      const common = {
        modality: modality ?? undefined,
        session_id: session === "" ? undefined : session,
        signal,
      };
      return words === ""
        ? pagefault().pages.list({ ...common, pinned: isPinned || undefined }).slice(cursor)
        : pagefault().pages.search(words, common).slice(cursor);
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
  });
}

/** One level of a page, and the JSON of its content, which no number loses a digit in. */
export interface PageLevel {
  record: PageLevelRecord;
  source: string;
}

export function usePageLevel(pageId: string, level: Level) {
  return useQuery({
    queryKey: ["pages", "level", pageId, level],
    queryFn: async ({ signal }): Promise<PageLevel> => {
      const text = await textOf(`${pagePath(pageId)}/representations/${level}`, signal);
      const record = JSON.parse(text) as PageLevelRecord;
      return { record, source: memberOf(text, "content") ?? "null" };
    },
  });
}

/** The JSON of what a page holds by the reference of a text resource. */
export function useReferencedContent(pageId: string, level: Level) {
  return useQuery({
    queryKey: ["pages", "referenced", pageId, level],
    queryFn: async ({ signal }): Promise<string> => {
      const text = await textOf(
        `${pagePath(pageId)}/content?level=${level}&media=reference`,
        signal,
      );
      return memberOf(text, "text") ?? memberOf(text, "data") ?? text;
    },
  });
}

/** A page as a provider's messages, and what had to be left out. */
export interface PageRendering {
  record: RenderedRecord & { tokensEst: number };
  system: string | undefined;
  messages: string;
}

export function usePageRendering(
  pageId: string,
  wish: { target: string; level: Level; media: "inline" | "reference" },
) {
  return useQuery({
    queryKey: ["pages", "rendering", pageId, wish],
    queryFn: async ({ signal }): Promise<PageRendering> => {
      // Who looks at it is no model, whose reads are counted.
      const query = new URLSearchParams({ ...wish, level: `${wish.level}`, observe: "1" });
      const text = await textOf(`${pagePath(pageId)}/render?${query}`, signal);
      const record = JSON.parse(text) as PageRendering["record"];
      return { record, system: memberOf(text, "system"), messages: memberOf(text, "messages") ?? "" };
    },
  });
}

export function pagePath(pageId: string): string {
  return `/api/pages/${encodeURIComponent(pageId)}`;
}

async function textOf(path: string, signal: AbortSignal): Promise<string> {
  return (await pagefault().request(path, { signal })).text();
}
