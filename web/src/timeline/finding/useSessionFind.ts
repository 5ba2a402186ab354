/** What is searched for in a session, which stands in the address, and the hits, in the order of the session. */
import type { SearchResult } from "@pagefault/client";
import { usePagefault } from "@pagefault/react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useContext, useMemo } from "react";
import { useLocation, useNavigate } from "react-router";

import { FileContext } from "../../file/openedFile";
import { hasEachWord } from "../../search/wordPattern";
import { useTyped } from "../../shared/useTyped";

const MOST_HITS = 200;
const NO_HITS: readonly SearchResult[] = [];

export interface SessionFind {
  readonly asked: string;
  readonly typed: string;
  readonly setTyped: (text: string) => void;
  /** Entries in their order, then pages and files. */
  readonly hits: readonly SearchResult[];
  /** How many more have only one of the words. */
  readonly others: number;
  /** Whether the hits are those of what is typed. */
  readonly isFresh: boolean;
  readonly failure: unknown;
}

export function useSessionFind(sessionId: string): SessionFind {
  const navigate = useNavigate();
  // Of a file, this one searches in the tab.
  const client = usePagefault();
  const file = useContext(FileContext);
  const { search, hash } = useLocation();
  const asked = new URLSearchParams(search).get("find") ?? "";
  const [typed, setTyped] = useTyped(asked, (text) => {
    const changed = new URLSearchParams(search);
    if (text === "") changed.delete("find");
    else changed.set("find", text);
    void navigate({ search: `${changed}`, hash }, { replace: true, preventScrollReset: true });
  });
  const found = useQuery({
    queryKey: ["session-search", file?.number ?? sessionId, asked],
    queryFn: async ({ signal }) => {
      const query = { q: asked, sessionId, limit: MOST_HITS };
      const answer = await client.request("/api/search", { query, signal });
      return ((await answer.json()) as { items: SearchResult[] }).items;
    },
    enabled: asked !== "",
    placeholderData: keepPreviousData,
  });
  const items = asked === "" ? NO_HITS : (found.data ?? NO_HITS);
  const hits = useMemo(() => {
    const whole = items.filter(({ title, snippet }) => hasEachWord(`${title} ${snippet}`, asked));
    // In other forms of the words, or by an id.
    return (whole.length === 0 ? items : whole).toSorted((one, other) => placeOf(one) - placeOf(other));
  }, [items, asked]);
  return {
    asked,
    typed,
    setTyped,
    hits,
    others: items.length - hits.length,
    isFresh: typed === asked && (asked === "" || !(found.isFetching || found.isPlaceholderData)),
    failure: found.error,
  };
}

function placeOf({ seq }: SearchResult): number {
  return seq ?? Infinity;
}
