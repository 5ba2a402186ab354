/** What answers a call: a tool result, a page that was faulted in, or a message of a tool. */
import type { HistoryMessage, PageFaultMessage, ToolMessage } from "@pagefault/client";
import { memberAt } from "@pagefault/client/json";
import { MediaPart, type SessionEntry, ToolResult } from "@pagefault/react";

import { JsonDetails } from "../../json/JsonDetails";
import { ToolResultContext } from "../../media/BesideImage";
import { ENTRY, STEP } from "../../words/timeline";
import { faultedRecording, isToolResult } from "../history";
import { blocksOfMessage } from "../messageBlocks";
import { BlockViews } from "./BlockView";

export function ResultBody({ shown }: { shown: SessionEntry }) {
  const { entry, source } = shown;
  if (isToolResult(entry)) {
    const structured = memberAt(source, "sanitized", "meta", "structuredContent");
    return (
      <>
        <ToolResultContext value={shownResult(entry)}>
          <ToolResult result={entry.sanitized} />
        </ToolResultContext>
        {structured !== undefined && <JsonDetails title={STEP.structured} source={structured} />}
      </>
    );
  }
  const all = blocksOfMessage({ ...entry }, source);
  const [only] = all;
  // The card itself says that it is the result of a tool.
  const blocks = all.length === 1 && only?.kind === "result" ? only.blocks : all;
  const recording = faultedRecording(entry as HistoryMessage | PageFaultMessage);
  return (
    <>
      {blocks.length === 0 && <p className="quiet">{ENTRY.noContent}</p>}
      <BlockViews blocks={blocks} />
      {recording !== null && (
        <div className="part">
          <MediaPart medium={recording} />
        </div>
      )}
    </>
  );
}

function shownResult({ id, sanitized }: ToolMessage) {
  return { id, resources: sanitized.resources.map(({ uri }) => uri) };
}
