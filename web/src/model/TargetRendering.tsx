/** A session as one target gets it: what fills the window, and each entry at its level. */
import { numberText } from "@pagefault/react";
import { useMemo } from "react";

import { Loading, Refused } from "../shared/states";
import { MODEL } from "../words/model";
import { CutEntries } from "./CutEntries";
import { EntryList } from "./EntryList";
import { MessageList } from "./MessageList";
import { WindowBar } from "./WindowBar";
import { rowsOf } from "./rows";
import { type Choices, type ModelOptions, fewestTokens, useRendering, useWorkingSet } from "./useModel";

interface TargetRenderingProps {
  readonly sessionId: string;
  readonly options: ModelOptions;
  /** Whether only what was cut is listed. */
  readonly areCutAlone: boolean;
  readonly choose: (changes: Choices) => void;
  /** The entry that the timeline was left at. */
  readonly seq?: number | undefined;
  readonly isBeside?: boolean;
}

export function TargetRendering(props: TargetRenderingProps) {
  const { sessionId, options, areCutAlone, choose, seq, isBeside = false } = props;
  const rendering = useRendering(sessionId, options);
  const working = useWorkingSet(sessionId, options);
  // Without a budget, only what turns have evicted is evicted.
  const fixed = useWorkingSet(sessionId, { ...options, maxTokens: undefined, maxImages: undefined });
  const rows = useMemo(
    () => rowsOf(working.data?.entries ?? [], rendering.data?.loss ?? []),
    [working.data, rendering.data],
  );
  const failed = [rendering, working].find(({ isError }) => isError);
  if (failed !== undefined) {
    const fewest = fewestTokens(failed.error);
    if (fewest === undefined) {
      return (
        <Refused
          failure={failed.error}
          what={MODEL.badOption}
          onRetry={() => void failed.refetch()}
        />
      );
    }
    return (
      <p role="alert" className="model-floor">
        {MODEL.floor(numberText(fewest))}{" "}
        <button
          type="button"
          className="button"
          onClick={() => choose({ maxTokens: `${fewest}` })}
        >
          {MODEL.takeFloor(numberText(fewest))}
        </button>
      </p>
    );
  }
  if (rendering.data === undefined || working.data === undefined) {
    return <Loading what={MODEL.loading} />;
  }
  const { tokensEst, messages, profile } = rendering.data;
  const { entries } = working.data;
  const isFixed =
    options.frontier !== undefined &&
    options.at === undefined &&
    fixed.data?.entries.some(({ evicted }) => evicted === true) === true;
  return (
    <section className="model-target" aria-label={options.target}>
      <p role="status" className="model-total">
        <strong>{MODEL.total(numberText(tokensEst), messages.length)}</strong>{" "}
        <span className="quiet">{profile}</span>
      </p>
      <WindowBar entries={entries} tokens={tokensEst} budget={options.maxTokens} />
      <div className="model-unseen">
        <CutEntries rows={rows.rows} at={options.at} />
        <div className="row small">
          {(areCutAlone || rows.rows.some(({ cut }) => cut !== undefined)) && (
            <label>
              <input
                type="checkbox"
                checked={areCutAlone}
                onChange={({ target }) => choose({ evicted: target.checked ? "1" : "" })}
              />{" "}
              {MODEL.cutAlone}
            </label>
          )}
          {seq !== undefined && options.at === undefined && (
            <button type="button" className="button small" onClick={() => choose({ at: `${seq}` })}>
              {MODEL.seenAt(seq)}
            </button>
          )}
        </div>
        {isFixed && (
          <p className="small quiet">
            {MODEL.staysEvicted(options.frontier ?? "")}{" "}
            <button type="button" className="button plain small" onClick={() => choose({ frontier: "" })}>
              {MODEL.withoutFrontier}
            </button>
          </p>
        )}
      </div>
      <EntryList {...{ sessionId, options, messages, areCutAlone, isBeside }} entries={rows} />
      <MessageList messages={messages} />
    </section>
  );
}
