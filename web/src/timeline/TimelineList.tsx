/** The rows of a timeline near what is seen, the way to the newest, and the word that there are new ones. */
import type { OutlineEntry } from "@pagefault/client";
import { type SessionEntries, visibleName } from "@pagefault/react";
import { useEffect, useState } from "react";

import { Failure } from "../shared/states";
import { useSkipTarget } from "../shell/skipTargets";
import { SHELL } from "../words/shell";
import { TIMELINE } from "../words/timeline";
import { DayRow } from "./DayRow";
import type { OpenedRows } from "./density";
import { TimelineRow } from "./entries/TimelineRow";
import { titleOf } from "./history";
import { type Row, entriesOf } from "./rows";
import type { RowList } from "./useRowList";

interface TimelineListProps {
  readonly list: RowList;
  readonly rows: readonly Row[];
  readonly outline: readonly OutlineEntry[];
  readonly bodies: SessionEntries;
  /** The entry that the address names. */
  readonly named: number | undefined;
  /** All entries above this number are there. */
  readonly lower: number;
  readonly failure: unknown;
  readonly onRetry: () => void;
  /** Whether rows are lines, and which of them are opened. */
  readonly isLines: boolean;
  readonly opened: OpenedRows;
}

/** Bodies of this many rows before and behind those that are drawn are loaded as well. */
const LOOK_AHEAD = 10;

export function TimelineList(props: TimelineListProps) {
  const { list, rows, bodies, named, lower, failure, isLines } = props;
  useSkipTarget("timeline", SHELL.skipTo.timeline);
  const { virtualizer, scroller } = list;
  const drawn = virtualizer.getVirtualItems();
  const first = drawn[0]?.index ?? 0;
  const last = drawn.at(-1)?.index ?? -1;

  // What is drawn comes first, then what is near.
  useEffect(() => {
    const near = [first - LOOK_AHEAD, last + 1 + LOOK_AHEAD] as const;
    const wanted = [
      ...rows.slice(first, last + 1),
      ...rows.slice(last + 1, near[1]),
      ...rows.slice(Math.max(0, near[0]), first),
    ];
    bodies.want(wanted.flatMap(entriesOf).map(({ seq }) => seq));
  }, [bodies, rows, first, last]);

  // Who has just come here by keyboard scrolls with it, without passing through the list.
  useEffect(() => {
    if (document.activeElement?.id === "main") scroller.current?.focus({ preventScroll: true });
  }, [scroller]);

  return (
    <div className="timeline-window">
      <div
        ref={scroller}
        id="timeline"
        className="timeline-scroller scroller"
        tabIndex={0}
        role="region"
        aria-label={TIMELINE.entries}
      >
        {lower > 0 && <p className="earlier small quiet">{TIMELINE.loadingEarlier(lower)}</p>}
        <ol className={isLines ? "entries as-lines" : "entries"} style={{ height: virtualizer.getTotalSize() }}>
          {drawn.map(({ key, index, start }) => {
            const row = rows[index];
            return (
              row !== undefined && (
                <li
                  key={key}
                  ref={virtualizer.measureElement}
                  data-index={index}
                  className="entry-place"
                  aria-setsize={rows.length}
                  aria-posinset={index + 1}
                  style={{ transform: `translateY(${start}px)` }}
                >
                  {row.kind === "day" ? (
                    <DayRow day={row.day} />
                  ) : (
                    <TimelineRow {...{ row, bodies, named, isLines }} {...props.opened} />
                  )}
                </li>
              )
            );
          })}
        </ol>
        {failure !== null && <Failure failure={failure} onRetry={props.onRetry} />}
        {bodies.failure !== null && <Failure failure={bodies.failure} onRetry={bodies.retry} />}
      </div>
      <Announcement outline={props.outline} />
      {list.newCount > 0 && (
        <button type="button" className="button primary new-entries" onClick={list.goToEnd}>
          {TIMELINE.newEntries(list.newCount)}
        </button>
      )}
    </div>
  );
}

/** Says what came last, to those who do not see it come. What was loaded at first is not news. */
function Announcement({ outline }: { outline: readonly OutlineEntry[] }) {
  const last = outline.at(-1);
  const [shownFirst] = useState(last?.seq);
  const isNews = last !== undefined && last.seq !== shownFirst;
  return (
    <p className="unseen" aria-live="polite">
      {isNews && TIMELINE.news(visibleName(titleOf(last)), last.seq)}
    </p>
  );
}

/** How high a row is about, before it is drawn. */
export function estimatedHeight(row: Row): number {
  if (row.kind === "day") return 28;
  const heights = entriesOf(row).map(heightOf);
  return heights.reduce((sum, height) => sum + height, 0);
}

const LINE_PX = 34;

/** How high a row of lines is, unless it is opened. */
export function heightOfLines(row: Row): number {
  if (row.kind === "day") return 28;
  const lines = row.kind === "entry" ? 1 : row.calls.length + (row.caller === null ? 0 : 1);
  return LINE_PX * lines;
}

function heightOf(entry: OutlineEntry): number {
  const lines = Math.min(24, Math.ceil(entry.bytes / 110));
  return 92 + 22 * lines + 320 * Math.min(2, entry.images + entry.videos) + 90 * entry.audios;
}

