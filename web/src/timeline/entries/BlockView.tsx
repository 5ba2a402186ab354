/** A block of a message: text, a medium, a call, the result of one, or its JSON. */
import { MediaPart, usePieces, visibleName } from "@pagefault/react";

import { JsonDetails } from "../../json/JsonDetails";
import { RichText } from "../../reading/RichText";
import { STEP } from "../../words/timeline";
import type { ShownBlock } from "../messageBlocks";
import { CallArguments } from "./CallArguments";
import "./blocks.css";

const MOST_AT_FIRST = 100;

export function BlockViews({ blocks }: { blocks: readonly ShownBlock[] }) {
  const [shown, more] = usePieces(blocks, MOST_AT_FIRST);
  return (
    <>
      {/* Blocks have no id, and never change their order. */}
      {shown.map((block, index) => (
        <div key={index} className="part">
          <BlockView block={block} />
        </div>
      ))}
      {more}
    </>
  );
}

function BlockView({ block }: { block: ShownBlock }) {
  switch (block.kind) {
    case "text":
      return <RichText text={block.text} />;
    case "medium":
      return <MediaPart medium={block.medium} />;
    case "reasoning":
      return (
        <details className="reasoning">
          <summary>{STEP.reasoning}</summary>
          <RichText text={block.text} />
        </details>
      );
    case "call":
      return (
        <div className="call">
          <p>
            {STEP.call} <code>{visibleName(block.name)}</code>
          </p>
          <CallArguments source={block.source} />
        </div>
      );
    case "result":
      return (
        <div className="nested">
          <p className="small quiet">
            {STEP.resultOf} {block.isError && <span className="label bad">{STEP.failed}</span>}
          </p>
          <BlockViews blocks={block.blocks} />
        </div>
      );
    case "other":
      return <JsonDetails title={visibleName(block.title)} source={block.source} />;
  }
}
