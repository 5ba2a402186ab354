/** The waveform of a recording, decoded from its bytes, as a slider for seeking. */
import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from "react";

import { usePagefault } from "./context.ts";
import { clock } from "./measures.ts";
import { watchColours } from "./watchColours.ts";
import { WORDS } from "./words.ts";

interface WaveformProps {
  readonly id: string;
  /** The query that the service sends it with, if it has one. */
  readonly query: string;
  /** Where it is, and how long it is, in seconds. */
  readonly at: number;
  readonly total: number;
  readonly onSeek: (seconds: number) => void;
}

/** A larger recording is not decoded only to be drawn. */
export const MOST_DRAWN_BYTES = 12_000_000;
export const MOST_DRAWN_SECONDS = 30 * 60;
const BARS = 160;
const RATE = 8_000;
const HEIGHT = 48;
/** What keys seek by, in seconds; by pages, a tenth of it all. */
const STEP_SECONDS = 5;
const STEPS_OF_PAGES = 10;

export function Waveform({ id, query, at, total, onSeek }: WaveformProps) {
  const client = usePagefault();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [peaks, setPeaks] = useState<readonly number[]>();
  const progress = total > 0 ? at / total : 0;

  useEffect(() => {
    const life = new AbortController();
    const path = `/api/resources/${id}/content${query && `?${query}`}`;
    client
      .request(path, { signal: life.signal })
      .then(async (answer) => peaksOf(await answer.arrayBuffer()))
      .then((found) => life.signal.aborted || setPeaks(found))
      // Recordings that cannot be decoded have no waveform; the player reports the error.
      .catch(() => undefined);
    return () => life.abort();
  }, [client, id, query]);

  useEffect(() => {
    const drawn = canvas.current;
    if (drawn === null || peaks === undefined) return undefined;
    const again = () => draw(drawn, peaks, progress);
    again();
    return watchColours(again);
  }, [peaks, progress]);

  function seek(seconds: number) {
    onSeek(Math.min(total, Math.max(0, seconds)));
  }

  function onPointer(event: PointerEvent<HTMLCanvasElement>) {
    if (event.buttons !== 1) return;
    if (event.type === "pointerdown") event.currentTarget.setPointerCapture(event.pointerId);
    const { left, width } = event.currentTarget.getBoundingClientRect();
    seek(((event.clientX - left) / width) * total);
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    // A short recording has as many steps as any.
    const step = Math.min(STEP_SECONDS, total / STEPS_OF_PAGES);
    const places: Record<string, number> = {
      ArrowLeft: at - step,
      ArrowDown: at - step,
      ArrowRight: at + step,
      ArrowUp: at + step,
      PageDown: at - total / STEPS_OF_PAGES,
      PageUp: at + total / STEPS_OF_PAGES,
      Home: 0,
      End: total,
    };
    const place = places[event.key];
    if (place === undefined) return;
    event.preventDefault();
    seek(place);
  }

  if (peaks === undefined) return null;
  return (
    <canvas
      ref={canvas}
      className="pf-waveform"
      width={BARS * 3}
      height={HEIGHT}
      role="slider"
      tabIndex={0}
      aria-label={WORDS.waveform}
      aria-valuemin={0}
      aria-valuemax={Math.round(total)}
      aria-valuenow={Math.round(at)}
      aria-valuetext={WORDS.place(clock(at), clock(total))}
      onPointerDown={onPointer}
      onPointerMove={onPointer}
      onKeyDown={onKeyDown}
    />
  );
}

async function peaksOf(bytes: ArrayBuffer): Promise<readonly number[]> {
  const decoder = new OfflineAudioContext(1, RATE, RATE);
  const decoded = await decoder.decodeAudioData(bytes);
  // The loudest of all channels: what one has upside down, a sum would silence.
  const channels = Array.from({ length: decoded.numberOfChannels }, (_, channel) =>
    decoded.getChannelData(channel),
  );
  const width = Math.max(1, Math.floor(decoded.length / BARS));
  const peaks = Array.from({ length: BARS }, (_, bar) => {
    let peak = 0;
    for (let at = bar * width; at < (bar + 1) * width; at += 1) {
      for (const samples of channels) peak = Math.max(peak, Math.abs(samples[at] ?? 0));
    }
    return peak;
  });
  const most = Math.max(...peaks, 1e-6);
  return peaks.map((peak) => peak / most);
}

function draw(canvas: HTMLCanvasElement, peaks: readonly number[], progress: number): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  // The colours of the theme, as the browser has worked them out.
  const { color, outlineColor } = getComputedStyle(canvas);
  context.clearRect(0, 0, canvas.width, canvas.height);
  peaks.forEach((peak, bar) => {
    const tall = Math.max(2, peak * HEIGHT);
    context.fillStyle = bar / BARS < progress ? outlineColor : color;
    context.fillRect(bar * 3, (HEIGHT - tall) / 2, 2, tall);
  });
}
