/** The first of many things, and a button that shows more of them. */
import { useState, type ReactNode } from "react";

import { WORDS } from "./words.ts";

export function usePieces<Item>(
  items: readonly Item[],
  piece: number,
): readonly [readonly Item[], ReactNode] {
  const [shown, setShown] = useState(piece);
  const left = items.length - shown;
  if (left <= 0) return [items, null];
  const next = Math.min(4 * piece, left);
  return [
    items.slice(0, shown),
    <button type="button" className="button plain small" onClick={() => setShown(shown + next)}>
      {WORDS.more(next)}
    </button>,
  ];
}
