/** The entries of a session as a model has them: a bar for what each costs, and its losses beside it. */
import type { LossEntry, WorkingSetEntry } from "@pagefault/client";
import { visibleName, visibleText } from "@pagefault/react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation } from "react-router";

import { numberText } from "../shared/formats";
import { useSkipTarget } from "../shell/skipTargets";
import { MODEL } from "../words/model";
import { PAGES } from "../words/pages";
import { SHELL } from "../words/shell";
import { EntryRendering } from "./EntryRendering";
import { EvictedEntry, GotWithin } from "./EvictedEntry";
import { type ModelRow, type ModelRows, sizeOf } from "./rows";
import { sentMessages } from "./sentMessages";
import type { ModelOptions } from "./useModel";

interface EntryListProps {
  readonly sessionId: string;
  readonly options: ModelOptions;
  readonly entries: ModelRows;
  /** The messages of the rendering. */
  readonly messages: readonly string[];
  /** Whether only what was cut is listed. */
  readonly areCutAlone: boolean;
  /** Whether it stands beside that of another target. */
  readonly isBeside: boolean;
}

const ROW_PX = 73;

export function EntryList(props: EntryListProps) {
  const { sessionId, options, entries, messages, areCutAlone, isBeside } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const { hash, key: move, state } = useLocation();
  useSkipTarget("entries", SHELL.skipTo.entries, !isBeside);
  const rows = useMemo(
    () => (areCutAlone ? entries.rows.filter(({ cut }) => cut !== undefined) : entries.rows),
    [areCutAlone, entries],
  );
  const all = useMemo(() => entries.rows.map(({ entry }) => entry), [entries]);
  const lastEvicted = rows.findLastIndex(({ entry }) => entry.evicted === true);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
  });

  // An address names an entry.
  const named = Number(/^#entry-(\d{1,15})$/.exec(hash)?.[1] ?? NaN);
  useEffect(() => {
    const index = rows.findIndex(({ entry }) => isOf(entry, named));
    if (index >= 0) virtualizer.scrollToIndex(index, { align: "start" });
  }, [named, move, rows, virtualizer]);
  // A link of this page moves the list, and is no use where that is out of sight.
  const isMoved = (state as { isMove?: boolean } | null)?.isMove === true;
  useEffect(() => {
    if (isMoved) scroller.current?.scrollIntoView({ block: "nearest" });
  }, [isMoved, move]);

  return (
    <>
      {entries.elsewhere.length > 0 && <Losses losses={entries.elsewhere} />}
      <div
        ref={scroller}
        id={isBeside ? undefined : "entries"}
        className="model-entries scroller"
        role="region"
        tabIndex={0}
        aria-label={isBeside ? MODEL.entriesOf(options.target) : MODEL.entries}
        onKeyDown={(event) => {
          // The browser would stop where it takes the end to be, before the last rows are measured.
          if (event.key !== "End" || event.target !== event.currentTarget) return;
          event.preventDefault();
          virtualizer.scrollToIndex(rows.length - 1, { align: "end" });
        }}
      >
        <ol style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ key, index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              <li
                key={key}
                ref={virtualizer.measureElement}
                data-index={index}
                style={{ transform: `translateY(${start}px)` }}
              >
                <EntryRow {...{ sessionId, options, row, all, messages }} isNamed={isOf(row.entry, named)} />
                {index === lastEvicted && (
                  <p className="model-frontier" role="separator">
                    {MODEL.frontierHere}
                  </p>
                )}
              </li>
            );
          })}
        </ol>
      </div>
    </>
  );
}

/** Whether a row is that of an entry, or of a run with it. */
function isOf({ seq, fromSeq }: WorkingSetEntry, named: number): boolean {
  return seq != null && named <= seq && named >= (fromSeq ?? seq);
}

interface EntryRowProps {
  readonly sessionId: string;
  readonly options: ModelOptions;
  readonly row: ModelRow;
  readonly all: readonly WorkingSetEntry[];
  readonly messages: readonly string[];
  readonly isNamed: boolean;
}

function EntryRow({ sessionId, options, row, all, messages, isNamed }: EntryRowProps) {
  const [isOpen, setOpen] = useState(false);
  const { entry, share, losses, cut, insertedFor } = row;
  const { seq, fromSeq, role, toolName, pageId, tokens, evicted, recalls, priority } = entry;
  const { level, stepLevel } = entry;
  const isFold = stepLevel === "folded";
  const bar = { "--share": `${100 * share}%` } as CSSProperties;

  function shownOf(seq: number | null | undefined) {
    // What a run has become, or what is not stored, is no rendering of one entry.
    if (isFold || seq == null) return <GotWithin sent={sentMessages(entry, all, messages)} />;
    if (evicted !== true) {
      const isCut = cut !== undefined;
      return <EntryRendering {...{ sessionId, seq, isCut }} target={options.target} />;
    }
    const sent = options.at === undefined ? undefined : sentMessages(entry, all, messages);
    return <EvictedEntry {...{ sessionId, seq, options, sent }} />;
  }
  return (
    <article
      className={`model-entry ${evicted === true ? "evicted" : ""}`}
      aria-current={isNamed ? "location" : undefined}
    >
      <p className="model-entry-head">
        {fromSeq != null && fromSeq !== seq && (
          <>
            <Link to={`/sessions/${encodeURIComponent(sessionId)}#${fromSeq}`}>#{fromSeq}</Link>
            {MODEL.upTo}
          </>
        )}
        {seq != null && (
          <Link to={`/sessions/${encodeURIComponent(sessionId)}#${seq}`}>#{seq}</Link>
        )}
        {insertedFor !== undefined && (
          <>
            <span className="label warn">{MODEL.inserted}</span>
            <span>
              {MODEL.insertedFor}{" "}
              <Link to={`/sessions/${encodeURIComponent(sessionId)}#${insertedFor}`}>#{insertedFor}</Link>
            </span>
          </>
        )}
        <span className="quiet">{isFold ? MODEL.folded(sizeOf([fromSeq ?? seq ?? 0, seq ?? 0])) : role}</span>
        {(toolName ?? pageId) != null && <code>{visibleName(toolName ?? pageId ?? "")}</code>}
        {insertedFor === undefined && (
          <span className={`label ${level === "FULL" ? "" : "warn"}`}>
            {MODEL.stepLevels[stepLevel ?? ""] ?? MODEL.levels[level] ?? level}
          </span>
        )}
        {(recalls ?? 0) > 0 && <span className="small">{MODEL.recalls(recalls ?? 0)}</span>}
        {priority === "stays" && <span className="small quiet">{MODEL.stays}</span>}
        {priority === "raised" && <span className="small quiet">{MODEL.raised}</span>}
        <span className="model-tokens small">{MODEL.tokens(numberText(tokens))}</span>
      </p>
      <div className="model-bar" style={bar} />
      <Losses losses={losses} />
      {(seq != null || insertedFor !== undefined) && (
        <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary className="small">
            {evicted === true && !isFold ? MODEL.showBeside : MODEL.show}
          </summary>
          {isOpen && shownOf(seq)}
        </details>
      )}
    </article>
  );
}

function Losses({ losses }: { losses: readonly LossEntry[] }) {
  return losses.map(({ from, to, reason, restore }, index) => (
    <p key={index} className="model-loss small">
      <strong>{MODEL.became(from, to)}</strong> {visibleText(reason)}{" "}
      {from === "nothing" ? (
        <span className="quiet">{PAGES.notStored}</span>
      ) : (
        <>
          <span className="quiet">{MODEL.wayBack}</span> <code>{visibleText(restore)}</code>
        </>
      )}
    </p>
  ));
}
