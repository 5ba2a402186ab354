/** What is chosen of a rendering; the address has it, once nothing has changed for a moment. */
import { useEffect, useRef, useState } from "react";

import { TARGETS } from "../pages/pageWords";
import { numberText } from "../shared/formats";
import { MODEL } from "../words/model";
import type { Choices, ModelOptions } from "./useModel";

interface ModelOptionsFormProps {
  readonly options: ModelOptions;
  /** The other target, beside that of the options. */
  readonly beside: string | undefined;
  /** The fewest tokens that the service renders it within, where it has said so. */
  readonly fewest: number;
  readonly choose: (changes: Choices) => void;
}

const MOST_TOKENS = 1_000_000;
const STEPS = 200;
const PRESETS = [32_000, 128_000, 200_000, 1_000_000] as const;
// A slider passes many budgets, and each is a rendering of the whole session.
const PAUSE_MS = 250;

export function ModelOptionsForm({ options, beside, fewest, choose }: ModelOptionsFormProps) {
  const [budget, setBudget] = useState(options.maxTokens);
  const [at, setAt] = useState(`${options.at ?? ""}`);
  const [frontier, setFrontier] = useState(options.frontier ?? "");
  const later = useLater(choose);

  useEffect(() => setBudget(options.maxTokens), [options.maxTokens]);
  useEffect(() => setAt(`${options.at ?? ""}`), [options.at]);
  useEffect(() => setFrontier(options.frontier ?? ""), [options.frontier]);

  function chooseBudget(tokens: number | undefined) {
    setBudget(tokens);
    later({ maxTokens: `${tokens ?? ""}` });
  }

  return (
    <div className="model-options">
      <Targets name={MODEL.target} value={options.target} onChange={(target) => later({ target })} />
      <Targets
        name={MODEL.beside}
        value={beside ?? ""}
        none={MODEL.noneBeside}
        onChange={(other) => later({ beside: other })}
      />
      <label title={MODEL.atHint}>
        <span className="small quiet">{MODEL.at}</span>
        <input
          type="number"
          min={1}
          placeholder={MODEL.atNewest}
          value={at}
          onChange={({ target }) => {
            setAt(target.value);
            later({ at: target.value });
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
          value={frontier}
          onChange={({ target }) => {
            setFrontier(target.value);
            later({ frontier: target.value });
          }}
        />
      </label>
      <fieldset
        className="model-budget"
        disabled={options.at !== undefined}
        title={options.at === undefined ? undefined : MODEL.budgetOfTurn}
      >
        <legend className="small quiet">{MODEL.budget}</legend>
        <input
          type="range"
          aria-label={MODEL.budgetSlider}
          min={0}
          max={STEPS}
          value={stepOf(budget, fewest)}
          aria-valuetext={budget === undefined ? MODEL.noBudget : numberText(budget)}
          onChange={({ target }) => chooseBudget(tokensAt(Number(target.value), fewest))}
        />
        <input
          type="number"
          aria-label={MODEL.budget}
          min={fewest}
          placeholder={options.at === undefined ? MODEL.noBudget : MODEL.asItWas}
          value={budget ?? ""}
          onChange={({ target }) =>
            chooseBudget(target.value === "" ? undefined : Number(target.value))
          }
        />
        <span className="row">
          {PRESETS.map((tokens) => (
            <button
              key={tokens}
              type="button"
              className="chip-button small"
              aria-pressed={budget === tokens}
              onClick={() => chooseBudget(tokens)}
            >
              {MODEL.preset(tokens)}
            </button>
          ))}
          <button
            type="button"
            className="chip-button small"
            aria-pressed={budget === undefined && options.at === undefined}
            onClick={() => chooseBudget(undefined)}
          >
            {MODEL.noBudget}
          </button>
        </span>
      </fieldset>
    </div>
  );
}

interface TargetsProps {
  readonly name: string;
  readonly value: string;
  /** What is said of none, where there may be none. */
  readonly none?: string;
  readonly onChange: (target: string) => void;
}

function Targets({ name, value, none, onChange }: TargetsProps) {
  return (
    <label>
      <span className="small quiet">{name}</span>
      <select defaultValue={value} onChange={({ target }) => onChange(target.value)}>
        {none !== undefined && <option value="">{none}</option>}
        {TARGETS.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
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

/** Budgets grow by the same factor with each step, from the fewest; the last step is none. */
function tokensAt(step: number, fewest: number): number | undefined {
  if (step >= STEPS) return undefined;
  if (step === 0) return fewest;
  const tokens = fewest * (MOST_TOKENS / fewest) ** (step / (STEPS - 1));
  return Math.round(tokens / 50) * 50;
}

function stepOf(tokens: number | undefined, fewest: number): number {
  if (tokens === undefined) return STEPS;
  const share = Math.log(tokens / fewest) / Math.log(MOST_TOKENS / fewest);
  return Math.max(0, Math.min(STEPS - 1, Math.round(share * (STEPS - 1))));
}
