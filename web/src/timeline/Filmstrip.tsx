/** All images of a session in one line, in their order; each leads to its entry. */
import type { OutlineEntry } from "@pagefault/client";
import { SessionEntries, usePagefault } from "@pagefault/react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";

import { FILMSTRIP } from "../words/timeline";
import { Thumbnail } from "./entries/Thumbnail";
import { imagesIn } from "./entries/lineTexts";

interface FilmstripProps {
  readonly sessionId: string;
  /** Those that are shown. */
  readonly entries: readonly OutlineEntry[];
  readonly current: number;
  readonly goTo: (seq: number) => void;
}

const FRAME_PX = 136;

export function Filmstrip({ sessionId, entries, current, goTo }: FilmstripProps) {
  const client = usePagefault();
  const scroller = useRef<HTMLDivElement>(null);
  const frames = useMemo(() => entries.filter(({ images }) => images > 0), [entries]);
  const bodies = useMemo(() => new SessionEntries(client, sessionId), [client, sessionId]);
  useSyncExternalStore(bodies.subscribe, bodies.changes, bodies.changes);
  const virtualizer = useVirtualizer({
    count: frames.length,
    horizontal: true,
    getScrollElement: () => scroller.current,
    estimateSize: () => FRAME_PX,
    overscan: 4,
  });
  const drawn = virtualizer.getVirtualItems();
  const [first, last] = [drawn[0]?.index ?? 0, drawn.at(-1)?.index ?? -1];

  useEffect(() => {
    bodies.want(frames.slice(first, last + 1).map(({ seq }) => seq));
  }, [bodies, frames, first, last]);

  // The frame of what is read, or the one before it, stays in view.
  const at = frames.findLastIndex(({ seq }) => seq <= current);
  useEffect(() => {
    if (at >= 0) virtualizer.scrollToIndex(at, { align: "center" });
  }, [virtualizer, at]);

  return (
    <div
      ref={scroller}
      className="filmstrip scroller"
      role="region"
      tabIndex={0}
      aria-label={FILMSTRIP.name}
    >
      <ol style={{ width: virtualizer.getTotalSize() }}>
        {drawn.map(({ key, index, start }) => {
          const entry = frames[index];
          if (entry === undefined) return null;
          const body = bodies.find(entry.seq);
          const [image] = body === undefined ? [] : imagesIn(body);
          return (
            <li key={key} style={{ transform: `translateX(${start}px)` }}>
              <button
                type="button"
                className={`frame ${entry.failed ? "failed" : ""}`}
                aria-label={FILMSTRIP.frame(entry.seq, entry.images)}
                aria-current={index === at ? "location" : undefined}
                onClick={() => goTo(entry.seq)}
              >
                {image !== undefined && <Thumbnail medium={image} />}
                <span className="small">#{entry.seq}</span>
              </button>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
