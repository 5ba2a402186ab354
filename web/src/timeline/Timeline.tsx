/** The timeline of a session that has entries: its rows, where one is in it, and how to find something. */
import type { OutlinedSession } from "@pagefault/react";
import { useMemo, useState } from "react";
import { useLocation, useNavigate, useSearchParams } from "react-router";

import { useIsStored } from "../file/openedFile";
import { useKeys } from "../keys/useKeys";
import { Empty } from "../shared/states";
import { KEYS } from "../words/keys";
import { TIMELINE } from "../words/timeline";
import { FindBar } from "./finding/FindBar";
import {
  type Filter,
  entriesIn,
  filterIn,
  filterRows,
  isEmptyFilter,
  withFilter,
} from "./finding/filter";
import { FEWEST_MAPPED, Minimap } from "./Minimap";
import { Filmstrip } from "./Filmstrip";
import { Inspector, useIsWide } from "./Inspector";
import { FEWEST_IN_STRIP, Strip } from "./Strip";
import type { KeptPlace } from "./placeKept";
import type { Row } from "./rows";
import { TimelineList, estimatedHeight, heightOfLines } from "./TimelineList";
import { useDensity, useOpenedRows } from "./density";
import { SessionContext, modelPath } from "./sessionContext";
import { indexAt, toolsBySeq } from "./spans";
import { DepthContext, depthsOf } from "./subAgents";
import { ToolColoursContext, toolColoursOf } from "./toolColours";
import { useGoTo } from "./useGoTo";
import { useRowList } from "./useRowList";
import "./panes.css";

interface TimelineProps {
  readonly sessionId: string;
  readonly session: OutlinedSession;
  readonly rows: readonly Row[];
  readonly place: KeptPlace;
  /** Those that a model no longer has in full. */
  readonly evicted: ReadonlySet<number>;
}

const CARD_GAP_PX = 12;

export function Timeline({ sessionId, session, rows: all, place, evicted }: TimelineProps) {
  const { entries: outline, lower, outline: source, bodies } = session;
  const navigate = useNavigate();
  const isStored = useIsStored();
  const [search] = useSearchParams();
  const { hash } = useLocation();
  const filter = useMemo(() => filterIn(search), [search]);
  const rows = useMemo(() => filterRows(all, filter), [all, filter]);
  // All that counts and jumps stays in what is shown.
  const shown = useMemo(
    () => (isEmptyFilter(filter) ? outline : entriesIn(rows)),
    [filter, outline, rows],
  );
  const colours = useMemo(() => toolColoursOf(all), [all]);
  const tools = useMemo(() => toolsBySeq(all), [all]);
  const depths = useMemo(() => depthsOf(all), [all]);
  const [density, setDensity] = useDensity(outline.length);
  const isLines = density === "lines";
  const navigateTo = useGoTo();
  const list = useRowList({
    rows,
    entries: shown,
    filter: JSON.stringify(filter),
    lower,
    place,
    estimate: isLines ? heightOfLines : estimatedHeight,
    gapPx: isLines ? 0 : CARD_GAP_PX,
  });
  const isWide = useIsWide();
  const opened = useOpenedRows(list, isWide ? navigateTo : undefined);
  const [isFilmShown, setFilmShown] = useState(false);
  const current = list.seen ?? shown.at(-1)?.seq ?? 0;

  function setLines(wanted: boolean) {
    setDensity(wanted ? "lines" : "cards");
    // What is read stays where it is.
    if (!list.isAtEnd()) list.goTo(current);
  }

  useKeys([
    { key: "f", said: KEYS.filmstrip, run: () => setFilmShown(!isFilmShown) },
    { key: "c", said: KEYS.density, run: () => setLines(!isLines) },
    ...(isStored
      ? [
          {
            key: "m",
            said: KEYS.model,
            run: () => void navigate({ pathname: modelPath(sessionId), hash: `#entry-${current}` }),
          },
        ]
      : []),
  ]);

  const chosen = isWide ? outline[indexAt(outline, place.named ?? current)] : undefined;

  function setFilter(changed: Filter) {
    // The entry that the address names stays in it. At once, or what was ticked is seen unticked.
    const address = { search: `${withFilter(search, changed)}`, hash };
    void navigate(address, { replace: true, flushSync: true });
  }

  return (
    <SessionContext value={sessionId}>
      <ToolColoursContext value={colours}>
        {outline.length >= FEWEST_IN_STRIP && (
          <Strip
            {...{ rows, all, current, colours, evicted, filter, setFilter }}
            entries={shown}
            newest={outline.at(-1)?.seq ?? current}
            goTo={list.goTo}
            {...{ isLines, setLines, isFilmShown, setFilmShown }}
          />
        )}
        {isFilmShown && <Filmstrip {...{ sessionId, current }} entries={shown} goTo={navigateTo} />}
        <FindBar
          {...{ sessionId, outline, shown, lower, all, rows, current, filter, list, setFilter }}
        />
        <div className={chosen === undefined ? "timeline-body" : "timeline-body three-panes"}>
          {rows.length === 0 && !isEmptyFilter(filter) ? (
            <Empty title={TIMELINE.nothingFits}>
              <button
                type="button"
                className="button"
                onClick={() => setFilter({})}
              >
                {TIMELINE.showAll}
              </button>
            </Empty>
          ) : (
            <DepthContext value={depths}>
              <TimelineList
                {...{ list, rows, outline, bodies, lower, isLines, opened }}
                named={place.named}
                failure={session.failure}
                onRetry={source.catchUp}
              />
            </DepthContext>
          )}
          {outline.length >= FEWEST_MAPPED && (
            <Minimap {...{ current, colours, tools }} entries={shown} goTo={list.goTo} />
          )}
          {chosen !== undefined && <Inspector {...{ sessionId, rows, bodies }} entry={chosen} />}
        </div>
      </ToolColoursContext>
    </SessionContext>
  );
}
