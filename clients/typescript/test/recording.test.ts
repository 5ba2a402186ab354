/** What the adapters for the AI SDK and Mastra store of a conversation, and show of it later. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import {
  generateText,
  isStepCount,
  streamText,
  tool,
  wrapLanguageModel,
  type LanguageModel,
  type ModelMessage,
  type ToolSet,
} from "ai";
import * as six from "ai-6";
import type { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

import { Pagefault, type HistoryEntry } from "../client/src/index.ts";
import * as mastra from "../client/src/mastra.ts";
import * as vercel from "../client/src/vercel.ts";
import { call, modelThat, text, type Content } from "./kit/models.ts";
import { outages } from "./kit/outages.ts";
import { startService } from "./kit/service.ts";

const service = await startService();
const pf = new Pagefault(service.url);
const inputSchema = z.object({ at: z.string().optional() });
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SEEN = [
  { type: "text", text: "the sea" },
  { type: "image", data: PIXEL, mimeType: "image/png" },
];
const THOUGHT: Content[number] = {
  type: "reasoning",
  text: "Where?",
  providerMetadata: { anthropic: { signature: "sig" } },
};

/** The entries of a session, each in a line. */
async function historyOf(session: string): Promise<string[]> {
  return (await pf.session(session).messages().all()).map(lineOf);
}

function lineOf(entry: HistoryEntry): string {
  if (entry.entry === "tool_result") return `result of ${entry.toolCallId}`;
  const { role, content, tool_call_id } = entry as unknown as Record<string, unknown>;
  if (tool_call_id) return `result of ${tool_call_id as string}`;
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const words = (parts as Record<string, unknown>[]).map(
    ({ type, text, toolCallId }) => text ?? `${type as string} ${toolCallId as string}`,
  );
  return `${role as string}: ${words.join(", ")}`;
}

test("a tool of Mastra is not taken for one of the AI SDK", () => {
  const eye = createTool({ id: "eye", description: "Looks.", inputSchema, execute: async () => 1 });
  assert.throws(() => vercel.storedTools(pf, { eye } as never), /@pagefault\/client\/mastra/);
});

/** A run of an agent: its tools are stored, and the memory has its own. */
interface Run {
  readonly session: string;
  readonly model: MockLanguageModelV4;
  readonly messages: ModelMessage[];
  readonly look?: (at: string | undefined) => unknown;
}

const aiTools = (session: string, look: Run["look"] = () => SEEN, target = {}) =>
  vercel.storedTools(
    pf,
    { look: tool({ inputSchema, execute: ({ at }) => look(at) }) } as ToolSet,
    { session, ...target },
  );

async function aiOptions({ session: id, model, messages, look }: Run, target = {}) {
  const session = pf.session(id);
  return {
    model: wrapLanguageModel({ model, middleware: vercel.recorder(pf, session) }) as LanguageModel,
    instructions: "Be brief.",
    messages: [...(await vercel.sessionMessages(pf, session, target)), ...messages],
    tools: { ...aiTools(id, look, target), ...(await vercel.memoryTools(pf, session, target)) },
    stopWhen: isStepCount(5),
  };
}

/** The options of version 6, whose models have another version and the same answers. */
async function sixOptions(run: Run) {
  const { instructions: system, ...options } = await aiOptions(run, { target: "vercel-6" });
  const inner = Object.create(run.model, { specificationVersion: { value: "v3" } }) as never;
  const middleware = vercel.recorder(pf, run.session) as never;
  return { ...options, system, model: six.wrapLanguageModel({ model: inner, middleware }) } as never;
}

async function mastraAgent({ session, model, look = () => SEEN }: Run) {
  const memory = new mastra.SessionProcessor(pf, session);
  const seeing = createTool({
    id: "eye",
    description: "Looks.",
    inputSchema,
    execute: async ({ at }) => look(at),
  });
  return new Agent({
    id: "agent",
    name: "Agent",
    instructions: "Be brief.",
    model: model as never,
    tools: {
      ...mastra.storedTools(pf, { look: seeing }, { session }),
      ...(await mastra.memoryTools(pf, session)),
    },
    inputProcessors: [memory],
    outputProcessors: [memory],
  });
}

const RUNS: Record<string, (run: Run) => Promise<string>> = {
  "the AI SDK": async (run) => (await generateText(await aiOptions(run))).text,
  "the AI SDK, streaming": async (run) => await streamText(await aiOptions(run)).text,
  "the AI SDK 6": async (run) => (await six.generateText(await sixOptions(run))).text,
  "the AI SDK 6, streaming": async (run) => await six.streamText(await sixOptions(run)).text,
  Mastra: async (run) => (await (await mastraAgent(run)).generate(run.messages as never)).text,
  "Mastra, streaming": async (run) =>
    await (await (await mastraAgent(run)).stream(run.messages as never)).text,
};

const user = (content: string): ModelMessage => ({ role: "user", content });

/** What a model was shown as the answers to its calls. */
function answersIn(model: MockLanguageModelV4): string[] {
  const { prompt } = [...model.doGenerateCalls, ...model.doStreamCalls].at(-1)!;
  return prompt
    .filter(({ role }) => role === "tool")
    .flatMap(({ content }) => content as { output: object }[])
    .map(({ output }) => JSON.stringify(output));
}

for (const [name, run] of Object.entries(RUNS)) {
  const session = name.toLowerCase().replaceAll(/\W+/g, "-");

  test(`${name}: the history has what was said, each call before its result, and the next run begins with it`, async () => {
    await pf.pages.put(`${session}-notes`, { content: "Ten sheep.", session_id: session });
    const fault = { page_id: `${session}-notes`, target_level: 0 };
    const model = modelThat(
      [THOUGHT, text("Let me look."), call("c1", "look", { at: "sea" }), call("c2", "page_fault", fault)],
      [text("The sea, and ten sheep.")],
    );
    assert.match(await run({ session, model, messages: [user("Look.")] }), /The sea, and ten sheep\.$/);
    const [look, page] = answersIn(model);
    assert.match(look!, /the sea.*image\/png/);
    assert.ok(look!.includes(PIXEL));
    assert.match(page!, /Ten sheep\./);
    const first = [
      "user: Look.",
      "assistant: Where?, Let me look., tool-call c1, tool-call c2",
      "result of c1",
      "result of c2",
      "assistant: The sea, and ten sheep.",
    ];
    // The tools run at the same time.
    assert.deepEqual((await historyOf(session)).sort(), [...first].sort());
    const { messages, loss } = await pf.session(session).render({ target: "anthropic" });
    assert.deepEqual([...new Set(loss.map(({ code }) => code))], ["too-few-pixels"]);

    // The next run is another program, which has none of it.
    const next = modelThat([call("c1", "look", { at: "land" })], [text("Land.")]);
    await run({ session, model: next, messages: [user("And now?")] });
    const { prompt } = [...next.doGenerateCalls, ...next.doStreamCalls][0]!;
    // Mastra makes two messages of a text with a call.
    const roles = prompt.map(({ role }) => role);
    assert.deepEqual(
      roles.filter((role, index) => role !== roles[index - 1]),
      ["system", "user", "assistant", "tool", "assistant", "user"],
    );
    assert.ok(JSON.stringify(prompt).includes(PIXEL));
    assert.deepEqual((await historyOf(session)).slice(5), [
      "user: And now?",
      "assistant: tool-call c1",
      "result of c1",
      "assistant: Land.",
    ]);
    const whole = await pf.session(session).render({ target: "anthropic" });
    assert.deepEqual(whole.messages.slice(0, messages.length), messages);
    assert.deepEqual([...new Set(whole.loss.map(({ code }) => code))], ["too-few-pixels"]);
    assert.equal(whole.system, "Be brief.");
  });

  test(`${name}: a tool that fails is in the history, and the model is shown why`, async () => {
    const look = () => {
      throw new RangeError("It is dark");
    };
    const model = modelThat([call("c1", "look")], [text("No.")]);
    await run({ session: `${session}-dark`, model, messages: [user("Look.")], look });
    assert.match(answersIn(model)[0]!, /RangeError: It is dark/);
    assert.deepEqual(await historyOf(`${session}-dark`), [
      "user: Look.",
      "assistant: tool-call c1",
      "result of c1",
      "assistant: No.",
    ]);
  });
}

test("a run begins within a budget, and what it leaves out is still stored", async () => {
  const session = "budget";
  const log = "line\n".repeat(400);
  for (let turn = 0; turn < 6; turn += 1) {
    const model = modelThat([call(`c${turn}`, "look")], [text("I see.")]);
    const messages = [user(`Question ${turn}`)];
    await RUNS["the AI SDK"]!({ session, model, messages, look: () => log });
  }
  const stored = await historyOf(session);
  assert.equal(stored.length, 24);
  const past = await vercel.sessionMessages(pf, session, { maxTokens: 900 });
  assert.ok(JSON.stringify(past).length < 6_000);
  const model = wrapLanguageModel({ model: modelThat([text("Seven.")]), middleware: vercel.recorder(pf, session) });
  await generateText({ model, messages: [...past, user("How many?")] });
  assert.deepEqual(await historyOf(session), [...stored, "user: How many?", "assistant: Seven."]);
});

test("a conversation that began elsewhere is stored whole, and one that was changed goes on", async () => {
  const session = "elsewhere";
  const whole: ModelMessage[] = [
    user("Look."),
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "x1", toolName: "look", input: {} }] },
    {
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "x1", toolName: "look", output: { type: "text", value: "A dot." } }],
    },
    user("What is it?"),
  ];
  const answered = (...messages: ModelMessage[]) =>
    generateText({
      model: wrapLanguageModel({ model: modelThat([text("A dot.")]), middleware: vercel.recorder(pf, session) }),
      messages,
    });
  await answered(...whole);
  const stored = [
    "user: Look.",
    "assistant: tool-call x1",
    "tool: tool-result x1",
    "user: What is it?",
    "assistant: A dot.",
  ];
  assert.deepEqual(await historyOf(session), stored);
  await answered(...whole.slice(0, 3), user("Are you sure?"));
  assert.deepEqual(await historyOf(session), [...stored, "user: Are you sure?", "assistant: A dot."]);
});

test("the AI SDK: without a recorder a result has its call, and a call that is tried again is another", async () => {
  const session = "retried";
  const { look } = aiTools(session, () => `attempt ${(attempts += 1)}`);
  let attempts = 0;
  const run = { toolCallId: "c1", messages: [] } as never;
  await look!.execute!({ at: "sea" }, run);
  await look!.execute!({ at: "sea" }, run);
  assert.deepEqual(await historyOf(session), [
    "assistant: tool-call c1",
    "result of c1",
    "assistant: tool-call c1",
    "result of c1",
  ]);
  const { messages, loss } = await pf.session(session).render({ target: "vercel" });
  assert.deepEqual(loss, []);
  assert.match(JSON.stringify(messages), /"input":\{"at":"sea"\}.*attempt 1.*"input":\{"at":"sea"\}.*attempt 2/);
});

test("the AI SDK: a call that waits for approval is answered once, as it was decided", async () => {
  const session = "approved";
  const look = tool({ inputSchema, needsApproval: true, execute: () => "The sea." });
  const toolsOf = (each: Pagefault) =>
    vercel.storedTools(each, { look } as ToolSet, { session });
  const asking = [call("c1", "look"), call("c2", "look", { at: "land" })];
  const first = await generateText({
    model: wrapLanguageModel({ model: modelThat(asking), middleware: vercel.recorder(pf, session) }),
    messages: [user("Look.")],
    tools: toolsOf(pf),
  });
  const requests = first.content.filter(({ type }) => type === "tool-approval-request") as unknown as {
    approvalId: string;
  }[];
  assert.deepEqual(await historyOf(session), ["user: Look.", "assistant: tool-call c1, tool-call c2"]);
  const decisions = requests.map(({ approvalId }, index) => ({
    type: "tool-approval-response" as const,
    approvalId,
    approved: index === 0,
    ...(index > 0 && { reason: "Not there." }),
  }));
  const other = new Pagefault(service.url);
  const model = modelThat([text("The sea.")]);
  await generateText({
    model: wrapLanguageModel({ model, middleware: vercel.recorder(other, session) }),
    messages: [user("Look."), ...first.response.messages, { role: "tool", content: decisions }],
    tools: toolsOf(other),
  });
  assert.match(answersIn(model).join(), /The sea\..*execution-denied.*Not there\./);
  assert.deepEqual(await historyOf(session), [
    "user: Look.",
    "assistant: tool-call c1, tool-call c2",
    "result of c1",
    "tool: tool-result c2",
    "assistant: The sea.",
  ]);
  const { messages } = await pf.session(session).render({ target: "openai-chat" });
  assert.match(JSON.stringify(messages), /"content":"The sea\.".*Not there\./);
});

test("the AI SDK: a generator shows its previews, and is stored with its last value", async () => {
  const session = "generator";
  const watch = tool({
    inputSchema,
    async *execute() {
      yield "one";
      yield "two";
      yield "three";
    },
  });
  const seen: unknown[] = [];
  const model = modelThat([call("c1", "watch")]);
  const { fullStream } = streamText({
    model,
    messages: [user("Watch.")],
    tools: vercel.storedTools(pf, { watch } as ToolSet, { session }),
    stopWhen: isStepCount(3),
  });
  for await (const part of fullStream)
    if (part.type === "tool-result") seen.push(part.preliminary ? part.output : "the record");
  assert.deepEqual(seen.slice(0, 2), ["one", "two"]);
  assert.match(answersIn(model)[0]!, /three/);
  const [record] = await pf.toolResults.list({ sessionId: session }).all();
  assert.deepEqual(record!.sanitized.parts, [{ type: "text", text: "three" }]);
});

test("the AI SDK: of an answer that breaks off, what was seen of it is stored, and no call", async () => {
  const parts = (end: (controller: ReadableStreamDefaultController) => void) => {
    let left = 0;
    const chunks = [
      { type: "stream-start", warnings: [] },
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "The" },
      { type: "text-delta", id: "1", delta: " sea" },
      call("c1", "look"),
    ];
    return new ReadableStream({
      pull: (controller) =>
        left < chunks.length ? controller.enqueue(chunks[left++]) : end(controller),
    });
  };
  const ends: Record<string, (controller: ReadableStreamDefaultController) => void> = {
    broken: (controller) => controller.error(new Error("The line broke")),
    cancelled: () => undefined,
  };
  for (const [name, end] of Object.entries(ends)) {
    const middleware = vercel.recorder(pf, `early-${name}`);
    const doStream = async () => ({ stream: parts(end) }) as never;
    const params = { prompt: [{ role: "user", content: [{ type: "text", text: "Look." }] }] };
    const { stream } = await middleware.wrapStream!({ doStream, params } as never);
    const reader = stream.getReader();
    const seen: string[] = [];
    const read = async (most: number) => {
      for (let count = 0; count < most; count += 1) seen.push((await reader.read()).value!.type);
    };
    if (name === "broken") await assert.rejects(read(9), /The line broke/);
    else await read(4).then(() => reader.cancel());
    assert.deepEqual(seen, ["stream-start", "text-start", "text-delta", "text-delta"]);
    assert.deepEqual(await historyOf(`early-${name}`), ["user: Look.", "assistant: The sea"]);
  }
});

test("a model gets the six tools of the memory, as each framework declares tools", async () => {
  const names = ["page_fault", "search_pages", "read_text", "view_media", "save_page", "list_media"];
  assert.deepEqual(Object.keys(await vercel.memoryTools(pf, "six")), names);
  assert.deepEqual(Object.keys(await mastra.memoryTools(pf, "six")), names);
  for (const run of [RUNS["the AI SDK"]!, RUNS["Mastra"]!]) {
    const session = `six-${crypto.randomUUID()}`;
    const saved = { content: "Ten sheep.", ref: null, caption: null, page_type: null, pinned: null };
    const found = { query: "sheep", modality: null, limit: null };
    const model = modelThat(
      [call("c1", "save_page", saved)],
      [call("c2", "search_pages", found), call("c3", "list_media", { session: null, kind: null })],
    );
    await run({ session, model, messages: [user("Remember.")] });
    const [, search, media] = answersIn(model);
    assert.match(search!, /sheep/);
    assert.match(media!, /"type":"text"/);
  }
});

for (const decision of ["approve", "decline"] as const) {
  test(`Mastra: a call that waits for approval is answered once: ${decision}`, async () => {
    const session = `mastra-${decision}`;
    const eye = createTool({
      id: "eye",
      description: "Looks.",
      inputSchema,
      requireApproval: true,
      execute: async () => "The sea.",
    });
    const model = modelThat([call("c1", "look")], [text("I see.")]);
    const memory = new mastra.SessionProcessor(pf, session);
    const made = new Agent({
      id: "agent",
      name: "Agent",
      instructions: "",
      model: model as never,
      tools: mastra.storedTools(pf, { look: eye }, { session }),
      inputProcessors: [memory],
      outputProcessors: [memory],
    });
    const storage = new InMemoryStore();
    const agent = new Mastra({ agents: { agent: made }, storage, logger: false }).getAgent("agent");
    const { runId, fullStream } = await agent.stream("Look.");
    const kinds: string[] = [];
    for await (const { type } of fullStream) kinds.push(type);
    assert.ok(kinds.includes("tool-call-approval"));
    const called = ["user: Look.", "assistant: tool-call c1"];
    assert.deepEqual(await historyOf(session), called);
    const goOn = decision === "approve" ? agent.approveToolCall : agent.declineToolCall;
    const output = await goOn.call(agent, { runId, toolCallId: "c1" });
    assert.equal(await output.text, "I see.");
    const answer = decision === "approve" ? "result of c1" : "tool: tool-result c1";
    assert.deepEqual(await historyOf(session), [...called, answer, "assistant: I see."]);
    const words = decision === "approve" ? /The sea\./ : /not approved/;
    assert.match(answersIn(model).join(), words);
  });
}

test("Mastra: a tool that waits for somebody has no result until it goes on", async () => {
  const session = "suspended";
  const ask = createTool({
    id: "ask",
    description: "Asks.",
    inputSchema,
    suspendSchema: z.object({ question: z.string() }),
    resumeSchema: z.object({ answer: z.string() }),
    execute: async (_, { agent }): Promise<unknown> =>
      agent?.resumeData?.answer ?? (await agent?.suspend({ question: "Where?" })),
  });
  const { ask: stored } = mastra.storedTools(pf, { ask }, { session });
  const agent = { toolCallId: "c1", suspend: async () => undefined };
  const context = (more: object) => ({ agent: { ...agent, ...more } }) as never;
  await stored.execute!({ at: "sea" }, context({}));
  assert.deepEqual(await pf.toolResults.list({ sessionId: session }).all(), []);
  await stored.execute!({ at: "sea" }, context({ resumeData: { answer: "There." } }));
  assert.deepEqual(await historyOf(session), ["assistant: tool-call c1", "result of c1"]);
});

test("an agent works as without a memory where nothing can be stored", async () => {
  for (const { name, pf: away } of (await outages()).slice(0, 3)) {
    let failures = 0;
    const options = { onStoreError: () => void (failures += 1) };
    const plain = modelThat([call("c1", "look")], [text("Ten.")]);
    const look = tool({ inputSchema, execute: () => "ten" });
    const { text: said } = await generateText({
      model: wrapLanguageModel({ model: plain, middleware: vercel.recorder(away, "s", options) }),
      messages: [user("When?")],
      tools: vercel.storedTools(away, { look } as ToolSet, { session: "s", ...options }),
      stopWhen: isStepCount(3),
    });
    assert.deepEqual([said, answersIn(plain)], ["Ten.", ['{"type":"text","value":"ten"}']], name);
    const model = modelThat([call("c1", "look")], [text("Ten.")]);
    const memory = new mastra.SessionProcessor(away, "s", options);
    const tools = mastra.storedTools(
      away,
      { look: createTool({ id: "look", description: "", inputSchema, execute: async () => "ten" }) },
      { session: "s", ...options },
    );
    const processors = { inputProcessors: [memory], outputProcessors: [memory] };
    const own = { id: "a", name: "A", instructions: "", model: model as never };
    const agent = new Agent({ ...own, tools, ...processors });
    assert.equal((await agent.generate("When?")).text, "Ten.", name);
    assert.deepEqual(answersIn(model), ['{"type":"text","value":"ten"}'], name);
    assert.equal(failures, 11);
  }
});
