/** What a model gets of a session: each entry at its level, what it costs, and what is lost. */
import { Failure, visibleName } from "@pagefault/react";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";

import { TARGETS } from "../pages/pageWords";
import { numberText } from "../shared/formats";
import { Loading } from "../shared/states";
import { usePageTitle } from "../shared/usePageTitle";
import { MODEL } from "../words/model";
import { EntryList } from "./EntryList";
import { MessageList } from "./MessageList";
import { TurnDifference } from "./TurnDifference";
import { type Choices, type ModelOptions, useRendering, useWorkingSet } from "./useModel";
import "../reading/reading.css";
import "./model.css";

const FEWEST_TOKENS = 500;
const MOST_TOKENS = 200_000;
const STEPS = 200;
// A slider passes many budgets, and each is a rendering of the whole session.
const PAUSE_MS = 250;

export function ModelView() {
  const { sessionId = "" } = useParams();
  const [search, setSearch] = useSearchParams();
  const chosen = JSON.stringify(optionsIn(search));
  const options = useMemo(() => JSON.parse(chosen) as ModelOptions, [chosen]);
  const rendering = useRendering(sessionId, options);
  const working = useWorkingSet(sessionId, options);
  const failed = [rendering, working].find(({ isError }) => isError);
  const name = visibleName(sessionId);
  usePageTitle(MODEL.title(name));
  const path = encodeURIComponent(sessionId);

  function choose(changes: Choices) {
    setSearch(
      (before) => {
        const changed = new URLSearchParams(before);
        for (const [name, value] of Object.entries(changes)) {
          if (value === "") changed.delete(name);
          else changed.set(name, value);
        }
        return changed;
      },
      { replace: true, preventScrollReset: true },
    );
  }

  return (
    <section className="view model-view">
      <header className="row">
        <h1>{MODEL.title(name)}</h1>
        <Link to={`/sessions/${path}`}>{MODEL.back}</Link>
        <Link to={`/doctor?session=${path}`}>{MODEL.doctor}</Link>
      </header>
      <Options options={options} choose={choose} />
      {failed !== undefined && (
        <Failure failure={failed.error} onRetry={() => void failed.refetch()} />
      )}
      {failed === undefined &&
        (rendering.data === undefined || working.data === undefined ? (
          <Loading what={MODEL.loading} />
        ) : (
          <>
            <p role="status" className="model-total">
              <strong>
                {MODEL.total(numberText(rendering.data.tokensEst), rendering.data.messages.length)}
              </strong>{" "}
              <span className="quiet">
                {rendering.data.profile} ·{" "}
                {MODEL.evicted(working.data.entries.filter(({ evicted }) => evicted).length)} ·{" "}
                {MODEL.lost(rendering.data.loss.length)}
              </span>
            </p>
            <EntryList
              sessionId={sessionId}
              options={options}
              entries={working.data.entries}
              loss={rendering.data.loss}
            />
            <MessageList messages={rendering.data.messages} />
          </>
        ))}
      <TurnDifference {...{ sessionId, options, search, choose }} />
    </section>
  );
}

function optionsIn(search: URLSearchParams): ModelOptions {
  const number = (name: string) => {
    const text = search.get(name) ?? "";
    return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
  };
  return {
    target: TARGETS.find((each) => each === search.get("target")) ?? "anthropic",
    maxTokens: number("maxTokens"),
    maxImages: number("maxImages"),
    frontier: search.get("frontier") ?? undefined,
  };
}

interface OptionsProps {
  readonly options: ModelOptions;
  readonly choose: (changes: Choices) => void;
}

/** What is chosen; the address has it, once nothing has changed for a moment. */
function Options({ options, choose }: OptionsProps) {
  const [step, setStep] = useState(() => stepOf(options.maxTokens));
  const later = useLater(choose);
  const budget = tokensAt(step);
  return (
    <div className="model-options">
      <label>
        <span className="small quiet">{MODEL.target}</span>
        <select
          defaultValue={options.target}
          onChange={({ target }) => later({ target: target.value })}
        >
          {TARGETS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label className="model-budget">
        <span className="small quiet">
          {MODEL.budget}: {budget === undefined ? MODEL.noBudget : numberText(budget)}
        </span>
        <input
          type="range"
          min={0}
          max={STEPS}
          value={step}
          aria-valuetext={budget === undefined ? MODEL.noBudget : numberText(budget)}
          onChange={({ target }) => {
            setStep(Number(target.value));
            later({ maxTokens: `${tokensAt(Number(target.value)) ?? ""}` });
          }}
        />
      </label>
      <label>
        <span className="small quiet">{MODEL.images}</span>
        <input
          type="number"
          min={0}
          defaultValue={options.maxImages}
          onChange={({ target }) => later({ maxImages: target.value })}
        />
      </label>
      <label title={MODEL.frontierHint}>
        <span className="small quiet">{MODEL.frontier}</span>
        <input
          type="text"
          spellCheck={false}
          autoComplete="off"
          defaultValue={options.frontier}
          onChange={({ target }) => later({ frontier: target.value })}
        />
      </label>
    </div>
  );
}

/** Choose after a pause, all that has changed by then. */
function useLater(choose: (changes: Choices) => void): (changes: Choices) => void {
  const newest = useRef(choose);
  const waiting = useRef<Choices>({});
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    newest.current = choose;
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return (changes) => {
    waiting.current = { ...waiting.current, ...changes };
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      newest.current(waiting.current);
      waiting.current = {};
    }, PAUSE_MS);
  };
}

/** Budgets grow by the same factor with each step; the last step is none. */
function tokensAt(step: number): number | undefined {
  if (step >= STEPS) return undefined;
  const tokens = FEWEST_TOKENS * (MOST_TOKENS / FEWEST_TOKENS) ** (step / (STEPS - 1));
  return Math.round(tokens / 50) * 50;
}

function stepOf(tokens: number | undefined): number {
  if (tokens === undefined) return STEPS;
  const share = Math.log(tokens / FEWEST_TOKENS) / Math.log(MOST_TOKENS / FEWEST_TOKENS);
  return Math.max(0, Math.min(STEPS - 1, Math.round(share * (STEPS - 1))));
}
