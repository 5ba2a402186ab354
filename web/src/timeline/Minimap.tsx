/**
 * A session at a glance: for each stretch of entries a line, as long as their tokens are many, and
 * beside it blue where there are images, and red where a tool failed; and where one is in it.
 */
import type { OutlineEntry } from "@pagefault/client";
import { watchColours } from "@pagefault/react";
import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef } from "react";

import { TIMELINE } from "../words/timeline";

interface MinimapProps {
  /** Those that are shown. */
  readonly entries: readonly OutlineEntry[];
  /** The number of the entry that is read. */
  readonly current: number;
  readonly goTo: (seq: number) => void;
}

/** A shorter session is seen at a glance anyway. */
export const FEWEST_MAPPED = 30;
const WIDTH = 44;
/** Where its columns are: tokens, images, errors. */
const BARS = 20;
const IMAGES_AT = 23;
const FAILED_AT = 34;
const MARKS = 10;
const LINES = 400;
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 } as const;

interface Line {
  readonly tokens: number;
  /** The shares of entries with an error, and with an image. */
  readonly failed: number;
  readonly images: number;
}

export function Minimap({ entries, current, goTo }: MinimapProps) {
  const lines = useMemo(() => linesOf(entries), [entries]);
  const canvas = useRef<HTMLCanvasElement>(null);
  const at = useMemo(() => indexAt(entries, current), [entries, current]);

  useEffect(() => {
    const drawn = canvas.current;
    if (drawn === null) return undefined;
    const draw = () => drawLines(drawn, lines);
    draw();
    return watchColours(draw);
  }, [lines]);

  if (entries.length === 0) return null;
  const last = entries.length - 1;

  function goToIndex(index: number) {
    const entry = entries[Math.min(last, Math.max(0, Math.round(index)))];
    if (entry !== undefined) goTo(entry.seq);
  }

  function onPointer(event: PointerEvent<HTMLDivElement>) {
    if (event.buttons !== 1) return;
    const { top, height } = event.currentTarget.getBoundingClientRect();
    goToIndex(((event.clientY - top) / height) * last);
  }

  function onKeyDown(event: KeyboardEvent) {
    const step = STEPS[event.key as keyof typeof STEPS];
    const target =
      event.key === "Home" ? 0 : event.key === "End" ? last : step === undefined ? null : at + step;
    if (target === null) return;
    event.preventDefault();
    event.stopPropagation();
    goToIndex(target);
  }

  return (
    <div
      className="minimap"
      role="slider"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={TIMELINE.map}
      aria-valuemin={1}
      aria-valuemax={entries.length}
      aria-valuenow={at + 1}
      aria-valuetext={TIMELINE.mapPlace(current, entries.at(-1)?.seq ?? current)}
      title={TIMELINE.mapTitle}
      onPointerDown={onPointer}
      onPointerMove={onPointer}
      onKeyDown={onKeyDown}
    >
      <canvas ref={canvas} width={WIDTH} height={LINES} />
      <span className="minimap-place" style={{ insetBlockStart: `${(100 * at) / Math.max(1, last)}%` }} />
    </div>
  );
}

function linesOf(all: readonly OutlineEntry[]): readonly Line[] {
  const count = Math.min(LINES, all.length);
  return Array.from({ length: count }, (_, line) => {
    const start = Math.floor((line * all.length) / count);
    const entries = all.slice(start, Math.floor(((line + 1) * all.length) / count));
    return {
      tokens: Math.max(...entries.map(({ tokensEst }) => tokensEst)),
      failed: entries.filter(({ failed }) => failed).length / entries.length,
      images: entries.filter(({ images }) => images > 0).length / entries.length,
    };
  });
}

function drawLines(canvas: HTMLCanvasElement, lines: readonly Line[]): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  // The colours of the theme, as the browser has worked them out.
  const { color, borderTopColor, outlineColor } = getComputedStyle(canvas);
  const most = Math.log(2 + Math.max(...lines.map(({ tokens }) => tokens)));
  const height = LINES / lines.length;
  context.clearRect(0, 0, WIDTH, LINES);
  lines.forEach((line, index) => {
    const [top, tall] = [index * height, Math.max(1, height - (height > 2 ? 1 : 0))];
    const width = Math.max(3, (BARS * Math.log(2 + line.tokens)) / most);
    context.fillStyle = color;
    context.fillRect(0, top, width, tall);
    context.fillStyle = outlineColor;
    if (line.images > 0) context.fillRect(IMAGES_AT, top, marked(line.images), tall);
    context.fillStyle = borderTopColor;
    if (line.failed > 0) context.fillRect(FAILED_AT, top, marked(line.failed), tall);
  });
}

/** How wide a share is drawn; what is there at all is seen. */
function marked(share: number): number {
  return Math.max(3, MARKS * Math.min(1, 2 * share));
}

/** The index of the last entry that is not behind a number. */
function indexAt(entries: readonly OutlineEntry[], seq: number): number {
  let [low, high] = [0, entries.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((entries[middle]?.seq ?? 0) <= seq) low = middle;
    else high = middle - 1;
  }
  return low;
}
