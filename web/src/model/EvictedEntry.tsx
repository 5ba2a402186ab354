/**
 * An entry that made room: what the model got of it within the session, beside what it is by itself.
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
}

export function EvictedEntry({ sessionId, seq, options }: EvictedEntryProps) {
  const got = useEntryWithin(sessionId, seq, options);
  return (
    <HeadingLevel value={3}>
      <div className="model-beside">
        <section aria-label={MODEL.got}>
          <h2>{MODEL.got}</h2>
          {got.isError && <Failure failure={got.error} onRetry={() => void got.refetch()} />}
          {got.isPending && <Loading what={MODEL.loading} />}
          {got.data !== undefined && (
            <div className="entry-rendering">
              <ReadMessages messages={got.data} />
            </div>
          )}
        </section>
        <section aria-label={MODEL.original}>
          <h2>{MODEL.original}</h2>
          <EntryRendering sessionId={sessionId} seq={seq} target={options.target} isRead />
        </section>
      </div>
    </HeadingLevel>
  );
}
