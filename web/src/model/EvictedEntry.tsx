/**
 * An entry that was evicted: what the model got of it within the session, beside what it is by itself.
 * Why, and what was lost, stands above it.
 */
import { Failure } from "@pagefault/react";

import { HeadingLevel } from "../reading/headingLevel";
import { Loading } from "../shared/states";
import { MODEL } from "../words/model";
import { EntryRendering } from "./EntryRendering";
import { ReadMessages } from "./ReadMessages";
import { type ModelOptions, useEntryWithin } from "./useModel";

interface EvictedEntryProps {
  readonly sessionId: string;
  readonly seq: number;
  readonly options: ModelOptions;
  /** What was sent of it then, of an earlier rendering; undefined if it cannot be told apart. */
  readonly sent: readonly string[] | undefined;
}

export function EvictedEntry({ sessionId, seq, options, sent }: EvictedEntryProps) {
  return (
    <HeadingLevel value={3}>
      <div className="model-beside">
        <section aria-label={MODEL.got}>
          <h2>{MODEL.got}</h2>
          {options.at === undefined ? (
            <GotNow {...{ sessionId, seq, options }} />
          ) : (
            <GotWithin sent={sent} />
          )}
        </section>
        <section aria-label={MODEL.original}>
          <h2>{MODEL.original}</h2>
          <EntryRendering sessionId={sessionId} seq={seq} target={options.target} isRead isCut />
        </section>
      </div>
    </HeadingLevel>
  );
}

/** What was sent of an entry, found among the messages of the rendering. */
export function GotWithin({ sent }: Pick<EvictedEntryProps, "sent">) {
  if (sent === undefined) return <p className="quiet">{MODEL.notTold}</p>;
  return (
    <div className="entry-rendering">
      <ReadMessages messages={sent} />
    </div>
  );
}

function GotNow({ sessionId, seq, options }: Omit<EvictedEntryProps, "sent">) {
  const got = useEntryWithin(sessionId, seq, options);
  if (got.isError) return <Failure failure={got.error} onRetry={() => void got.refetch()} />;
  if (got.data === undefined) return <Loading what={MODEL.loading} />;
  return <GotWithin sent={got.data} />;
}
