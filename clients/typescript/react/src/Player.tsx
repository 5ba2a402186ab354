/** A recording: the browser's own player, which seeks by asking for ranges. */
import { useRef } from "react";

import { visibleText } from "./visibleText.ts";
import { alternative, factsText, reserved, type MediumFacts } from "./facts.ts";
import { DownloadLink } from "./DownloadLink.tsx";
import { useSteadyUrl } from "./useSteadyUrl.ts";

interface PlayerProps {
  readonly kind: "audio" | "video";
  readonly url: string | undefined;
  readonly facts: MediumFacts;
  readonly reference: string;
  readonly caption?: string | null | undefined;
  readonly renew: () => Promise<string | undefined>;
}

const TALLEST_REM = 24;
const USUAL_SHAPE: [number, number] = [16, 9];

export function Player({ kind, url, facts, reference, caption, renew }: PlayerProps) {
  const player = useRef<HTMLMediaElement | null>(null);
  const left = useRef({ at: 0, wasPlaying: false });
  const steady = useSteadyUrl(url, renew);
  const attributes = {
    ref: (element: HTMLMediaElement | null) => {
      player.current = element;
    },
    src: steady.url,
    controls: true,
    preload: "metadata",
    "aria-label": alternative(kind === "audio" ? "Audio" : "Video", facts, caption),
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
  }

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
        <p className="medium-broken">This browser cannot play it.</p>
      ) : kind === "audio" ? (
        <audio {...attributes} />
      ) : (
        <video {...attributes} playsInline style={reserved(facts, TALLEST_REM, USUAL_SHAPE)} />
      )}
      <figcaption className="medium-facts">
        {caption && <span className="medium-caption">{visibleText(caption)}</span>}
        <span>{factsText(facts)}</span>
        <DownloadLink reference={reference} name={facts.filename} />
      </figcaption>
    </figure>
  );
}
