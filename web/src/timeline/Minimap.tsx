/**
 * A session at a glance: for each stretch of entries a line, as long as their tokens are many, in the
 * colour of the tool; beside it blue where there are images, and red where a tool failed.
 */
import type { OutlineEntry } from "@pagefault/client";
import { useMemo } from "react";

import { TIMELINE } from "../words/timeline";
import { PlaceSlider, rectangles } from "./PlaceSlider";
import { indexAt } from "./spans";
import { type ToolColours, colourValue } from "./toolColours";

interface MinimapProps {
  /** Those that are shown. */
  readonly entries: readonly OutlineEntry[];
  /** The number of the entry that is read. */
  readonly current: number;
  readonly goTo: (seq: number) => void;
  readonly colours: ToolColours;
  /** The tool of each entry that answers a call. */
  readonly tools: ReadonlyMap<number, string>;
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

interface Line {
  readonly tokens: number;
  /** The colour of the longest entry; undefined where it is of no tool. */
  readonly colour: number | undefined;
  /** The shares of entries with an error, and with an image. */
  readonly failed: number;
  readonly images: number;
}

export function Minimap({ entries, current, goTo, colours, tools }: MinimapProps) {
  const drawn = useMemo(
    () => pathsOf(linesOf(entries, (seq) => colours.get(tools.get(seq) ?? ""))),
    [entries, colours, tools],
  );
  if (entries.length === 0) return null;
  const last = entries.length - 1;
  const at = indexAt(entries, current);
  return (
    <PlaceSlider
      className="minimap"
      isUpright
      label={TIMELINE.map}
      title={TIMELINE.mapTitle}
      indexAt={(share) => Math.round(share * last)}
      {...{ entries, at, goTo }}
    >
      <svg viewBox={`0 0 ${WIDTH} ${LINES}`} preserveAspectRatio="none" aria-hidden="true">
        {[...drawn.bars].map(([colour, path]) => (
          <path
            key={colour ?? "none"}
            data-colour={colour}
            d={path}
            fill={colour === undefined ? "var(--line-strong)" : colourValue(colour)}
          />
        ))}
        <path className="mark-image" d={drawn.images} />
        <path className="mark-failed" d={drawn.failed} />
      </svg>
      <span className="minimap-place" style={{ insetBlockStart: `${(100 * at) / Math.max(1, last)}%` }} />
    </PlaceSlider>
  );
}

function linesOf(
  all: readonly OutlineEntry[],
  colourOf: (seq: number) => number | undefined,
): readonly Line[] {
  const count = Math.min(LINES, all.length);
  return Array.from({ length: count }, (_, line) => {
    const start = Math.floor((line * all.length) / count);
    const entries = all.slice(start, Math.floor(((line + 1) * all.length) / count));
    const longest = entries.reduce((one, other) => (other.tokensEst > one.tokensEst ? other : one));
    return {
      tokens: longest.tokensEst,
      colour: colourOf(longest.seq),
      failed: entries.filter(({ failed }) => failed).length / entries.length,
      images: entries.filter(({ images }) => images > 0).length / entries.length,
    };
  });
}

function pathsOf(lines: readonly Line[]) {
  const most = Math.log(2 + Math.max(...lines.map(({ tokens }) => tokens)));
  const height = LINES / lines.length;
  const tall = Math.max(1, height - (height > 2 ? 1 : 0));
  const placed = lines.map((line, index) => ({ ...line, top: index * height }));
  const bars = new Map<number | undefined, string>();
  for (const { tokens, colour, top } of placed) {
    const width = Math.max(3, (BARS * Math.log(2 + tokens)) / most);
    bars.set(colour, (bars.get(colour) ?? "") + rectangles([[0, top, width, tall]]));
  }
  const marks = (at: number, share: (line: Line) => number) =>
    rectangles(
      placed
        .filter((line) => share(line) > 0)
        .map((line) => [at, line.top, marked(share(line)), tall] as const),
    );
  return {
    bars,
    images: marks(IMAGES_AT, ({ images }) => images),
    failed: marks(FAILED_AT, ({ failed }) => failed),
  };
}

/** How wide a share is drawn; what is there at all is seen. */
function marked(share: number): number {
  return Math.max(3, MARKS * Math.min(1, 2 * share));
}
