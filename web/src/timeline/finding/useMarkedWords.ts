/** Marks the words that are searched for in what is drawn, with the browser's own highlights: no element is changed. */
import { type RefObject, useEffect } from "react";

import { wordPattern } from "../../search/wordPattern";

const NAME = "found";
const MOST_MARKS = 2_000;

export function useMarkedWords(scroller: RefObject<HTMLElement | null>, asked: string): void {
  useEffect(() => {
    const box = scroller.current;
    const pattern = wordPattern(asked);
    // Older browsers mark nothing.
    if (box === null || pattern === undefined || !("highlights" in CSS)) return undefined;
    let frame = 0;
    const mark = () => {
      frame = 0;
      CSS.highlights.set(NAME, new Highlight(...rangesIn(box, pattern)));
    };
    const observer = new MutationObserver(() => {
      if (frame === 0) frame = requestAnimationFrame(mark);
    });
    observer.observe(box, { childList: true, subtree: true, characterData: true });
    mark();
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
      CSS.highlights.delete(NAME);
    };
  }, [scroller, asked]);
}

function rangesIn(box: HTMLElement, pattern: RegExp): readonly Range[] {
  const ranges: Range[] = [];
  const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    for (const { index, 0: word } of (node.nodeValue ?? "").matchAll(pattern)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      ranges.push(range);
      if (ranges.length >= MOST_MARKS) return ranges;
    }
  }
  return ranges;
}
