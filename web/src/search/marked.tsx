/** A passage with the words that were asked for marked, where they stand in it as they were asked. */
import type { ReactNode } from "react";

export function marked(passage: string, asked: string): ReactNode {
  const words = asked.match(/[\p{L}\p{N}_]{2,}/gu) ?? [];
  if (words.length === 0) return passage;
  const pattern = new RegExp(`(${words.map((word) => `${word}[\\p{L}\\p{N}_]*`).join("|")})`, "giu");
  return passage
    .split(pattern)
    .map((piece, index) => (index % 2 === 1 ? <mark key={index}>{piece}</mark> : piece));
}
