/** Searches the entries of a file in this tab, as the service searches those of a stored session. */
import type { HistoryEntry, OutlineEntry, SearchResult } from "@pagefault/client";

import { hasEachWord, passageOf, wordPattern } from "../search/wordPattern";
import { isToolResult, titleOf } from "../timeline/history";
import { type ShownBlock, blocksOfMessage, callsOf } from "../timeline/messageBlocks";

type Hit = Pick<SearchResult, "seq" | "title" | "kind" | "snippet" | "pageId">;
type Search = (asked: string, limit: number) => readonly Hit[];

/** The search over entries, which are given as JSON: at most `limit` of those with each word, in their order. */
export function searchIn(outline: readonly OutlineEntry[], entries: readonly string[]): Search {
  let texts: readonly string[] | undefined;
  return (asked, limit) => {
    if (wordPattern(asked) === undefined) return [];
    texts ??= entries.map(wordsOf);
    const hits: Hit[] = [];
    for (const [index, entry] of outline.entries()) {
      const text = texts[index] ?? "";
      if (hits.length >= limit || !hasEachWord(text, asked)) continue;
      const [title, snippet] = [titleOf(entry), passageOf(text, asked)];
      hits.push({ seq: entry.seq, title, kind: "message", snippet, pageId: null });
    }
    return hits;
  };
}

/** What an entry says, its calls with their arguments included. */
function wordsOf(source: string): string {
  const entry = JSON.parse(source) as HistoryEntry;
  if (isToolResult(entry)) {
    const { parts, meta } = entry.sanitized;
    return [meta.toolName, ...parts.map((part) => (part.type === "text" ? part.text : ""))].join("\n");
  }
  if (!("role" in entry)) return source;
  const calls = callsOf({ ...entry }, source).map((call) => `${call.name} ${call.source ?? ""}`);
  return [...blocksOfMessage({ ...entry }, source).map(wordsOfBlock), ...calls].join("\n");
}

function wordsOfBlock(block: ShownBlock): string {
  if (block.kind === "text" || block.kind === "reasoning") return block.text;
  if (block.kind === "result") return block.blocks.map(wordsOfBlock).join("\n");
  return block.kind === "other" ? block.source : "";
}
