/** Two turns of a session side by side: what a provider's cache keeps, and what it loses. */
import { laidOut } from "@pagefault/client/json";
import { Failure } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { CodeText } from "../reading/CodeText";
import { patchBetween } from "../reading/patches";
import { numberText } from "../shared/formats";
import { Loading } from "../shared/states";
import { COMPARE } from "../words/compare";
import { MODEL } from "../words/model";
import { type Choices, type ModelOptions, type Rendering, readRendering } from "./useModel";

interface TurnDifferenceProps {
  readonly sessionId: string;
  readonly options: ModelOptions;
  readonly search: URLSearchParams;
  readonly choose: (changes: Choices) => void;
}

/** Two turns; what is not given is the last entry, and the budget of the view. */
interface Turns {
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly laterTokens: number | undefined;
}

export function TurnDifference({ sessionId, options, search, choose }: TurnDifferenceProps) {
  const turns = turnsIn(search);
  const isChosen = Object.values(turns).some((each) => each !== undefined);
  return (
    <details className="turn-difference" open={isChosen}>
      <summary>
        <h2>{MODEL.other}</h2>
      </summary>
      <p className="quiet">{MODEL.otherHint}</p>
      <form
        className="model-options"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget);
          const told = (name: string) => String(given.get(name) ?? "");
          choose({ from: told("from"), to: told("to"), laterTokens: told("laterTokens") });
        }}
      >
        <Field name="from" label={MODEL.from} value={turns.from} />
        <Field name="to" label={MODEL.to} value={turns.to} />
        <Field name="laterTokens" label={MODEL.otherBudget} value={turns.laterTokens} />
        <button type="submit" className="button">
          {MODEL.compare}
        </button>
      </form>
      {isChosen && <Compared {...{ sessionId, options, turns }} />}
    </details>
  );
}

interface FieldProps {
  readonly name: keyof Turns;
  readonly label: string;
  readonly value: number | undefined;
}

function Field({ name, label, value }: FieldProps) {
  return (
    <label>
      <span className="small quiet">{label}</span>
      <input type="number" name={name} min={1} defaultValue={value} />
    </label>
  );
}

function turnsIn(search: URLSearchParams): Turns {
  const number = (name: keyof Turns) => {
    const text = search.get(name) ?? "";
    return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
  };
  const [from, to] = [number("from"), number("to")];
  // The earlier turn is the one with fewer entries, in whichever field it stands.
  const isTurned = from !== undefined && to !== undefined && from > to;
  return {
    from: isTurned ? to : from,
    to: isTurned ? from : to,
    laterTokens: number("laterTokens"),
  };
}

interface ComparedProps {
  readonly sessionId: string;
  readonly options: ModelOptions;
  readonly turns: Turns;
}

function Compared({ sessionId, options, turns }: ComparedProps) {
  const read = useQuery({
    queryKey: ["turns", sessionId, options, turns],
    queryFn: ({ signal }) =>
      Promise.all([
        readRendering(sessionId, { ...options, upTo: turns.from }, signal),
        readRendering(
          sessionId,
          { ...options, upTo: turns.to, maxTokens: turns.laterTokens ?? options.maxTokens },
          signal,
        ),
      ]),
  });
  if (read.isError) return <Failure failure={read.error} />;
  if (read.data === undefined) return <Loading what={MODEL.loading} />;
  const [before, after] = read.data;
  const same = sameMessages(before, after);
  const changed = before.messages[same];
  const anew = tokensAnew(before, after, same);
  return (
    <div className="turn-result" role="status">
      <p>
        {MODEL.cached(same, before.messages.length, numberText(after.tokensEst - anew))}
      </p>
      <p>{MODEL.anew(after.messages.length - same, numberText(anew))}</p>
      {changed === undefined ? (
        <p>{MODEL.onlyAppends}</p>
      ) : (
        <>
          <p>{MODEL.firstChanged(same + 1)}</p>
          <Changed before={changed} after={after.messages[same] ?? ""} />
        </>
      )}
    </div>
  );
}

function sameMessages(before: Rendering, after: Rendering): number {
  const differs = before.prefixHash.findIndex((hash, index) => hash !== after.prefixHash[index]);
  return differs === -1 ? before.prefixHash.length : differs;
}

/** About the tokens behind the first messages: what was appended, or else their part of the whole. */
function tokensAnew(before: Rendering, after: Rendering, same: number): number {
  if (same === before.messages.length) return Math.max(0, after.tokensEst - before.tokensEst);
  const weights = weightsOf(after);
  const all = weights.reduce(sum, 0);
  return Math.round((after.tokensEst * weights.slice(same).reduce(sum, 0)) / Math.max(1, all));
}

const sum = (one: number, other: number) => one + other;
const REFERENCE = /@blob:[0-9a-f]{32}/g;
const CHARACTERS_OF_TOKEN = 4;

/** What messages weigh: their text, and for each medium an equal part of what texts leave. */
function weightsOf({ messages, tokensEst }: Rendering): readonly number[] {
  const texts = messages.map(({ length }) => length / CHARACTERS_OF_TOKEN);
  const media = messages.map((message) => message.match(REFERENCE)?.length ?? 0);
  const left = Math.max(0, tokensEst - texts.reduce(sum, 0));
  const each = left / Math.max(1, media.reduce(sum, 0));
  return texts.map((text, index) => text + each * (media[index] ?? 0));
}

function Changed({ before, after }: { before: string; after: string }) {
  const patch = useMemo(
    () =>
      patchBetween(
        { name: MODEL.before, text: `${laidOut(before)}\n` },
        { name: MODEL.after, text: after === "" ? "" : `${laidOut(after)}\n` },
      ),
    [before, after],
  );
  return patch === undefined ? <p>{COMPARE.tooDifferent}</p> : <CodeText text={patch} language="diff" />;
}
