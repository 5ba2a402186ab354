// What somebody writes who has installed the package: strict types, in Node.js.
import { ConflictError, Pagefault, type HistoryEntry, type StreamEvent } from "@pagefault/client";
import { laidOut } from "@pagefault/client/json";
import { storedHandler } from "@pagefault/client/mcp";

const pf = new Pagefault();
const session = pf.session("packed");

function told(event: StreamEvent): string {
  switch (event.event) {
    case "llmservice:toolResult":
      return event.data.sanitized.parts
        .map((part) => (part.type === "text" ? part.text : part.mimeType))
        .join();
    case "reset":
      return `reset to ${event.data.position}`;
    default:
      return event.event;
  }
}

function kindOf(entry: HistoryEntry): string {
  return entry.entry === "tool_result" ? `result of ${entry.name}` : entry.entry;
}

await session.toolResult({ toolName: "clock", toolCallId: "c1", result: "Ten." });
const refused = await session
  .toolResult({ toolName: "clock", toolCallId: "c1", result: "Two." })
  .catch((failure: unknown) => failure);
const look = storedHandler(
  pf,
  "look",
  () => ({ content: [{ type: "text" as const, text: "A dot." }] }),
  { session },
);
const shown: { type: "text"; text: string }[] = (await look()).content;

const said: string[] = [];
for await (const event of session.events({ after: 0 })) {
  said.push(told(event));
  if (said.length === 2) break;
}
const kinds: string[] = [];
for await (const entry of session.messages()) kinds.push(kindOf(entry));
console.log(
  laidOut(
    JSON.stringify([refused instanceof ConflictError && refused.code, shown[0]?.text, said, kinds]),
  ),
);
