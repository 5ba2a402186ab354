/** What a hit is: its kind, and its name. */
import type { SearchResult } from "@pagefault/client";

import { SEARCH } from "../words/search";

/** A message that has results of tools alone is found, and named, as a tool result. */
export function kindOf({ kind, title }: SearchResult): SearchResult["kind"] {
  return kind === "message" && title === "tool" ? "tool_result" : kind;
}

export function nameOf(hit: SearchResult): string {
  if (kindOf(hit) === hit.kind) return hit.title ?? hit.id;
  const { toolNames = [] } = hit;
  return toolNames.length === 0 ? SEARCH.unnamedTool : toolNames.join(", ");
}
