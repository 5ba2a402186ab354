/**
 * Where the reader is in a list of rows that grows at both ends, of which only those near what is
 * seen are drawn.
 *
 * At the newest row the list follows what is added; anywhere else it stays where it is, and counts
 * what has come meanwhile. Who comes to an entry is held there while rows around it get their true
 * heights, until they move themselves.
 */
import type { OutlineEntry } from "@pagefault/client";
import { type Virtualizer, useVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";

import type { KeptPlace, Place } from "./placeKept";
import { type Row, entriesOf } from "./rows";
import { type EntryFocus, useEntryFocus } from "./useEntryFocus";

const NEAR_END_PX = 48;
const STILL_MS = 150;
const GAP_PX = 12;
/** A list this short is drawn whole: a browser's own search finds all of it. */
const SHORT = 120;
const OVERSCAN = 6;
/** Stands before every entry: the beginning, also as long as it is not loaded. */
const BEGINNING = 0;
/** What a reader does to move, a drag of the scroll bar among it. */
const OWN_MOVES = ["wheel", "touchmove", "pointerdown"] as const;
const MOVING_KEYS = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown", " ", "Tab"]);

export type RowVirtualizer = Virtualizer<HTMLDivElement, HTMLLIElement>;

export interface RowList {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly virtualizer: RowVirtualizer;
  readonly newCount: number;
  /** The number of the first entry that is seen. */
  readonly seen: number | undefined;
  readonly goToEnd: () => void;
  readonly goToStart: () => void;
  /** Return whether the list follows what is added at its end. */
  readonly isAtEnd: () => boolean;
  /** Bring an entry, or where it would be, to the upper edge, and hold it there. */
  readonly goTo: (seq: number) => void;
  readonly focus: EntryFocus;
}

interface Asked {
  readonly rows: readonly Row[];
  /** The entries of the rows, in the order of their numbers. */
  readonly entries: readonly OutlineEntry[];
  /** What the rows were chosen by: what comes with another filter is not new. */
  readonly filter: string;
  /** All entries above this number are there. */
  readonly lower: number;
  readonly place: KeptPlace;
  readonly estimate: (row: Row) => number;
  /** Between two rows. */
  readonly gapPx: number;
}

export function useRowList(asked: Asked): RowList {
  const { rows, entries, filter, lower, estimate, gapPx } = asked;
  const { start, keep } = asked.place;
  const scroller = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(start === undefined || start === "end");
  const held = useRef<Place>(undefined);
  const last = useRef<number>(undefined);
  const lastFilter = useRef(filter);
  const latest = useRef({ rows, lower });
  const [newCount, setNewCount] = useState(0);
  const [seen, setSeen] = useState<number>();
  latest.current = { rows, lower };

  // All of them are asked for whenever one row has got its height.
  const estimates = useMemo(() => rows.map(estimate), [rows, estimate]);
  const keys = useMemo(() => rows.map(({ kind, seq }) => (kind === "day" ? -seq : seq)), [rows]);
  // Another function would have all rows measured anew.
  const estimateSize = useCallback((index: number) => estimates[index] ?? 0, [estimates]);
  const getItemKey = useCallback((index: number) => keys[index] ?? index, [keys]);

  const virtualizer: RowVirtualizer = useVirtualizer<HTMLDivElement, HTMLLIElement>({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize,
    getItemKey,
    overscan: lower === 0 && rows.length <= SHORT ? SHORT : OVERSCAN,
    gap: gapPx,
    paddingStart: GAP_PX,
    paddingEnd: 2 * GAP_PX,
    anchorTo: "end",
    scrollEndThreshold: NEAR_END_PX,
    useAnimationFrameWithResizeObserver: false,
  });

  // Rows that are drawn in another way have other heights, those that are not drawn as well.
  const drawnBy = useRef(estimate);
  useLayoutEffect(() => {
    if (drawnBy.current !== estimate) virtualizer.measure();
    drawnBy.current = estimate;
  }, [estimate, virtualizer]);

  function toEnd() {
    const box = scroller.current;
    if (box !== null) box.scrollTop = box.scrollHeight;
  }

  function goToEnd() {
    isFollowing.current = true;
    held.current = undefined;
    setNewCount(0);
    setSeen(last.current);
    toEnd();
  }

  function goToStart() {
    held.current = { seq: BEGINNING, top: 0 };
    setSeen(entries[0]?.seq);
    hold();
  }

  /** Scroll so that the held entry stands at its place; false while it is not there. */
  function hold(): boolean {
    const wanted = held.current;
    const { rows: present, lower: from } = latest.current;
    if (wanted?.seq === BEGINNING) {
      isFollowing.current = false;
      if ((scroller.current?.scrollTop ?? 0) > 0) virtualizer.scrollToOffset(0);
      return from === 0;
    }
    if (wanted === undefined || (from > 0 && wanted.seq <= from)) return false;
    const index = indexOf(present, wanted.seq);
    const offset = virtualizer.getOffsetForIndex(index, "start")?.[0];
    const box = scroller.current;
    if (offset === undefined || box === null) return false;
    isFollowing.current = false;
    const inside = innerOffset(box, index, wanted.seq);
    const target = Math.max(0, offset + inside - wanted.top);
    if (Math.abs(box.scrollTop - target) > 1) virtualizer.scrollToOffset(target);
    return true;
  }

  function goTo(seq: number) {
    held.current = { seq, top: GAP_PX };
    isFollowing.current = false;
    setSeen(seq);
    hold();
  }

  // Before the rows are placed; and, before they are gone, what was seen of them is kept.
  useLayoutEffect(() => {
    held.current = start === "end" ? undefined : start;
    if (start === "end") isFollowing.current = true;
    if (held.current !== undefined && held.current.seq !== BEGINNING) setSeen(held.current.seq);
    hold();
    return () => keep(held.current ?? placeSeen());
  }, [start, keep]);

  useLayoutEffect(() => {
    const newest = entries.at(-1)?.seq;
    const isSameFilter = lastFilter.current === filter;
    const before = isSameFilter ? last.current : newest;
    last.current = newest;
    lastFilter.current = filter;
    if (!isSameFilter) setNewCount(0);
    hold();
    if (isFollowing.current) toEnd();
    else if (before !== undefined && newest !== undefined && newest > before) {
      setNewCount((count) => count + countAbove(entries, before));
    }
  }, [rows, entries, filter, lower, start]);

  // Rows get their true heights when they come near; the end, and what is held, move away then.
  const height = virtualizer.getTotalSize();
  useLayoutEffect(() => {
    if (isFollowing.current) toEnd();
    else hold();
  }, [height]);

  function placeSeen(): Place | "end" {
    const box = scroller.current;
    if (box === null || isFollowing.current) return "end";
    const edge = box.getBoundingClientRect().top;
    for (const entry of box.querySelectorAll<HTMLElement>("[data-seq]")) {
      const { top, bottom } = entry.getBoundingClientRect();
      if (bottom > edge) return { seq: Number(entry.dataset["seq"]), top: top - edge };
    }
    return "end";
  }

  useEffect(() => {
    const box = scroller.current;
    if (box === null) return undefined;
    let before = measured(box);
    let timer = 0;
    const note = () => {
      keep(held.current ?? placeSeen());
      const at = held.current?.seq === BEGINNING ? undefined : held.current;
      const place = at ?? placeSeen();
      setSeen(place === "end" ? last.current : place.seq);
    };
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
      window.clearTimeout(timer);
      timer = window.setTimeout(note, STILL_MS);
    };
    let isTabbing = false;
    const letGo = () => {
      isTabbing = false;
      if (held.current !== undefined && isNearEnd(measured(box))) isFollowing.current = true;
      held.current = undefined;
    };
    const onKey = (event: KeyboardEvent) => {
      if (MOVING_KEYS.has(event.key)) letGo();
      isTabbing = event.key === "Tab";
    };
    // Whoever goes to another entry by keyboard is brought there, and stays.
    const onFocusIn = (event: FocusEvent) => {
      const entry = event.target instanceof Element ? event.target.closest("[data-seq]") : null;
      const seq = Number((entry as HTMLElement | null)?.dataset["seq"]);
      // The one that is held has it because one has gone there.
      if (entry === null || seq === held.current?.seq) return;
      held.current = undefined;
      if (seq === last.current) return;
      isFollowing.current = false;
      if (!isTabbing) return;
      // The browser may scroll to it after this event; rows that get their heights later must not move it.
      window.requestAnimationFrame(() => {
        if (held.current !== undefined || !entry.contains(document.activeElement)) return;
        held.current = { seq, top: entry.getBoundingClientRect().top - box.getBoundingClientRect().top };
      });
    };
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) toEnd();
      else hold();
      before = measured(box);
    });
    observer.observe(box);
    note();
    box.addEventListener("scroll", onScroll, { passive: true });
    for (const name of OWN_MOVES) box.addEventListener(name, letGo, { passive: true });
    window.addEventListener("keydown", onKey, { capture: true });
    window.addEventListener("pagehide", note);
    box.addEventListener("focusin", onFocusIn);
    return () => {
      observer.disconnect();
      window.clearTimeout(timer);
      box.removeEventListener("scroll", onScroll);
      for (const name of OWN_MOVES) box.removeEventListener(name, letGo);
      window.removeEventListener("keydown", onKey, { capture: true });
      window.removeEventListener("pagehide", note);
      box.removeEventListener("focusin", onFocusIn);
    };
  }, [keep]);

  const focus = useEntryFocus(scroller);
  const isAtEnd = () => isFollowing.current;
  return { scroller, virtualizer, newCount, seen, goToEnd, goToStart, isAtEnd, goTo, focus };
}

function measured(box: HTMLElement) {
  return { top: box.scrollTop, height: box.scrollHeight, seen: box.clientHeight };
}

function isNearEnd({ top, height, seen }: ReturnType<typeof measured>): boolean {
  return height - top - seen < NEAR_END_PX;
}

/** How far below the beginning of its row an entry begins, where it is drawn. */
function innerOffset(box: HTMLElement, index: number, seq: number): number {
  const row = box.querySelector(`[data-index="${index}"]`);
  const entry = row?.querySelector(`[data-seq="${seq}"]`);
  if (row == null || entry == null) return 0;
  return entry.getBoundingClientRect().top - row.getBoundingClientRect().top;
}

/** The row that has an entry; where there is none of that number, the next one. */
function indexOf(rows: readonly Row[], seq: number): number {
  let next = rows.length - 1;
  for (let index = rows.length - 1; index >= 0; index -= 1) {
    const row = rows[index];
    if (row === undefined || row.kind === "day") continue;
    if (entriesOf(row).some((entry) => entry.seq === seq)) return index;
    if (row.seq >= seq) next = index;
  }
  return next;
}

function countAbove(entries: readonly OutlineEntry[], seq: number): number {
  let count = 0;
  for (let at = entries.length - 1; (entries[at]?.seq ?? 0) > seq; at -= 1) count += 1;
  return count;
}
