/** One round trip with what orval makes of the document. */
import {
  appendMessage,
  createResource,
  createToolResult,
  createUpload,
  faultPage,
  getPage,
  getResourceContent,
  getStreamSessionEventsUrl,
  getUpload,
  listMessages,
  putPage,
  renderToolResult,
  type HistoryEntry,
  type StreamEvent,
} from "./generated/pagefault";
import { digestOf, firstFrame, HEADERS, LARGE, lastOf, picture, SESSION } from "./shared";

const options = { headers: HEADERS };

/** The kind of an entry, and what only that kind has. */
function toldBy(entry: HistoryEntry): unknown[] {
  switch (entry.entry) {
    case "tool_result":
      return [entry.entry, entry.sanitized.meta.toolName];
    case "page_fault":
      return [entry.entry, entry.tool_call_id];
    case "message":
      return [entry.entry, entry.content];
    case "interaction":
      return [entry.entry, entry.input_kind];
    case "answer":
      return [entry.entry, entry.interaction_id];
  }
}

async function firstEvent(): Promise<unknown[]> {
  const stopped = new AbortController();
  const address = getStreamSessionEventsUrl(SESSION, { after: 0 });
  const answer = await fetch(address, { ...options, signal: stopped.signal });
  const frame = (await firstFrame(answer.body)) as StreamEvent;
  stopped.abort();
  if (frame.event !== "llmservice:toolResult") throw new Error(frame.event);
  return [frame.event, frame.data.toolName];
}

function failed(answer: { status: number }): Error {
  return new Error(JSON.stringify(answer));
}

const made = await createToolResult(
  { toolName: "camera", toolCallId: "call_1", sessionId: SESSION, result: "Done." },
  {},
  options,
);
if (made.status !== 201) throw failed(made);
const rendered = await renderToolResult(made.data.id, { target: "anthropic" }, options);
if (rendered.status !== 200) throw failed(rendered);
await putPage(SESSION, { content: "Hello." }, options);
const page = await getPage(SESSION, {}, options);
if (page.status !== 200) throw failed(page);
const fault = await faultPage(
  SESSION,
  { target_level: "FULL", session_id: SESSION, tool_call_id: "call_2" },
  {},
  options,
);
if (fault.status !== 200) throw failed(fault);
const refused = await faultPage("absent", { target_level: 0 }, {}, options);
if (refused.status !== 404) throw failed(refused);
await appendMessage(SESSION, { role: "user", content: "Thanks." }, options);
const history = await listMessages(SESSION, {}, options);
if (history.status !== 200) throw failed(history);
const stored = await createResource(picture, { filename: "picture.png" }, options);
if (stored.status !== 201 && stored.status !== 200) throw failed(stored);
const content = await getResourceContent(stored.data.uri, {}, options);
if (content.status !== 200) throw failed(content);
const begun = await createUpload({
  headers: { ...HEADERS, "Tus-Resumable": "1.0.0", "Upload-Length": `${LARGE}` },
});
const upload = await getUpload(lastOf(begun.headers.get("location")), options);
if (upload.status !== 200) throw failed(upload);

console.log(
  JSON.stringify({
    page: typeof page.data === "string" ? page.data : page.data.content,
    rendered: rendered.data.target,
    fault: fault.data.content,
    refused: [refused.data.status, refused.data.role, refused.data.page_id],
    history: history.data.items.map(toldBy),
    uploaded: stored.data.size,
    downloaded: await digestOf(content.data),
    length: upload.data.length,
    event: await firstEvent(),
  }),
);
