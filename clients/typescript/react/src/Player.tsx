/** A recording: the browser's own player, which seeks by asking for ranges. */
import { resourceId } from "@pagefault/client";
import { useRef, useState } from "react";

import { visibleText } from "./visibleText.ts";
import { alternative, factsText, reserved, type MediumFacts } from "./facts.ts";
import type { Cue } from "./cues.ts";
import { DownloadLink } from "./DownloadLink.tsx";
import { clock } from "./measures.ts";
import { playedAs } from "./references.ts";
import { MOST_DRAWN_BYTES, MOST_DRAWN_SECONDS, Waveform } from "./Waveform.tsx";
import { WORDS } from "./words.ts";
import { usePoster } from "./usePoster.ts";
import { useSteadyUrl } from "./useSteadyUrl.ts";

interface PlayerProps {
  readonly kind: "audio" | "video";
  readonly url: string | undefined;
  readonly crossOrigin?: "anonymous" | undefined;
  readonly facts: MediumFacts;
  readonly reference: string;
  readonly caption?: string | null | undefined;
  readonly renew: () => Promise<string | undefined>;
  /** The cues of the recording, each a button that plays from it. */
  readonly cues?: readonly Cue[] | undefined;
}

const TALLEST_REM = 24;
const USUAL_SHAPE: [number, number] = [16, 9];

export function Player(props: PlayerProps) {
  const { kind, url, crossOrigin, facts, reference, caption, renew, cues = [] } = props;
  const [at, setAt] = useState(0);
  const player = useRef<HTMLMediaElement | null>(null);
  const left = useRef({ at: 0, wasPlaying: false });
  const steady = useSteadyUrl(url, renew);
  const attributes = {
    ref: (element: HTMLMediaElement | null) => {
      player.current = element;
    },
    crossOrigin,
    src: steady.url,
    controls: true,
    preload: "metadata",
    "aria-label": alternative(WORDS[kind], facts, caption),
    onError: () => void steady.retry(),
    onTimeUpdate: remember,
    onPlay: remember,
    onPause: remember,
    onLoadedMetadata: goOn,
  } as const;

  function remember() {
    const element = player.current;
    if (element === null || element.error !== null) return;
    left.current = { at: element.currentTime, wasPlaying: !element.paused };
    if (cues.length > 0 || kind === "audio") setAt(element.currentTime);
  }

  function seek(seconds: number) {
    const element = player.current;
    if (element === null || !Number.isFinite(seconds)) return;
    element.currentTime = seconds;
    setAt(seconds);
  }

  const id = resourceId(reference);
  const poster = usePoster(kind === "video" && url !== undefined ? id : null);
  const total = lengthOf(player.current) ?? facts.durationSeconds ?? 0;

  // A link that expired while it played is replaced; it goes on where it was.
  function goOn() {
    const element = player.current;
    if (element === null || left.current.at === 0 || element.currentTime > 0) return;
    const { at, wasPlaying } = left.current;
    element.currentTime = at;
    if (wasPlaying) void element.play().catch(() => undefined);
  }

  return (
    <figure className="player">
      {steady.hasFailed ? (
        <p className="medium-broken">{WORDS.brokenPlayer}</p>
      ) : kind === "audio" ? (
        <>
          <audio {...attributes} />
          {id !== null && url !== undefined && isDrawn(facts) && (
            <Waveform
              id={id}
              query={playedAs(facts.mimeType)}
              at={at}
              total={total}
              onSeek={seek}
            />
          )}
        </>
      ) : (
        <video {...attributes} poster={poster} playsInline style={reserved(facts, TALLEST_REM, USUAL_SHAPE)} />
      )}
      <figcaption className="medium-facts">
        {caption && <span className="medium-caption">{visibleText(caption)}</span>}
        <span>{factsText(facts)}</span>
        <DownloadLink reference={reference} name={facts.filename} />
      </figcaption>
      {cues.length > 0 && (
        <ol className="pf-cues" aria-label={WORDS.cues}>
          {cues.map(({ start, text }, index) => (
            <li key={index} aria-current={isPresent(cues, index, at) ? "time" : undefined}>
              {start === undefined ? (
                visibleText(text)
              ) : (
                <button type="button" className="button plain" onClick={() => seek(start)}>
                  <span className="pf-cue-time">{clock(start)}</span> {visibleText(text)}
                </button>
              )}
            </li>
          ))}
        </ol>
      )}
    </figure>
  );
}

/** Return the duration of a recording when its player has loaded it. */
function lengthOf(player: HTMLMediaElement | null): number | undefined {
  return player !== null && Number.isFinite(player.duration) ? player.duration : undefined;
}

/** Return whether a time is between the starts of a cue and of the next one. */
function isPresent(cues: readonly Cue[], index: number, at: number): boolean {
  const start = cues[index]?.start;
  if (start === undefined || at < start || at === 0) return false;
  const next = cues.slice(index + 1).find((cue) => cue.start !== undefined && cue.start > start);
  return next?.start === undefined || at < next.start;
}

/** Whether a recording is decoded only to be drawn: hours of speech are few bytes and much memory. */
function isDrawn({ size, durationSeconds }: MediumFacts): boolean {
  return (size ?? Infinity) <= MOST_DRAWN_BYTES && (durationSeconds ?? 0) <= MOST_DRAWN_SECONDS;
}
