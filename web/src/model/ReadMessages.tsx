/** Messages of any provider as one reads them: texts, media, calls, results; their JSON behind it. */
import { memberAt } from "@pagefault/client/json";

import { JsonDetails } from "../json/JsonDetails";
import { JsonTree } from "../reading/JsonTree";
import { BlockViews } from "../timeline/entries/BlockView";
import { type ShownBlock, blocksOf, blocksOfMessage } from "../timeline/messageBlocks";
import { MODEL } from "../words/model";
import { ENTRY } from "../words/timeline";

/** Each is the JSON of a message, or of a block of one. */
export function ReadMessages({ messages }: { messages: readonly string[] }) {
  if (messages.length === 0) return <p className="quiet">{MODEL.noMessage}</p>;
  return messages.map((source, index) => {
    const blocks = blocksIn(source);
    return blocks.length === 0 ? (
      <JsonTree key={index} source={source} />
    ) : (
      <div key={index} className="nested">
        <BlockViews blocks={blocks} />
        <JsonDetails title={ENTRY.json} source={source} />
      </div>
    );
  });
}

function blocksIn(source: string): readonly ShownBlock[] {
  const read: unknown = JSON.parse(source);
  const isMessage = memberAt(source, "role") !== undefined;
  return isMessage ? blocksOfMessage({ ...(read as object) }, source) : blocksOf([read], `[${source}]`);
}
