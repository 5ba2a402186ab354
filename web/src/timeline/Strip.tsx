/**
 * What happened when: each call a bar from its message to its answer, in the colour of its tool, those
 * at the same time one below the other; below them errors, images, and what a model no longer gets.
 */
import type { OutlineEntry } from "@pagefault/client";
import { counted, numberText, visibleName } from "@pagefault/react";
import { type CSSProperties, useContext, useMemo, useState } from "react";
import { Link, useNavigate } from "react-router";

import { FILMSTRIP, LINE, STRIP } from "../words/timeline";
import { type Filter, toolsIn } from "./finding/filter";
import { PlaceSlider, rectangles } from "./PlaceSlider";
import type { Row } from "./rows";
import { SessionContext, modelPath, modelPathAt } from "./sessionContext";
import { type TimeLine, indexAt, indexAtShare, timeLineOf } from "./spans";
import { type ToolColours, colourValue } from "./toolColours";

interface StripProps {
  /** Those that are shown, and their rows. */
  readonly entries: readonly OutlineEntry[];
  readonly rows: readonly Row[];
  /** All rows. */
  readonly all: readonly Row[];
  readonly current: number;
  /** The highest number of the session. */
  readonly newest: number;
  readonly goTo: (seq: number) => void;
  readonly colours: ToolColours;
  /** Those that a model no longer has in full. */
  readonly evicted: ReadonlySet<number>;
  readonly filter: Filter;
  readonly setFilter: (filter: Filter) => void;
  readonly isLines: boolean;
  readonly setLines: (wanted: boolean) => void;
  readonly isFilmShown: boolean;
  readonly setFilmShown: (isShown: boolean) => void;
}

/** A shorter session is seen at a glance anyway. */
export const FEWEST_IN_STRIP = 4;
const WIDTH = 1_000;
const LANE_PX = 6;
const MARK_PX = 4;
const NARROWEST = 2;
const MOST_CHIPS = 8;

export function Strip(props: StripProps) {
  const { entries, rows, current, goTo, colours, evicted } = props;
  const sessionId = useContext(SessionContext);
  const line = useMemo(() => timeLineOf(entries, rows), [entries, rows]);
  const drawn = useMemo(() => pathsOf(line, entries, colours, evicted), [
    line,
    entries,
    colours,
    evicted,
  ]);
  const images = useMemo(() => entries.reduce((sum, each) => sum + each.images, 0), [entries]);
  if (entries.length === 0) return null;
  const at = indexAt(entries, current);
  return (
    <div className="strip">
      <PlaceSlider
        className="strip-picture"
        label={STRIP.name}
        title={STRIP.title}
        indexAt={(share) => indexAtShare(line, share)}
        {...{ entries, at, goTo }}
      >
        <svg
          viewBox={`0 0 ${WIDTH} ${drawn.height}`}
          height={drawn.height}
          preserveAspectRatio="none"
          aria-hidden="true"
        >
          <path className="mark-said" d={drawn.said} />
          {[...drawn.bars].map(([colour, path]) => (
            <path key={colour} data-colour={colour} d={path} fill={colourValue(colour)} />
          ))}
          <path className="mark-image" d={drawn.images} />
          <path className="mark-failed" d={drawn.failed} />
          <path className="mark-evicted" d={drawn.evicted} />
        </svg>
        <span
          className="strip-place"
          style={{ insetInlineStart: `${100 * (line.places[at] ?? 0)}%` }}
        />
      </PlaceSlider>
      <div className="strip-foot small">
        <Chips {...props} />
        {images > 0 && (
          <button
            type="button"
            className="chip images-chip"
            aria-expanded={props.isFilmShown}
            onClick={() => props.setFilmShown(!props.isFilmShown)}
          >
            {FILMSTRIP.show(images)}
          </button>
        )}
        {evicted.size > 0 && (
          <>
            <Link
              className="chip evicted-chip"
              title={STRIP.evictedHint}
              to={{ pathname: modelPath(sessionId), search: "?evicted=1" }}
            >
              {STRIP.evicted(evicted.size)}
            </Link>
            <UnseenAt {...{ sessionId, current }} newest={props.newest} />
          </>
        )}
        <button
          type="button"
          className="button plain small"
          onClick={() => props.setLines(!props.isLines)}
        >
          {props.isLines ? LINE.cards : LINE.lines}
        </button>
      </div>
    </div>
  );
}

interface UnseenAtProps {
  readonly sessionId: string;
  readonly current: number;
  readonly newest: number;
}

/** Leads to what a model no longer saw at an entry: at the one that is read, if no other is named. */
function UnseenAt({ sessionId, current, newest }: UnseenAtProps) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  return (
    <form
      className="unseen-at"
      onSubmit={(event) => {
        event.preventDefault();
        void navigate(modelPathAt(sessionId, typed === "" ? current : Number(typed)));
      }}
    >
      <label>
        {STRIP.unseenAt}
        <input
          type="number"
          min={1}
          max={newest}
          placeholder={STRIP.here}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
      </label>
      <button type="submit" className="button">
        {STRIP.showUnseen}
      </button>
    </form>
  );
}

/** The tools with their colours; a click shows the calls of one alone. */
function Chips({ all, colours, filter, setFilter }: StripProps) {
  const tools = useMemo(() => toolsIn(all), [all]);
  const shown = tools.slice(0, MOST_CHIPS);
  if (shown.length === 0) return null;
  return (
    <ul className="strip-chips" aria-label={STRIP.tools}>
      {shown.map(([name, count]) => (
        <li key={name}>
          <button
            type="button"
            className="chip"
            style={{ "--tool": colourValue(colours.get(name) ?? 0) } as CSSProperties}
            aria-pressed={filter.tool === name}
            onClick={() => setFilter({ ...filter, tool: filter.tool === name ? undefined : name })}
          >
            {visibleName(name)} <span className="quiet">{numberText(count)}</span>
          </button>
        </li>
      ))}
      {tools.length > MOST_CHIPS && (
        <li className="quiet">{counted(tools.length - MOST_CHIPS, STRIP.otherTool)}</li>
      )}
    </ul>
  );
}

function pathsOf(
  line: TimeLine,
  entries: readonly OutlineEntry[],
  colours: ToolColours,
  evicted: ReadonlySet<number>,
) {
  const lanes = LANE_PX * Math.max(1, line.lanes);
  const rowsOfMarks = (evicted.size > 0 ? 3 : 2) * MARK_PX;
  const bars = new Map<number, string>();
  for (const { tool, start, end, lane } of line.spans) {
    const colour = colours.get(tool) ?? 0;
    const wide = Math.max(NARROWEST, WIDTH * (end - start));
    const bar = rectangles([[WIDTH * start, LANE_PX * lane, wide, LANE_PX - 1]]);
    bars.set(colour, (bars.get(colour) ?? "") + bar);
  }
  const marks = (top: number, tall: number, has: (entry: OutlineEntry) => boolean) =>
    rectangles(
      entries.flatMap((entry, index) =>
        has(entry)
          ? [[WIDTH * (line.places[index] ?? 0) - NARROWEST, top, 2 * NARROWEST, tall] as const]
          : [],
      ),
    );
  return {
    height: lanes + rowsOfMarks,
    bars,
    said: marks(0, lanes + rowsOfMarks, ({ role }) => role === "user"),
    failed: marks(lanes, MARK_PX, ({ failed }) => failed),
    evicted: marks(lanes + 2 * MARK_PX, MARK_PX, ({ seq }) => evicted.has(seq)),
    images: marks(lanes + MARK_PX, MARK_PX, ({ images }) => images > 0),
  };
}
