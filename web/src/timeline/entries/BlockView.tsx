/** A block of a message: text, a medium, a call, the result of one, or its JSON. */
import { FoldedText, MediaPart, visibleName } from "@pagefault/react";

import { JsonDetails, JsonText } from "../../json/JsonDetails";
import type { ShownBlock } from "../messageBlocks";

export function BlockViews({ blocks }: { blocks: readonly ShownBlock[] }) {
  // Blocks have no id, and never change their order.
  return blocks.map((block, index) => (
    <div key={index} className="part">
      <BlockView block={block} />
    </div>
  ));
}

function BlockView({ block }: { block: ShownBlock }) {
  switch (block.kind) {
    case "text":
      return <FoldedText text={block.text} />;
    case "medium":
      return <MediaPart medium={block.medium} />;
    case "call":
      return <CallView name={block.name} source={block.source} />;
    case "result":
      return (
        <div className="nested">
          <p className="small quiet">
            Result of a tool {block.isError && <span className="label bad">Failed</span>}
          </p>
          <BlockViews blocks={block.blocks} />
        </div>
      );
    case "other":
      return <JsonDetails title={visibleName(block.title)} source={block.source} />;
  }
}

interface CallViewProps {
  readonly name: string;
  /** The JSON of the arguments. */
  readonly source: string | undefined;
}

/** A call of a tool; arguments that are JSON in a string are shown as the JSON they are. */
export function CallView({ name, source }: CallViewProps) {
  return (
    <div className="call">
      <p>
        Calls <strong>{visibleName(name)}</strong>
      </p>
      {source !== undefined && <JsonText source={unquoted(source)} />}
    </div>
  );
}

function unquoted(source: string): string {
  if (!source.startsWith('"')) return source;
  const text = String(JSON.parse(source));
  try {
    JSON.parse(text);
    return text;
  } catch {
    return source;
  }
}
