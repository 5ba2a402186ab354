/** One round trip with what openapi-typescript makes of the document, and openapi-fetch. */
import createClient from "openapi-fetch";

import type { components, paths } from "./generated/schema";
import {
  ADDRESS,
  digestOf,
  firstFrame,
  HEADERS,
  LARGE,
  lastOf,
  picture,
  SESSION,
  there,
} from "./shared";

type HistoryEntry = components["schemas"]["HistoryEntry"];
type StreamEvent = components["schemas"]["StreamEvent"];

const client = createClient<paths>({ baseUrl: ADDRESS, headers: HEADERS });

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
  const { data } = await client.GET("/api/sessions/{session_id}/events", {
    params: { path: { session_id: SESSION }, query: { after: 0 } },
    parseAs: "stream",
    signal: stopped.signal,
  });
  const frame = (await firstFrame(data ?? null)) as StreamEvent;
  stopped.abort();
  if (frame.event !== "llmservice:toolResult") throw new Error(frame.event);
  return [frame.event, frame.data.toolName];
}

const params = { path: { page_id: SESSION } };
const made = await client.POST("/api/tool-results", {
  body: { toolName: "camera", toolCallId: "call_1", sessionId: SESSION, result: "Done." },
});
const rendered = await client.GET("/api/tool-results/{tool_result_id}/render", {
  params: {
    path: { tool_result_id: there(made.data, made.error).id },
    query: { target: "anthropic" },
  },
});
await client.PUT("/api/pages/{page_id}", { params, body: { content: "Hello." } });
const page = await client.GET("/api/pages/{page_id}", { params });
const fault = await client.POST("/api/pages/{page_id}/fault", {
  params,
  body: { target_level: "FULL", session_id: SESSION, tool_call_id: "call_2" },
});
const refused = await client.POST("/api/pages/{page_id}/fault", {
  params: { path: { page_id: "absent" } },
  body: { target_level: 0 },
});
const problem = there(refused.error, refused.data);
if (!("role" in problem)) throw new Error(problem.detail);
const session = { path: { session_id: SESSION } };
await client.POST("/api/sessions/{session_id}/messages", {
  params: session,
  body: { role: "user", content: "Thanks." },
});
const history = await client.GET("/api/sessions/{session_id}/messages", { params: session });
const stored = await client.POST("/api/resources", {
  params: { query: { filename: "picture.png" } },
  // It calls a file a string, and would send it as JSON.
  body: picture as unknown as string,
  bodySerializer: (body) => body,
  headers: { "Content-Type": "application/octet-stream" },
});
const resource = there(stored.data, stored.error);
const content = await client.GET("/api/resources/{uri}/content", {
  params: { path: { uri: resource.uri } },
  parseAs: "blob",
});
const begun = await client.POST("/api/uploads", {
  params: { header: { "Tus-Resumable": "1.0.0", "Upload-Length": LARGE } },
});
const upload = await client.GET("/api/uploads/{upload_id}", {
  params: { path: { upload_id: lastOf(begun.response.headers.get("location")) } },
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
