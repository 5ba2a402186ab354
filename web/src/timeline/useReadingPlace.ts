/**
 * Where the reader is in a list that grows at both ends.
 *
 * At the newest entry the list follows what is added; anywhere else it stays where it is, and counts
 * what has come meanwhile. Entries put before the first one move nothing. Who comes to an entry is
 * held there while those around it grow, until they move themselves.
 */
import type { SessionHistoryState } from "@pagefault/react";
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";

import type { KeptPlace, Place } from "./placeKept";

const NEAR_END_PX = 48;
const STILL_MS = 150;
/** What a reader does to move, a drag of the scroll bar among it. */
const OWN_MOVES = ["wheel", "touchmove", "pointerdown"] as const;

export interface ReadingPlace {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly list: RefObject<HTMLOListElement | null>;
  readonly newCount: number;
  readonly goToEnd: () => void;
}

export function useReadingPlace(
  { entries, lower }: Pick<SessionHistoryState, "entries" | "lower">,
  { start, keep }: KeptPlace,
): ReadingPlace {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const isFollowing = useRef(true);
  const held = useRef<Place>(undefined);
  const reached = useRef(lower);
  const first = useRef<{ seq: number; top: number }>(undefined);
  const last = useRef<number>(undefined);
  const [newCount, setNewCount] = useState(0);

  function goToEnd() {
    isFollowing.current = true;
    held.current = undefined;
    setNewCount(0);
    if (scroller.current !== null) scroller.current.scrollTop = scroller.current.scrollHeight;
  }

  // Before the entries are placed; and, before they are gone, what was seen of them is kept.
  useLayoutEffect(() => {
    const box = scroller.current;
    held.current = start === "end" ? undefined : start;
    if (start === "end") isFollowing.current = true;
    return () => {
      if (box !== null) keep(held.current ?? placeSeen(box, isFollowing.current));
    };
  }, [start, keep]);

  useLayoutEffect(() => {
    const box = scroller.current;
    if (box === null) return;
    if (entries[0]?.seq !== first.current?.seq) keepFirst(box, first.current);
    const added = entries.filter(({ seq }) => seq > (last.current ?? Infinity)).length;
    last.current = entries.at(-1)?.seq;
    reached.current = lower;
    // Until the entry is there, the reader stays where they are.
    if (hold(box, held.current, lower)) isFollowing.current = false;
    if (isFollowing.current) box.scrollTop = box.scrollHeight;
    else if (added > 0) setNewCount((count) => count + added);
    first.current = placeOfFirst(box, entries[0]?.seq);
  }, [entries, lower, start]);

  useEffect(() => {
    const box = scroller.current;
    if (box === null || list.current === null) return undefined;
    let before = measured(box);
    let timer = 0;
    const onScroll = () => {
      const now = measured(box);
      // Whoever scrolls up wants to read there; what only changed its size scrolls up as well.
      const isSameSize = now.height === before.height && now.seen === before.seen;
      if (now.top < before.top && isSameSize) isFollowing.current = false;
      else if (held.current === undefined && isNearEnd(now)) {
        isFollowing.current = true;
        setNewCount(0);
      }
      before = now;
      first.current = placeOfFirst(box, first.current?.seq);
      window.clearTimeout(timer);
      timer = window.setTimeout(note, STILL_MS);
    };
    const note = () => keep(held.current ?? placeSeen(box, isFollowing.current));
    const letGo = () => {
      if (held.current !== undefined && isNearEnd(measured(box))) isFollowing.current = true;
      held.current = undefined;
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
      if (place === null) return;
      held.current = undefined;
      if (place.nextElementSibling !== null) isFollowing.current = false;
    };
    // Entries get their true height when they come near; the end moves away then.
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) box.scrollTop = box.scrollHeight;
      else hold(box, held.current, reached.current);
      before = measured(box);
      first.current = placeOfFirst(box, first.current?.seq);
    });
    observer.observe(list.current);
    observer.observe(box);
    box.addEventListener("scroll", onScroll, { passive: true });
    for (const name of OWN_MOVES) box.addEventListener(name, letGo, { passive: true });
    // A search in the view begins with a key, too.
    window.addEventListener("keydown", letGo, { capture: true });
    window.addEventListener("pagehide", note);
    box.addEventListener("keydown", onKeyDown);
    box.addEventListener("focusin", onFocusIn);
    return () => {
      observer.disconnect();
      window.clearTimeout(timer);
      box.removeEventListener("scroll", onScroll);
      for (const name of OWN_MOVES) box.removeEventListener(name, letGo);
      window.removeEventListener("keydown", letGo, { capture: true });
      window.removeEventListener("pagehide", note);
      box.removeEventListener("keydown", onKeyDown);
      box.removeEventListener("focusin", onFocusIn);
    };
  }, [keep]);

  return { scroller, list, newCount, goToEnd };
}

function measured(box: HTMLElement) {
  return { top: box.scrollTop, height: box.scrollHeight, seen: box.clientHeight };
}

function isNearEnd({ top, height, seen }: ReturnType<typeof measured>): boolean {
  return height - top - seen < NEAR_END_PX;
}

function entryElement(box: HTMLElement, seq: number): Element | null {
  return box.querySelector(`[data-seq="${seq}"]`);
}

function placeOfFirst(box: HTMLElement, seq: number | undefined) {
  const element = seq === undefined ? null : entryElement(box, seq);
  if (seq === undefined || element === null) return undefined;
  return { seq, top: element.getBoundingClientRect().top };
}

/**
 * Scroll so that an entry stands at its place; where its number is none of an entry, the next one.
 * Returns whether it is there: all above `lower` are.
 */
function hold(box: HTMLElement, place: Place | undefined, lower: number): boolean {
  if (place === undefined || (lower > 0 && place.seq <= lower)) return false;
  const items = listed(box);
  const element = items[firstWhere(items, (item) => Number(item.dataset["seq"]) >= place.seq)];
  if (element === undefined) return false;
  const moved = element.getBoundingClientRect().top - box.getBoundingClientRect().top - place.top;
  if (Math.abs(moved) > 1) box.scrollTop += moved;
  return true;
}

/** The first entry that is seen, and where it begins; of who follows the newest, the end. */
function placeSeen(box: HTMLElement, isFollowing: boolean): Place | "end" {
  const items = listed(box);
  const { top } = box.getBoundingClientRect();
  const element = items[firstWhere(items, (item) => item.getBoundingClientRect().bottom > top)];
  if (isFollowing || element === undefined) return "end";
  return { seq: Number(element.dataset["seq"]), top: element.getBoundingClientRect().top - top };
}

function listed(box: HTMLElement): NodeListOf<HTMLElement> {
  return box.querySelectorAll<HTMLElement>("[data-seq]");
}

/** The index of the first one that holds; once one does, all behind it do. */
function firstWhere(items: NodeListOf<HTMLElement>, holds: (item: HTMLElement) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const item = items[middle];
    if (item !== undefined && holds(item)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Scroll so that what was the first entry stands where it stood. */
function keepFirst(box: HTMLElement, first: { seq: number; top: number } | undefined): void {
  const element = first === undefined ? null : entryElement(box, first.seq);
  if (first === undefined || element === null) return;
  const moved = element.getBoundingClientRect().top - first.top;
  if (Math.abs(moved) > 1) box.scrollTop += moved;
}
