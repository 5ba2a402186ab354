/** What a model gets of a session: each entry at its level, what it costs, and what is lost. */
import { Failure, visibleName } from "@pagefault/react";
import { useDeferredValue, useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";

import { TARGETS } from "../pages/pageWords";
import { numberText } from "../shared/formats";
import { Loading } from "../shared/states";
import { usePageTitle } from "../shared/usePageTitle";
import { MODEL } from "../words/model";
import { EntryList } from "./EntryList";
import { MessageList } from "./MessageList";
import { TurnDifference } from "./TurnDifference";
import { type ModelOptions, useRendering, useWorkingSet } from "./useModel";
import "../reading/reading.css";
import "./model.css";

const FEWEST_TOKENS = 500;
const MOST_TOKENS = 200_000;
const STEPS = 200;

export function ModelView() {
  const { sessionId = "" } = useParams();
  const [search, setSearch] = useSearchParams();
  const options = useDeferredValue(optionsIn(search));
  const rendering = useRendering(sessionId, options);
  const working = useWorkingSet(sessionId, options);
  const name = visibleName(sessionId);
  usePageTitle(MODEL.title(name));
  const path = encodeURIComponent(sessionId);

  function choose(name: string, value: string) {
    setSearch(
      (before) => {
        const changed = new URLSearchParams(before);
        if (value === "") changed.delete(name);
        else changed.set(name, value);
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
      <Options search={search} choose={choose} />
      {rendering.isError && (
        <Failure failure={rendering.error} onRetry={() => void rendering.refetch()} />
      )}
      {rendering.data === undefined || working.data === undefined ? (
        !rendering.isError && <Loading what={MODEL.loading} />
      ) : (
        !rendering.isError && (
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
              target={options.target}
              entries={working.data.entries}
              loss={rendering.data.loss}
            />
            <MessageList messages={rendering.data.messages} />
          </>
        )
      )}
      <TurnDifference sessionId={sessionId} options={options} />
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
  readonly search: URLSearchParams;
  readonly choose: (name: string, value: string) => void;
}

function Options({ search, choose }: OptionsProps) {
  const options = optionsIn(search);
  const [step, setStep] = useState(() => stepOf(options.maxTokens));
  const budget = tokensAt(step);
  return (
    <div className="model-options">
      <label>
        <span className="small quiet">{MODEL.target}</span>
        <select value={options.target} onChange={({ target }) => choose("target", target.value)}>
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
            choose("maxTokens", `${tokensAt(Number(target.value)) ?? ""}`);
          }}
        />
      </label>
      <label>
        <span className="small quiet">{MODEL.images}</span>
        <input
          type="number"
          min={0}
          value={options.maxImages ?? ""}
          onChange={({ target }) => choose("maxImages", target.value)}
        />
      </label>
      <label title={MODEL.frontierHint}>
        <span className="small quiet">{MODEL.frontier}</span>
        <input
          type="text"
          spellCheck={false}
          autoComplete="off"
          value={options.frontier ?? ""}
          onChange={({ target }) => choose("frontier", target.value)}
        />
      </label>
    </div>
  );
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
