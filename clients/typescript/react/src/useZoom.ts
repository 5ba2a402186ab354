/**
 * How an image is enlarged and moved in its field: by steps, by the wheel, by dragging, by two
 * fingers. The image never leaves the middle of its field.
 */
import { type PointerEvent, type RefObject, useCallback, useRef, useState } from "react";

export interface ZoomView {
  /** The scale, with 1 for an image that fits, and the offset in pixels. */
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

const FITTED: ZoomView = { scale: 1, x: 0, y: 0 };
const MIDDLE: Point = { x: 0, y: 0 };
const MOST = 40;
/** An image this many times as high as wide is read from its top, at the width of its field. */
export const TALL = 2.5;
const WHEEL_STEP = 1.25;

export function useZoom(image: RefObject<HTMLImageElement | null>) {
  const [view, setView] = useState(FITTED);
  const down = useRef(new Map<number, Point>());
  const isFitted = useRef(true);

  const change = useCallback(
    (changed: (view: ZoomView) => ZoomView) => {
      isFitted.current = false;
      setView((now) => kept(changed(now), image.current));
    },
    [image],
  );

  /** Show all of the image; of one that is tall, its upper end at the width of the field. */
  const fit = useCallback(() => {
    const shown = image.current;
    isFitted.current = true;
    setView(shown !== null && isTall(shown) ? fromTop(shown, widthScale(shown)) : FITTED);
  }, [image]);

  /** Show it in its own pixels, from its upper left corner. */
  function toWhole() {
    const shown = image.current;
    if (shown === null || shown.offsetWidth === 0) return;
    change(() => fromTop(shown, Math.max(1, shown.naturalWidth / shown.offsetWidth)));
  }

  /** Enlarge by a factor; a point of the field, measured from its middle, stays where it is. */
  const scaled = useCallback(
    (by: number, around: Point = MIDDLE) => change((now) => scaledView(now, by, around)),
    [change],
  );

  const moved = (x: number, y: number) => change((now) => ({ ...now, x: now.x + x, y: now.y + y }));

  // React's wheel listeners are passive, so they cannot prevent the browser from scrolling the page, or
  // from zooming it on a pinch gesture, which is reported as a wheel event.
  const field = useCallback(
    (element: HTMLDivElement | null) => {
      if (element === null) return;
      new ResizeObserver(() => isFitted.current && fit()).observe(element);
      element.addEventListener(
        "wheel",
        (event) => {
          event.preventDefault();
          const shown = image.current;
          if (shown !== null && isTall(shown) && !event.ctrlKey) {
            change((now) => ({ ...now, x: now.x - event.deltaX, y: now.y - event.deltaY }));
            return;
          }
          scaled(event.deltaY < 0 ? WHEEL_STEP : 1 / WHEEL_STEP, pointIn(element, event));
        },
        { passive: false },
      );
    },
    [scaled, change, fit, image],
  );

  function onPointerDown(event: PointerEvent<HTMLDivElement>) {
    if (event.button !== 0) return;
    // What goes on outside of the field belongs to it until it is let go.
    event.currentTarget.setPointerCapture(event.pointerId);
    down.current.set(event.pointerId, pointIn(event.currentTarget, event));
  }

  function onPointerMove(event: PointerEvent<HTMLDivElement>) {
    const before = down.current.get(event.pointerId);
    if (before === undefined) return;
    const now = pointIn(event.currentTarget, event);
    down.current.set(event.pointerId, now);
    const others = [...down.current].filter(([id]) => id !== event.pointerId);
    const other = others[0]?.[1];
    if (other === undefined) moved(now.x - before.x, now.y - before.y);
    else pinch(before, now, other);
  }

  /** One finger has moved, the other has not: the middle between them moves half as far. */
  function pinch(before: Point, now: Point, other: Point) {
    const by = distance(now, other) / Math.max(1, distance(before, other));
    const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
    const [x, y] = [(now.x - before.x) / 2, (now.y - before.y) / 2];
    change((view) => scaledView({ ...view, x: view.x + x, y: view.y + y }, by, middle));
  }

  function letGo(event: PointerEvent) {
    down.current.delete(event.pointerId);
  }

  const pointers = { onPointerDown, onPointerMove, onPointerUp: letGo, onPointerCancel: letGo };
  return { view, scaled, moved, fit, toWhole, field, pointers };
}

function isTall({ naturalWidth, naturalHeight }: HTMLImageElement): boolean {
  return naturalHeight > TALL * naturalWidth;
}

/** The scale at which an image is as wide as its field, and no larger than it is. */
function widthScale(image: HTMLImageElement): number {
  const field = image.parentElement?.clientWidth ?? 0;
  // `offsetWidth` is rounded, and the width of a tall image is few pixels.
  const width = Number.parseFloat(getComputedStyle(image).width) || 1;
  return Math.max(1, Math.min(field, image.naturalWidth) / width);
}

/** A view that begins at the upper left corner of the image, where it is larger than its field. */
function fromTop(image: HTMLImageElement, scale: number): ZoomView {
  const { clientWidth = 0, clientHeight = 0 } = image.parentElement ?? {};
  const x = Math.max(0, (scale * image.offsetWidth - clientWidth) / 2);
  const y = Math.max(0, (scale * image.offsetHeight - clientHeight) / 2);
  return { scale, x, y };
}

function scaledView({ scale, x, y }: ZoomView, by: number, around: Point): ZoomView {
  const next = Math.min(MOST, Math.max(1, scale * by));
  const grown = next / scale;
  return {
    scale: next,
    x: around.x - (around.x - x) * grown,
    y: around.y - (around.y - y) * grown,
  };
}

/** A view in which the image covers the middle of the field; one that fits is not moved. */
function kept({ scale, x, y }: ZoomView, image: HTMLImageElement | null): ZoomView {
  if (scale === 1) return FITTED;
  const within = (value: number, size: number) =>
    Math.min((scale * size) / 2, Math.max((-scale * size) / 2, value));
  return {
    scale,
    x: within(x, image?.offsetWidth ?? 0),
    y: within(y, image?.offsetHeight ?? 0),
  };
}

function pointIn(field: Element, { clientX, clientY }: { clientX: number; clientY: number }): Point {
  const { left, top, width, height } = field.getBoundingClientRect();
  return { x: clientX - left - width / 2, y: clientY - top - height / 2 };
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
