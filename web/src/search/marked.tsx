/** A passage with the words that were asked for marked, where they stand in it as they were asked. */
import type { ReactNode } from "react";

import { wordPattern } from "./wordPattern";

export function marked(passage: string, asked: string): ReactNode {
  const pattern = wordPattern(asked);
  const plain = withoutMarkup(passage);
  if (pattern === undefined) return plain;
  return plain
    .split(pattern)
    .map((piece, index) => (index % 2 === 1 ? <mark key={index}>{piece}</mark> : piece));
}

/** A passage without the marks of Markdown, which are laid out nowhere in it. */
function withoutMarkup(passage: string): string {
  return passage
    .replaceAll(/\|?(?:\s*:?-{3,}:?\s*\|)+(?:\s*:?-{3,}:?)?/g, " ")
    .replaceAll(/(^|\s)(?:#{1,6}|>|[-*+]) (?=\S)/g, "$1")
    .replaceAll(/\*\*|__|`+|(?<=\s)\||\|(?=\s|$)/g, "")
    .trim();
}
