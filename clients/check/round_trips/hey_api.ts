/** One round trip with what hey-api makes of the document. */
import { client } from "./generated/client.gen";
import {
  appendMessage,
  createResource,
  createToolResult,
  createUpload,
  faultPage,
  getPage,
  getResourceContent,
  getUpload,
  listMessages,
  putPage,
  renderToolResult,
  streamSessionEvents,
  type HistoryEntry,
} from "./generated";
import { ADDRESS, digestOf, HEADERS, LARGE, lastOf, picture, SESSION, there } from "./shared";

client.setConfig({ baseUrl: ADDRESS, headers: HEADERS });

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
  let name: string | undefined;
  const { stream } = await streamSessionEvents({
    path: { session_id: SESSION },
    query: { after: 0 },
    signal: stopped.signal,
    onSseEvent: (event) => {
      name ??= event.event;
    },
  });
  for await (const data of stream) {
    stopped.abort();
    return [name, (data as unknown as { toolName: string }).toolName];
  }
  return [];
}

const path = { page_id: SESSION };
const made = await createToolResult({
  body: { toolName: "camera", toolCallId: "call_1", sessionId: SESSION, result: "Done." },
});
const rendered = await renderToolResult({
  path: { tool_result_id: there(made.data, made.error).id },
  query: { target: "anthropic" },
});
await putPage({ path, body: { content: "Hello." } });
const page = await getPage({ path });
const fault = await faultPage({
  path,
  body: { target_level: "FULL", session_id: SESSION, tool_call_id: "call_2" },
});
const refused = await faultPage({ path: { page_id: "absent" }, body: { target_level: 0 } });
const problem = there(refused.error, refused.data);
if (!("role" in problem)) throw new Error(problem.detail);
await appendMessage({
  path: { session_id: SESSION },
  body: { role: "user", content: "Thanks." },
});
const history = await listMessages({ path: { session_id: SESSION } });
const stored = await createResource({ body: picture, query: { filename: "picture.png" } });
const resource = there(stored.data, stored.error);
const content = await getResourceContent({ path: { uri: resource.uri } });
const begun = await createUpload({
  headers: { "Tus-Resumable": "1.0.0", "Upload-Length": LARGE },
});
const upload = await getUpload({
  path: { upload_id: lastOf(begun.response?.headers.get("location")) },
});

const shown = there(page.data, page.error);
console.log(
  JSON.stringify({
    page: typeof shown === "string" ? shown : shown.content,
    rendered: there(rendered.data, rendered.error).target,
    fault: there(fault.data, fault.error).content,
    refused: [problem.status, problem.role, problem.page_id],
    history: there(history.data, history.error).items.map(toldBy),
    uploaded: resource.size,
    downloaded: await digestOf(there(content.data, content.error)),
    length: there(upload.data, upload.error).length,
    event: await firstEvent(),
  }),
);
