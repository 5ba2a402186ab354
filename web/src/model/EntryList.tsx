/** The entries of a session as a model has them: a bar for what each costs, and its losses beside it. */
import type { LossEntry, WorkingSetEntry } from "@pagefault/client";
import { visibleName, visibleText } from "@pagefault/react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation } from "react-router";

import { numberText } from "../shared/formats";
import { MODEL } from "../words/model";
import { EntryRendering } from "./EntryRendering";

interface EntryListProps {
  readonly sessionId: string;
  readonly target: string;
  readonly entries: readonly WorkingSetEntry[];
  readonly loss: readonly LossEntry[];
}

const ROW_PX = 64;

export function EntryList({ sessionId, target, entries, loss }: EntryListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const { hash } = useLocation();
  const losses = useMemo(() => bySeq(loss), [loss]);
  const most = Math.max(1, ...entries.map(({ tokens }) => tokens));
  const lastEvicted = entries.findLastIndex(({ evicted }) => evicted === true);
  const virtualizer = useVirtualizer({
    count: entries.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
  });

  // An address names an entry.
  const named = Number(/^#entry-(\d{1,15})$/.exec(hash)?.[1] ?? NaN);
  useEffect(() => {
    const index = entries.findIndex(({ seq }) => seq === named);
    if (index >= 0) virtualizer.scrollToIndex(index, { align: "start" });
  }, [named, entries, virtualizer]);

  return (
    <div
      ref={scroller}
      className="model-entries scroller"
      role="region"
      tabIndex={0}
      aria-label={MODEL.entries}
    >
      <ol style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ key, index, start }) => {
          const entry = entries[index];
          if (entry === undefined) return null;
          return (
            <li
              key={key}
              ref={virtualizer.measureElement}
              data-index={index}
              style={{ transform: `translateY(${start}px)` }}
            >
              <EntryRow
                {...{ sessionId, target, entry }}
                isNamed={entry.seq === named}
                share={entry.tokens / most}
                losses={isFirstOf(entries, index) ? (losses.get(entry.seq ?? 0) ?? []) : []}
              />
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
  );
}

interface EntryRowProps {
  readonly sessionId: string;
  readonly target: string;
  readonly entry: WorkingSetEntry;
  readonly isNamed: boolean;
  /** Its tokens, as a share of the most that any has. */
  readonly share: number;
  readonly losses: readonly LossEntry[];
}

function EntryRow({ sessionId, target, entry, isNamed, share, losses }: EntryRowProps) {
  const [isOpen, setOpen] = useState(false);
  const { seq, role, toolName, pageId, level, tokens, evicted, recalls, priority } = entry;
  const bar = { "--share": `${100 * share}%` } as CSSProperties;
  return (
    <article
      className={`model-entry ${evicted === true ? "evicted" : ""}`}
      aria-current={isNamed ? "location" : undefined}
    >
      <p className="model-entry-head">
        {seq != null && (
          <Link to={`/sessions/${encodeURIComponent(sessionId)}#${seq}`}>#{seq}</Link>
        )}
        <span className="quiet">{role}</span>
        {(toolName ?? pageId) != null && <code>{visibleName(toolName ?? pageId ?? "")}</code>}
        <span className={`label ${level === "FULL" ? "" : "warn"}`}>
          {MODEL.levels[level] ?? level}
        </span>
        {(recalls ?? 0) > 0 && <span className="small">{MODEL.recalls(recalls ?? 0)}</span>}
        {priority === "stays" && <span className="small quiet">{MODEL.stays}</span>}
        {priority === "raised" && <span className="small quiet">{MODEL.raised}</span>}
        <span className="model-tokens small">{MODEL.tokens(numberText(tokens))}</span>
      </p>
      <div className="model-bar" style={bar} />
      {losses.map((each, index) => (
        <p key={index} className="model-loss small">
          <strong>{MODEL.became(each.from, each.to)}</strong> {visibleText(each.reason)}{" "}
          <span className="quiet">{MODEL.wayBack}</span> <code>{visibleText(each.restore)}</code>
        </p>
      ))}
      {seq != null && role === "tool" && (
        <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary className="small">{MODEL.show}</summary>
          {isOpen && <EntryRendering {...{ sessionId, seq, target }} />}
        </details>
      )}
    </article>
  );
}

function bySeq(loss: readonly LossEntry[]): ReadonlyMap<number, readonly LossEntry[]> {
  const found = new Map<number, LossEntry[]>();
  for (const each of loss) {
    const seq = each.seq ?? 0;
    found.set(seq, [...(found.get(seq) ?? []), each]);
  }
  return found;
}

/** An entry may be several turns; what it lost stands beside the one that is about it. */
function isFirstOf(entries: readonly WorkingSetEntry[], index: number): boolean {
  const { seq } = entries[index] ?? {};
  const ofEntry = entries.filter((each) => each.seq === seq);
  const tool = ofEntry.find(({ role }) => role === "tool") ?? ofEntry[0];
  return entries[index] === tool;
}
