/** Two turns of a session side by side: what a provider's cache keeps, and what it loses. */
import { laidOut } from "@pagefault/client/json";
import { Failure } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";
import { createTwoFilesPatch } from "diff";
import { useState } from "react";

import { CodeText } from "../reading/CodeText";
import { numberText } from "../shared/formats";
import { Loading } from "../shared/states";
import { MODEL } from "../words/model";
import { type ModelOptions, type Rendering, readRendering } from "./useModel";

interface TurnDifferenceProps {
  readonly sessionId: string;
  readonly options: ModelOptions;
}

interface Turns {
  readonly from: number;
  readonly to: number | undefined;
}

export function TurnDifference({ sessionId, options }: TurnDifferenceProps) {
  const [turns, setTurns] = useState<Turns>();
  return (
    <details className="turn-difference">
      <summary>
        <h2>{MODEL.other}</h2>
      </summary>
      <p className="quiet">{MODEL.otherHint}</p>
      <form
        className="model-options"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget);
          const to = Number(given.get("to"));
          setTurns({ from: Number(given.get("from")), to: to > 0 ? to : undefined });
        }}
      >
        <label>
          <span className="small quiet">{MODEL.from}</span>
          <input type="number" name="from" min={1} required />
        </label>
        <label>
          <span className="small quiet">{MODEL.to}</span>
          <input type="number" name="to" min={1} />
        </label>
        <button type="submit" className="button">
          {MODEL.compare}
        </button>
      </form>
      {turns !== undefined && <Compared {...{ sessionId, options, turns }} />}
    </details>
  );
}

function Compared({ sessionId, options, turns }: TurnDifferenceProps & { turns: Turns }) {
  const read = useQuery({
    queryKey: ["turns", sessionId, options, turns],
    queryFn: ({ signal }) =>
      Promise.all([
        readRendering(sessionId, { ...options, upTo: turns.from }, signal),
        readRendering(sessionId, { ...options, upTo: turns.to }, signal),
      ]),
  });
  if (read.isError) return <Failure failure={read.error} />;
  if (read.data === undefined) return <Loading what={MODEL.loading} />;
  const [before, after] = read.data;
  const same = sameMessages(before, after);
  const changed = before.messages[same];
  const anew = Math.max(0, after.tokensEst - tokensOf(after, same));
  return (
    <div className="turn-result" role="status">
      <p>{MODEL.cached(same, before.messages.length)}</p>
      <p>{MODEL.anew(after.messages.length - same, numberText(anew))}</p>
      {changed === undefined ? (
        <p>{MODEL.onlyAppends}</p>
      ) : (
        <>
          <p>{MODEL.firstChanged(same + 1)}</p>
          <CodeText text={patchOf(changed, after.messages[same] ?? "")} language="diff" />
        </>
      )}
    </div>
  );
}

function sameMessages(before: Rendering, after: Rendering): number {
  const differs = before.prefixHash.findIndex((hash, index) => hash !== after.prefixHash[index]);
  return differs === -1 ? before.prefixHash.length : differs;
}

/** About the tokens of the first messages, by their share of the text. */
function tokensOf({ messages, tokensEst }: Rendering, count: number): number {
  const length = (of: readonly string[]) => of.reduce((sum, each) => sum + each.length, 0);
  return Math.round((tokensEst * length(messages.slice(0, count))) / Math.max(1, length(messages)));
}

function patchOf(before: string, after: string): string {
  const patch = createTwoFilesPatch("before", "after", `${laidOut(before)}\n`, `${laidOut(after)}\n`);
  return patch.split("\n").slice(1).join("\n");
}
