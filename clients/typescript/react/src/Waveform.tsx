/** How loud a recording is over its time, drawn from its own bytes; a click plays from there. */
import { useEffect, useRef, useState } from "react";

import { usePagefault } from "./context.ts";
import { watchColours } from "./watchColours.ts";
import { WORDS } from "./words.ts";

interface WaveformProps {
  readonly id: string;
  /** From 0 to 1. */
  readonly progress: number;
  readonly onSeek: (progress: number) => void;
}

/** A larger recording is not decoded only to be drawn. */
export const MOST_DRAWN_BYTES = 12_000_000;
export const MOST_DRAWN_SECONDS = 30 * 60;
const BARS = 160;
const RATE = 8_000;
const HEIGHT = 48;

export function Waveform({ id, progress, onSeek }: WaveformProps) {
  const client = usePagefault();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [peaks, setPeaks] = useState<readonly number[]>();

  useEffect(() => {
    const life = new AbortController();
    const path = `/api/resources/${id}/content`;
    client
      .request(path, { signal: life.signal })
      .then(async (answer) => peaksOf(await answer.arrayBuffer()))
      .then((found) => life.signal.aborted || setPeaks(found))
      // What cannot be decoded has no waveform; the player says what is wrong with it.
      .catch(() => undefined);
    return () => life.abort();
  }, [client, id]);

  useEffect(() => {
    const drawn = canvas.current;
    if (drawn === null || peaks === undefined) return undefined;
    const again = () => draw(drawn, peaks, progress);
    again();
    return watchColours(again);
  }, [peaks, progress]);

  if (peaks === undefined) return null;
  return (
    <canvas
      ref={canvas}
      className="pf-waveform"
      width={BARS * 3}
      height={HEIGHT}
      role="img"
      aria-label={WORDS.waveform}
      onClick={(event) => {
        const { left, width } = event.currentTarget.getBoundingClientRect();
        onSeek((event.clientX - left) / width);
      }}
    />
  );
}

async function peaksOf(bytes: ArrayBuffer): Promise<readonly number[]> {
  const decoder = new OfflineAudioContext(1, RATE, RATE);
  const samples = (await decoder.decodeAudioData(bytes)).getChannelData(0);
  const width = Math.max(1, Math.floor(samples.length / BARS));
  const peaks = Array.from({ length: BARS }, (_, bar) => {
    let peak = 0;
    for (let at = bar * width; at < (bar + 1) * width; at += 1) {
      peak = Math.max(peak, Math.abs(samples[at] ?? 0));
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
