/**
 * Gives the keyboard focus to an entry, as soon as it is drawn.
 *
 * An entry that is far away is drawn some frames after one has gone to it, and one that is not loaded
 * yet is drawn twice. Who goes elsewhere meanwhile keeps the focus there.
 */
import { type RefObject, useLayoutEffect, useRef } from "react";

import { focusOnce } from "../shared/focusOnce";

export interface EntryFocus {
  /** Give the focus to an entry, now or when it is drawn. */
  readonly giveTo: (seq: number) => void;
  /** The number of the entry that has the focus, or has what has it, while it is seen. */
  readonly seen: () => number | undefined;
  /** Open or fold what is folded in the entry that has the focus, else in this one: a call, a long text, its JSON. */
  readonly open: (seq: number) => void;
}

interface Wanted {
  readonly seq: number;
  /** What had the focus when it was asked for. */
  readonly from: Element | null;
}

export function useEntryFocus(scroller: RefObject<HTMLDivElement | null>): EntryFocus {
  const wanted = useRef<Wanted>(undefined);

  function give() {
    const box = scroller.current;
    if (wanted.current === undefined || box === null) return;
    const { seq, from } = wanted.current;
    const active = document.activeElement;
    const entry = box.querySelector<HTMLElement>(`[data-seq="${seq}"]`);
    const isElsewhere = active !== from && active !== document.body && active !== entry;
    if (isElsewhere) wanted.current = undefined;
    else if (entry !== null) {
      focusOnce(entry, { preventScroll: true });
      // What stands for an entry until it is loaded gives way to it.
      wanted.current = entry.getAttribute("aria-busy") === "true" ? { seq, from: entry } : undefined;
    }
  }

  // All that is drawn may be what is waited for.
  useLayoutEffect(give);

  function seen(): number | undefined {
    const box = scroller.current;
    const entry = document.activeElement?.closest<HTMLElement>("[data-seq]") ?? null;
    if (box === null || entry === null || !box.contains(entry)) return undefined;
    const [edges, place] = [box.getBoundingClientRect(), entry.getBoundingClientRect()];
    const isSeen = place.bottom > edges.top && place.top < edges.bottom;
    return isSeen ? Number(entry.dataset["seq"]) : undefined;
  }

  return {
    seen,
    open: (seq) => {
      const entry = scroller.current?.querySelector(`[data-seq="${seen() ?? seq}"]`);
      // A line that was opened becomes a line again.
      const opened = entry?.closest(".opened-row") ?? entry;
      opened?.querySelector<HTMLElement>("button[aria-expanded], summary")?.click();
    },
    giveTo: (seq) => {
      wanted.current = { seq, from: document.activeElement };
      give();
    },
  };
}
