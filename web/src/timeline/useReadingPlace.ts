/**
 * Where the reader is in a list that grows at both ends.
 *
 * At the newest entry the list follows what is added; anywhere else it stays where it is, and counts
 * what has come meanwhile. Entries put before the first one move nothing.
 */
import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

import type { TimelineEntry } from "./history";

const NEAR_END_PX = 48;

export interface ReadingPlace {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly list: RefObject<HTMLOListElement | null>;
  readonly newCount: number;
  readonly goToEnd: () => void;
}

export function useReadingPlace(entries: readonly TimelineEntry[]): ReadingPlace {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const isFollowing = useRef(true);
  const first = useRef<{ seq: number; top: number }>(undefined);
  const last = useRef<number>(undefined);
  const [newCount, setNewCount] = useState(0);

  function goToEnd() {
    isFollowing.current = true;
    setNewCount(0);
    if (scroller.current !== null) scroller.current.scrollTop = scroller.current.scrollHeight;
  }

  useLayoutEffect(() => {
    const box = scroller.current;
    if (box === null) return;
    if (entries[0]?.seq !== first.current?.seq) keepFirst(box, first.current);
    const added = entries.filter(({ seq }) => seq > (last.current ?? Infinity)).length;
    last.current = entries.at(-1)?.seq;
    if (isFollowing.current) box.scrollTop = box.scrollHeight;
    else if (added > 0) setNewCount((count) => count + added);
    first.current = placeOfFirst(box, entries[0]?.seq);
  }, [entries]);

  useEffect(() => {
    const box = scroller.current;
    if (box === null || list.current === null) return undefined;
    let before = measured(box);
    const onScroll = () => {
      const now = measured(box);
      // Whoever scrolls up wants to read there; what only changed its size scrolls up as well.
      const isSameSize = now.height === before.height && now.seen === before.seen;
      if (now.top < before.top && isSameSize) isFollowing.current = false;
      else if (now.height - now.top - now.seen < NEAR_END_PX) {
        isFollowing.current = true;
        setNewCount(0);
      }
      before = now;
      first.current = placeOfFirst(box, first.current?.seq);
    };
    // A browser goes to an end step by step; entries that grow on the way keep it from arriving.
    const onKeyDown = (event: KeyboardEvent) => {
      const isModified = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
      if (event.target !== box || isModified) return;
      if (event.key === "End") goToEnd();
      else if (event.key === "Home") {
        isFollowing.current = false;
        box.scrollTop = 0;
      } else return;
      event.preventDefault();
    };
    // Whoever goes to another entry by keyboard is brought there, and stays.
    const onFocusIn = (event: FocusEvent) => {
      const place = event.target instanceof Element ? event.target.closest("[data-seq]") : null;
      if (place !== null && place.nextElementSibling !== null) isFollowing.current = false;
    };
    // Entries get their true height when they come near; the end moves away then.
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) box.scrollTop = box.scrollHeight;
      before = measured(box);
      first.current = placeOfFirst(box, first.current?.seq);
    });
    observer.observe(list.current);
    observer.observe(box);
    box.addEventListener("scroll", onScroll, { passive: true });
    box.addEventListener("keydown", onKeyDown);
    box.addEventListener("focusin", onFocusIn);
    return () => {
      observer.disconnect();
      box.removeEventListener("scroll", onScroll);
      box.removeEventListener("keydown", onKeyDown);
      box.removeEventListener("focusin", onFocusIn);
    };
  }, []);

  return { scroller, list, newCount, goToEnd };
}

function measured(box: HTMLElement) {
  return { top: box.scrollTop, height: box.scrollHeight, seen: box.clientHeight };
}

function entryElement(box: HTMLElement, seq: number): Element | null {
  return box.querySelector(`[data-seq="${seq}"]`);
}

function placeOfFirst(box: HTMLElement, seq: number | undefined) {
  const element = seq === undefined ? null : entryElement(box, seq);
  if (seq === undefined || element === null) return undefined;
  return { seq, top: element.getBoundingClientRect().top };
}

/** Scroll so that what was the first entry stands where it stood. */
function keepFirst(box: HTMLElement, first: { seq: number; top: number } | undefined): void {
  const element = first === undefined ? null : entryElement(box, first.seq);
  if (first === undefined || element === null) return;
  const moved = element.getBoundingClientRect().top - first.top;
  if (Math.abs(moved) > 1) box.scrollTop += moved;
}
