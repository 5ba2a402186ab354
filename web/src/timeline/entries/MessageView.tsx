/** A message of a conversation, or a page that was put into it. */
import type { HistoryMessage, PageFaultMessage } from "@pagefault/client";
import { itemsOf, memberOf } from "@pagefault/client/json";
import { MediaPart, visibleName } from "@pagefault/react";

import { faultedPage, faultedRecording } from "../history";
import { blocksOf } from "../messageBlocks";
import { BlockViews, CallView } from "./BlockView";
import { EntryFrame } from "./EntryFrame";

interface MessageViewProps {
  readonly entry: HistoryMessage | PageFaultMessage;
  readonly source: string;
}

const KINDS: Readonly<Record<string, string>> = {
  user: "User",
  assistant: "Assistant",
  model: "Model",
  system: "System",
  developer: "Developer",
  tool: "Tool",
  function: "Tool",
};

export function MessageView({ entry, source }: MessageViewProps) {
  const pageId = faultedPage(entry);
  // Gemini calls the blocks of a message its parts.
  const member = "parts" in entry && entry.content == null ? "parts" : "content";
  const content = "parts" in entry && member === "parts" ? entry["parts"] : entry.content;
  const recording = faultedRecording(entry);
  const blocks = blocksOf(content, memberOf(source, member));
  const calls = itemsOf(memberOf(source, "tool_calls") ?? "[]");
  const said = entry.role === "user" || entry.role === "assistant" || entry.role === "model";
  return (
    <EntryFrame
      seq={entry.seq}
      kind={pageId === null ? (KINDS[entry.role] ?? "Message") : "Page fault"}
      name={pageId ?? ("name" in entry ? entry.name : undefined)}
      at={entry.created_at}
      source={source}
      {...(said ? { tone: entry.role === "user" ? ("said" as const) : ("answered" as const) } : {})}
      labels={
        entry.tool_call_id != null && (
          <code className="quiet small">{visibleName(entry.tool_call_id)}</code>
        )
      }
    >
      {blocks.length === 0 && calls.length === 0 && <p className="quiet">No content.</p>}
      <BlockViews blocks={blocks} />
      {recording !== null && (
        <div className="part">
          <MediaPart medium={{ reference: recording }} />
        </div>
      )}
      {calls.map((call, index) => (
        <CallView key={index} {...openAiCall(call)} />
      ))}
    </EntryFrame>
  );
}

function openAiCall(call: string): { name: string; source: string | undefined } {
  const called = memberOf(call, "function") ?? memberOf(call, "custom") ?? call;
  const name: unknown = JSON.parse(memberOf(called, "name") ?? "null");
  return {
    name: typeof name === "string" ? name : "a tool",
    source: memberOf(called, "arguments") ?? memberOf(called, "input") ?? memberOf(called, "args"),
  };
}
