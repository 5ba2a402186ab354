/** A picture of a session in which one sees where one is, and goes elsewhere by pointer or keys. */
import type { OutlineEntry } from "@pagefault/client";
import type { KeyboardEvent, PointerEvent, ReactNode } from "react";

import { TIMELINE } from "../words/timeline";

interface PlaceSliderProps {
  readonly className: string;
  readonly isUpright?: boolean;
  readonly label: string;
  readonly title: string;
  readonly entries: readonly OutlineEntry[];
  /** The index of the entry that is read. */
  readonly at: number;
  /** The index of the entry at a share of the picture. */
  readonly indexAt: (share: number) => number;
  readonly goTo: (seq: number) => void;
  readonly children: ReactNode;
}

const STEPS = {
  ArrowDown: 1,
  ArrowRight: 1,
  ArrowUp: -1,
  ArrowLeft: -1,
  PageDown: 20,
  PageUp: -20,
} as const;

export function PlaceSlider(props: PlaceSliderProps) {
  const { className, isUpright = false, label, title, entries, at, goTo, children } = props;
  const last = entries.length - 1;
  const current = entries[at]?.seq ?? 0;

  function goToIndex(index: number) {
    const entry = entries[Math.min(last, Math.max(0, index))];
    if (entry !== undefined) goTo(entry.seq);
  }

  function onPointer(event: PointerEvent<HTMLDivElement>) {
    if (event.buttons !== 1) return;
    const box = event.currentTarget.getBoundingClientRect();
    const share = isUpright
      ? (event.clientY - box.top) / box.height
      : (event.clientX - box.left) / box.width;
    goToIndex(props.indexAt(share));
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
      className={className}
      role="slider"
      tabIndex={0}
      aria-orientation={isUpright ? "vertical" : "horizontal"}
      aria-label={label}
      aria-valuemin={1}
      aria-valuemax={entries.length}
      aria-valuenow={at + 1}
      aria-valuetext={TIMELINE.mapPlace(current, entries.at(-1)?.seq ?? current)}
      title={title}
      onPointerDown={onPointer}
      onPointerMove={onPointer}
      onKeyDown={onKeyDown}
    >
      {children}
    </div>
  );
}

/** A path of rectangles: of each its left and upper edge, its width and height. */
export function rectangles(all: readonly (readonly [number, number, number, number])[]): string {
  return all
    .map(([x, y, wide, tall]) => `M${short(x)} ${short(y)}h${short(wide)}v${short(tall)}h${short(-wide)}z`)
    .join("");
}

function short(value: number): string {
  return `${Math.round(value * 100) / 100}`;
}
