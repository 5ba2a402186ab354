/** Two sessions side by side. */
import type { OutlineEntry } from "@pagefault/client";
import { Failure, fileSize, useOutline, visibleName } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link, useSearchParams } from "react-router";

import { pagefault } from "../api/client";
import { Empty, Loading } from "../shared/states";
import { numberText, spanText } from "../shared/formats";
import { usePageTitle } from "../shared/usePageTitle";
import { useSkipTarget } from "../shell/skipTargets";
import { COMPARE } from "../words/compare";
import { toolsIn } from "../timeline/finding/filter";
import { rowsOf } from "../timeline/rows";
import { SHELL } from "../words/shell";
import { TIMELINE } from "../words/timeline";
import { PairDifference } from "./PairDifference";
import { type Pair, pairsOf } from "./pairs";
import "../reading/reading.css";
import "./compare.css";

export function CompareView() {
  usePageTitle(COMPARE.title);
  const [search, setSearch] = useSearchParams();
  const [a, b] = [search.get("a") ?? "", search.get("b") ?? ""];
  return (
    <section className="view compare-view">
      <h1>{COMPARE.title}</h1>
      <div className="row">
        <ChooseSession name={COMPARE.first} value={a} onChange={(id) => setSearch({ a: id, b })} />
        <ChooseSession name={COMPARE.second} value={b} onChange={(id) => setSearch({ a, b: id })} />
      </div>
      {a === "" || b === "" ? (
        <Empty title={COMPARE.choose}>
          <p>{COMPARE.chooseHint}</p>
        </Empty>
      ) : a === b ? (
        <Empty title={COMPARE.sameSessions} />
      ) : (
        <Compared key={`${a} ${b}`} a={a} b={b} />
      )}
    </section>
  );
}

interface ChooseSessionProps {
  readonly name: string;
  readonly value: string;
  readonly onChange: (id: string) => void;
}

function ChooseSession({ name, value, onChange }: ChooseSessionProps) {
  const listed = useQuery({
    queryKey: ["sessions", "choice"],
    queryFn: ({ signal }) => pagefault().sessions.list({ limit: 200, signal }).slice(),
  });
  const sessions = listed.data?.items ?? [];
  const isListed = value === "" || sessions.some(({ id }) => id === value);
  return (
    <label className="compare-choice">
      <span className="small quiet">{name}</span>
      <select value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="">{COMPARE.chooseOne}</option>
        {!isListed && <option value={value}>{visibleName(value)}</option>}
        {sessions.map(({ id, title }) => (
          <option key={id} value={id}>
            {title === null ? visibleName(id) : `${visibleName(id)}: ${visibleName(title)}`}
          </option>
        ))}
      </select>
    </label>
  );
}

function Compared({ a, b }: { a: string; b: string }) {
  const [first, second] = [useOutline(a), useOutline(b)];
  const [isShort, setShort] = useState(false);
  const isReady = [first, second].every(({ status, lower }) => status === "ready" && lower === 0);
  const pairs = useMemo(
    () => (isReady ? pairsOf(first.entries, second.entries) : []),
    [isReady, first.entries, second.entries],
  );
  useSkipTarget("pairs", SHELL.skipTo.pairs, isReady);
  const absent = [first, second].findIndex(({ status }) => status === "absent");
  if (absent >= 0) return <Empty title={TIMELINE.absentTitle(visibleName([a, b][absent] ?? ""))} />;
  const failed = [first, second].find(({ failure }) => failure !== null);
  if (failed !== undefined) return <Failure failure={failed.failure} />;
  if (!isReady) return <Loading what={COMPARE.loading} />;
  const count = (state: Pair["state"]) => pairs.filter((pair) => pair.state === state).length;
  const shown = isShort ? pairs.filter(({ state }) => state !== "same") : pairs;
  return (
    <>
      <Facts a={a} b={b} first={first.entries} second={second.entries} />
      <div className="row">
        <p role="status">
          {COMPARE.summary(count("same"), count("differs"), count("first"), count("second"))}
        </p>
        <label className="row small">
          <input
            type="checkbox"
            checked={isShort}
            onChange={({ target }) => setShort(target.checked)}
          />
          {COMPARE.onlyDifferences}
        </label>
      </div>
      <ol id="pairs" className="pairs" aria-label={COMPARE.pairs}>
        {shown.slice(0, MOST_SHOWN).map((pair) => (
          <li key={pair.key} className={`pair ${pair.state}`} aria-label={SAID[pair.state]}>
            <Side session={a} entry={pair.first} />
            <Side session={b} entry={pair.second} />
            {pair.state === "differs" && pair.first !== null && pair.second !== null && (
              <PairDifference a={a} b={b} first={pair.first.seq} second={pair.second.seq} />
            )}
          </li>
        ))}
      </ol>
      {shown.length > MOST_SHOWN && (
        <p className="quiet">
          {COMPARE.cut(numberText(MOST_SHOWN), numberText(shown.length))}
        </p>
      )}
    </>
  );
}

// More pairs than this are not read by anybody; the summary counts all of them.
const MOST_SHOWN = 1_000;

/** What the colours say. */
const SAID: Record<Pair["state"], string> = {
  same: COMPARE.same,
  differs: COMPARE.differs,
  first: COMPARE.onlyFirst,
  second: COMPARE.onlySecond,
};

function Side({ session, entry }: { session: string; entry: OutlineEntry | null }) {
  if (entry === null) return <div className="side empty" />;
  const tools = entry.calls.map(({ name }) => visibleName(name)).join(", ");
  return (
    <div className="side">
      <p>
        <Link to={`/sessions/${encodeURIComponent(session)}#${entry.seq}`}>#{entry.seq}</Link>{" "}
        <span className="quiet">{entry.role}</span>{" "}
        <code>{visibleName(entry.name ?? tools)}</code>{" "}
        {entry.failed && <span className="bad-text">✕</span>}
      </p>
      <p className="small">{visibleName(entry.title ?? "")}</p>
    </div>
  );
}

interface FactsProps {
  readonly a: string;
  readonly b: string;
  readonly first: readonly OutlineEntry[];
  readonly second: readonly OutlineEntry[];
}

function Facts({ a, b, first, second }: FactsProps) {
  const [one, other] = [factsOf(first), factsOf(second)];
  return (
    <table className="facts-table">
      <thead>
        <tr>
          <th scope="col">{COMPARE.facts}</th>
          {[a, b].map((id) => (
            <th key={id} scope="col">
              <Link to={`/sessions/${encodeURIComponent(id)}`}>{visibleName(id)}</Link>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {(Object.keys(COMPARE.factNames) as (keyof typeof COMPARE.factNames)[]).map((name) => (
          <tr key={name}>
            <th scope="row">{COMPARE.factNames[name]}</th>
            <td>{one[name]}</td>
            <td>{other[name]}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function factsOf(entries: readonly OutlineEntry[]): Record<keyof typeof COMPARE.factNames, string> {
  const sum = (of: (entry: OutlineEntry) => number) =>
    entries.reduce((total, entry) => total + of(entry), 0);
  const [first, last] = [entries[0], entries.at(-1)];
  const lasted =
    first === undefined || last === undefined
      ? 0
      : Date.parse(last.createdAt) - Date.parse(first.createdAt);
  return {
    entries: numberText(entries.length),
    calls: numberText(toolsIn(rowsOf(entries)).reduce((total, [, calls]) => total + calls, 0)),
    failures: numberText(sum(({ failed }) => Number(failed))),
    images: numberText(sum(({ images }) => images)),
    tokens: numberText(sum(({ tokensEst }) => tokensEst)),
    bytes: fileSize(sum(({ bytes }) => bytes)),
    lasted: spanText(lasted),
  };
}
