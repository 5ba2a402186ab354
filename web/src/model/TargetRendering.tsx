/** A session as one target gets it: what fills the window, and each entry at its level. */
import type { WorkingSetEntry } from "@pagefault/client";
import { numberText } from "@pagefault/react";

import { Loading, Refused } from "../shared/states";
import { MODEL } from "../words/model";
import { EntryList } from "./EntryList";
import { MessageList } from "./MessageList";
import { WindowBar } from "./WindowBar";
import { type Choices, type ModelOptions, fewestTokens, useRendering, useWorkingSet } from "./useModel";

interface TargetRenderingProps {
  readonly sessionId: string;
  readonly options: ModelOptions;
  readonly choose: (changes: Choices) => void;
  /** The entry that the timeline was left at. */
  readonly seq?: number | undefined;
  readonly isBeside?: boolean;
}

export function TargetRendering({ sessionId, options, choose, seq, isBeside = false }: TargetRenderingProps) {
  const rendering = useRendering(sessionId, options);
  const working = useWorkingSet(sessionId, options);
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
  const { tokensEst, messages, profile, loss } = rendering.data;
  const { entries } = working.data;
  return (
    <section className="model-target" aria-label={options.target}>
      <p role="status" className="model-total">
        <strong>{MODEL.total(numberText(tokensEst), messages.length)}</strong>{" "}
        <span className="quiet">
          {profile} · {MODEL.evicted(entries.filter(({ evicted }) => evicted).length)} ·{" "}
          {MODEL.lost(loss.length)}
        </span>
      </p>
      <WindowBar entries={entries} tokens={tokensEst} budget={options.maxTokens} />
      <p className="model-unseen">
        {unseenOf(entries, options.at)}{" "}
        {seq !== undefined && options.at === undefined && (
          <button type="button" className="button plain small" onClick={() => choose({ at: `${seq}` })}>
            {MODEL.seenAt(seq)}
          </button>
        )}
      </p>
      <EntryList {...{ sessionId, options, entries, loss, isBeside }} />
      <MessageList messages={messages} />
    </section>
  );
}

/** What the model does not see any more, by level. */
function unseenOf(entries: readonly WorkingSetEntry[], at: number | undefined): string {
  const counts = new Map<string, number>();
  for (const { stepLevel, count } of entries) {
    if (stepLevel == null) continue;
    counts.set(stepLevel, (counts.get(stepLevel) ?? 0) + (count ?? 1));
  }
  const parts = [...counts].map(([level, count]) => MODEL.unseenParts[level]?.(count) ?? level);
  return parts.length === 0 ? MODEL.allSeen(at) : MODEL.unseen(at, parts.join(", "));
}
