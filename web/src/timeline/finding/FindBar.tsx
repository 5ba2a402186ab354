/** Search, filters and jumps in a session. */
import type { OutlineEntry } from "@pagefault/client";
import { numberText, visibleName } from "@pagefault/react";
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";

import { useKeys } from "../../keys/useKeys";
import { useSkipTarget } from "../../shell/skipTargets";
import { FINDING } from "../../words/finding";
import { KEYS } from "../../words/keys";
import { SHELL } from "../../words/shell";
import { type Row, entriesOf } from "../rows";
import type { RowList } from "../useRowList";
import { type GoToOptions, useGoTo } from "../useGoTo";
import { GoToField, placeIn } from "./GoToField";
import { SessionSearch } from "./SessionSearch";
import { useMarkedWords } from "./useMarkedWords";
import { useSessionFind } from "./useSessionFind";
import { type Filter, KINDS, type Kind, isEmptyFilter, nextWith, toolsIn } from "./filter";
import "./finding.css";

interface FindBarProps {
  readonly sessionId: string;
  /** All entries, and those that fit the filter. */
  readonly outline: readonly OutlineEntry[];
  readonly shown: readonly OutlineEntry[];
  /** All entries above this number are there. */
  readonly lower: number;
  /** All rows, and those that fit the filter. */
  readonly all: readonly Row[];
  readonly rows: readonly Row[];
  /** The number of the entry that is read. */
  readonly current: number;
  readonly filter: Filter;
  readonly setFilter: (filter: Filter) => void;
  readonly list: RowList;
}

// The same width as in finding.css.
const NARROW = window.matchMedia("(max-width: 48rem)");

const hasFailed = (entry: OutlineEntry) => entry.failed;
const isOfUser = (entry: OutlineEntry) => entry.role === "user";
const hasImage = (entry: OutlineEntry) => entry.images > 0;

export function FindBar(props: FindBarProps) {
  const { sessionId, outline, shown, all, rows, current, filter, setFilter, list } = props;
  const navigate = useGoTo();
  useSkipTarget("filters", SHELL.skipTo.filters);
  const searchField = useRef<HTMLInputElement>(null);
  const goToField = useRef<HTMLInputElement>(null);
  const folded = useRef<HTMLDetailsElement>(null);
  const isNarrow = useSyncExternalStore(watchWidth, () => NARROW.matches);
  const find = useSessionFind(sessionId);
  useMarkedWords(list.scroller, find.asked);
  const [said, setSaid] = useState("");
  const [note, setNote] = useState<string>();
  const where = { entries: shown, newest: outline.at(-1)?.seq ?? 0, lower: props.lower, current };
  const tools = useMemo(() => toolsIn(all), [all]);
  const errors = useMemo(() => countsOf(shown, outline, hasFailed), [shown, outline]);
  const images = useMemo(() => countsOf(shown, outline, hasImage), [shown, outline]);

  /** Go there with the keyboard, which acts on that entry then. */
  function goTo(seq: number, how?: GoToOptions) {
    navigate(seq, how);
    list.focus.giveTo(seq);
  }

  function next(step: 1 | -1, has: (entry: OutlineEntry) => boolean) {
    return nextWith(shown, list.focus.seen() ?? current, step, has);
  }

  function pressed(seq: number | undefined) {
    if (seq !== undefined) goTo(seq, { replace: true });
  }

  // Who presses a button means to press it again.
  function clicked(seq: number | undefined) {
    if (seq !== undefined) navigate(seq, { replace: true });
  }

  function move(step: 1 | -1) {
    const focused = list.focus.seen();
    const steps = rows.filter((row) => row.kind !== "day");
    // The last card is read, and nothing is chosen: it is the first that is.
    if (focused === undefined && list.isAtEnd()) return pressed(steps.at(-1)?.seq);
    // By rows: an answer may have a number far behind those of the rows that follow.
    const from = focused ?? current;
    const at = steps.findIndex((row) => entriesOf(row).some(({ seq }) => seq === from));
    return pressed((at === -1 ? steps.find(({ seq }) => seq > from) : steps[at + step])?.seq);
  }

  /** Go to an end of the list, which has the focus then: the entry that had it may not be drawn there. */
  function leap(go: () => void) {
    go();
    list.scroller.current?.focus({ preventScroll: true });
  }

  /** Go to the next hit; behind the last one, the first is next. */
  function moveToHit(step: 1 | -1) {
    const from = list.focus.seen() ?? current;
    const seqs = find.hits.flatMap(({ seq }) => seq ?? []);
    const ordered = step === 1 ? seqs : seqs.toReversed();
    const seq = ordered.find((each) => (each - from) * step > 0) ?? ordered[0];
    if (seq !== undefined) goTo(seq, { replace: true, unfiltered: !isShown(seq) });
  }

  function isShown(seq: number): boolean {
    return isEmptyFilter(filter) || shown.some((entry) => entry.seq === seq);
  }

  async function copyAddress() {
    const address = new URL(window.location.href);
    address.hash = `#${list.focus.seen() ?? current}`;
    await navigator.clipboard.writeText(`${address}`);
    setSaid(FINDING.copiedAddress(address.hash));
  }

  function focusGoTo() {
    if (folded.current !== null) folded.current.open = true;
    goToField.current?.focus();
  }

  useKeys([
    { key: "j", said: KEYS.next, run: () => move(1) },
    { key: "k", said: KEYS.previous, run: () => move(-1) },
    { key: "/", said: KEYS.search, run: () => searchField.current?.focus() },
    { key: "g", said: KEYS.goTo, run: focusGoTo },
    { key: "e", said: KEYS.nextError, run: () => pressed(next(1, hasFailed)) },
    { key: "E", said: KEYS.previousError, run: () => pressed(next(-1, hasFailed)) },
    { key: "i", said: KEYS.nextImage, run: () => pressed(next(1, hasImage)) },
    { key: "I", said: KEYS.previousImage, run: () => pressed(next(-1, hasImage)) },
    { key: "u", said: KEYS.nextUser, run: () => pressed(next(1, isOfUser)) },
    { key: "U", said: KEYS.previousUser, run: () => pressed(next(-1, isOfUser)) },
    { key: "n", said: KEYS.nextHit, run: () => moveToHit(1) },
    { key: "N", said: KEYS.previousHit, run: () => moveToHit(-1) },
    { key: "y", said: KEYS.copyAddress, run: () => void copyAddress() },
    { key: "Home", said: KEYS.start, run: () => leap(list.goToStart), isNamed: true },
    { key: "End", said: KEYS.end, run: () => leap(list.goToEnd), isNamed: true },
    { key: "Enter", said: KEYS.open, run: () => list.focus.open(current), isNamed: true },
  ]);

  const jumps = (
    <>
        {errors.shown > 0 && (
          <Steps
            name={FINDING.errors(errors.shown, errors.all)}
            before={FINDING.previousError}
            after={FINDING.nextError}
            onStep={(step) => clicked(next(step, hasFailed))}
          />
        )}
        {images.shown > 0 && (
          <Steps
            name={FINDING.images(images.shown, images.all)}
            before={FINDING.previousImage}
            after={FINDING.nextImage}
            onStep={(step) => clicked(next(step, hasImage))}
          />
        )}
    </>
  );
  const controls = (
    <>
      <GoToField
        {...where}
        field={goToField}
        goTo={goTo}
        say={setNote}
      />
      <div className="find-jumps">
        <button type="button" className="button" onClick={list.goToStart}>
          {FINDING.start}
        </button>
        <button type="button" className="button" onClick={list.goToEnd}>
          {FINDING.end}
        </button>
        {isNarrow && jumps}
      </div>
      <div id="filters" className="find-filters" role="group" aria-label={FINDING.filters}>
        {tools.length > 0 && (
          <select
            aria-label={FINDING.tool}
            value={filter.tool ?? ""}
            onChange={({ target }) => setFilter({ ...filter, tool: target.value || undefined })}
          >
            <option value="">{FINDING.allTools}</option>
            {tools.map(([name, count]) => (
              <option key={name} value={name}>
                {`${visibleName(name)} (${numberText(count)})`}
              </option>
            ))}
          </select>
        )}
        <select
          aria-label={FINDING.kind}
          value={filter.kind ?? ""}
          onChange={({ target }) =>
            setFilter({ ...filter, kind: (target.value || undefined) as Kind | undefined })
          }
        >
          <option value="">{FINDING.allKinds}</option>
          {KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {FINDING.kinds[kind]}
            </option>
          ))}
        </select>
        <label className="row small">
          <input
            type="checkbox"
            checked={filter.failed === true}
            onChange={({ target }) => setFilter({ ...filter, failed: target.checked || undefined })}
          />
          {FINDING.failed}
        </label>
        {!isEmptyFilter(filter) && (
          <button type="button" className="button plain" onClick={() => setFilter({})}>
            {FINDING.clear}
          </button>
        )}
      </div>
    </>
  );

  // A click on what takes no focus, or into the search, leaves the filters too.
  useEffect(() => {
    const leave = ({ target }: Event) => {
      if (folded.current?.open === true && !folded.current.contains(target as Node)) fold();
    };
    for (const name of ["pointerdown", "focusin"]) document.addEventListener(name, leave);
    return () => {
      for (const name of ["pointerdown", "focusin"]) document.removeEventListener(name, leave);
    };
  }, []);

  function fold() {
    if (folded.current !== null) folded.current.open = false;
  }
  return (
    <div className="find-bar" role="search" aria-label={FINDING.toolbar}>
      <div className="find-field">
        <SessionSearch
          field={searchField}
          seqOf={(text) => placeIn(text, where)}
          {...{ find, isShown, goTo }}
        />
        {chosenOf(filter).map(([name, text]) => (
          <button
            key={name}
            type="button"
            className="chip-button small"
            aria-label={FINDING.remove(text)}
            title={text}
            onClick={() => setFilter({ ...filter, [name]: undefined })}
          >
            {text} <span aria-hidden="true">×</span>
          </button>
        ))}
        <details
          ref={folded}
          className="find-more"
          onKeyDown={({ key }) => key === "Escape" && fold()}
        >
          <summary>{FINDING.more}</summary>
          <div className="find-controls">{controls}</div>
        </details>
      </div>
      {!isNarrow && jumps}
      <span className="small quiet" role="status">
        {FINDING.shown(shown.length, outline.length)}
      </span>
      {note !== undefined && (
        <span role="alert" className="small find-note">
          {note}
        </span>
      )}
      <span className="unseen" role="status">
        {said}
      </span>
    </div>
  );
}

/** The filters that are set, each with the words that name it. */
function chosenOf({ tool, kind, failed }: Filter): readonly (readonly [keyof Filter, string])[] {
  return [
    ...(tool === undefined ? [] : [["tool", visibleName(tool)] as const]),
    ...(kind === undefined ? [] : [["kind", FINDING.kinds[kind]] as const]),
    ...(failed === undefined ? [] : [["failed", FINDING.failed] as const]),
  ];
}

/** How many entries have something, of those that are shown and of all. */
function countsOf(
  shown: readonly OutlineEntry[],
  all: readonly OutlineEntry[],
  has: (entry: OutlineEntry) => boolean,
) {
  return { shown: shown.filter(has).length, all: all.filter(has).length };
}

interface StepsProps {
  readonly name: string;
  readonly before: string;
  readonly after: string;
  readonly onStep: (step: 1 | -1) => void;
}

function Steps({ name, before, after, onStep }: StepsProps) {
  return (
    <span className="find-steps" role="group" aria-label={name}>
      <button type="button" className="button" aria-label={before} onClick={() => onStep(-1)}>
        <span aria-hidden="true">↑</span>
      </button>
      <span className="small">{name}</span>
      <button type="button" className="button" aria-label={after} onClick={() => onStep(1)}>
        <span aria-hidden="true">↓</span>
      </button>
    </span>
  );
}

function watchWidth(changed: () => void): () => void {
  NARROW.addEventListener("change", changed);
  return () => NARROW.removeEventListener("change", changed);
}
