/** The adapters, with the packages that they are for. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Client as ClientV2, InMemoryTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport as TransportV1 } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer as ServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpServer as ServerV2 } from "@modelcontextprotocol/server";
import {
  convertToModelMessages,
  generateText,
  isStepCount,
  tool,
  type Tool,
  type ToolSet,
  type UIMessage,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

import { Pagefault, type SanitizedToolResult } from "../client/src/index.ts";
import { storedClient, storedHandler } from "../client/src/mcp.ts";
import { memoryTools, storedTools } from "../client/src/vercel.ts";
import { outages } from "./kit/outages.ts";
import { startService } from "./kit/service.ts";

const NOISE_PNG = Buffer.concat([
  Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  ),
  Buffer.alloc(2_000),
]).toString("base64");
const service = await startService();
const pf = new Pagefault(service.url);

type Calls = { toolName: string; input: object }[];

/** A model that calls tools, and then has done. */
function modelThat(calls: Calls) {
  const replies = calls.map(({ toolName, input }, index) => [
    {
      type: "tool-call" as const,
      toolCallId: `call_${index}`,
      toolName,
      input: JSON.stringify(input),
    },
  ]);
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const call = replies.shift();
      const finishReason = call ? ("tool-calls" as const) : ("stop" as const);
      return {
        content: call ?? [{ type: "text" as const, text: "Done." }],
        finishReason: { unified: finishReason, raw: undefined },
        usage: {
          inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 0, text: 0, reasoning: 0 },
        },
        warnings: [],
      };
    },
  });
}

test("the AI SDK: the model sees the image, and everybody else the record", async () => {
  await pf.pages.put("notes", { content: "Ten sheep.", session_id: "ai" });
  const yours = {
    look: tool({
      description: "Looks.",
      inputSchema: z.object({ at: z.string() }),
      execute: async ({ at }) => [
        { type: "text", text: at },
        { type: "image", data: NOISE_PNG, mimeType: "image/png" },
      ],
    }),
    fail: tool({
      inputSchema: z.object({}),
      execute: (): string => {
        throw new RangeError("It is dark");
      },
    }),
    watch: tool({
      inputSchema: z.object({}),
      async *execute() {
        yield "first";
        yield "last";
      },
      toModelOutput: ({ output }) => ({ type: "text", value: `seen: ${output}` }),
    }),
    asked: tool({ description: "Runs elsewhere.", inputSchema: z.object({}) }) as ToolSet[string],
  };
  const tools = {
    ...storedTools(pf, yours, { session: "ai" }),
    ...(await memoryTools(pf, "ai", { only: ["page_fault"] })),
  };
  assert.equal(tools.asked, yours.asked);
  const calls = [
    { toolName: "look", input: { at: "the sea" } },
    { toolName: "fail", input: {} },
    { toolName: "watch", input: {} },
    { toolName: "page_fault", input: { page_id: "notes", target_level: 0 } },
  ];
  const model = modelThat(calls);
  const { steps } = await generateText({ model, prompt: "Look.", tools, stopWhen: isStepCount(6) });

  const { prompt } = model.doGenerateCalls.at(-1)!;
  const outputs = prompt
    .filter(({ role }) => role === "tool")
    .map(({ content }) => (content as { output: object }[])[0]!.output);
  const [look, fail, watch, fault] = outputs.map((output) => JSON.stringify(output));
  assert.match(look!, /the sea.*image\/png/);
  assert.ok(look!.includes(NOISE_PNG.slice(0, 40)));
  assert.match(fail!, /error-text.*RangeError: It is dark/);
  assert.match(watch!, /seen: last/);
  assert.match(fault!, /Ten sheep\./);

  const record = steps[0]!.toolResults[0]!.output as unknown as {
    id: string;
    sanitized: SanitizedToolResult;
  };
  assert.deepEqual(
    record.sanitized.parts.map(({ type }) => type),
    ["text", "image"],
  );
  assert.deepEqual(await pf.toolResults.get(record.id), record);

  // After a restart, the record is all that there is.
  const part = {
    type: "tool-look" as const,
    toolCallId: "call_0",
    state: "output-available" as const,
    input: { at: "the sea" },
    output: record,
  };
  const kept = [{ role: "assistant", parts: [part] }] as unknown as Omit<UIMessage, "id">[];
  const again = storedTools(new Pagefault(service.url), yours, { session: "ai" });
  const messages = await convertToModelMessages(JSON.parse(JSON.stringify(kept)) as typeof kept, {
    tools: again,
  });
  assert.deepEqual(
    (messages.at(-1)!.content as { output: object }[])[0]!.output,
    JSON.parse(look!),
  );
});

/** What a model gets of one call of a tool. */
async function seenBy(clock: Tool): Promise<object> {
  const model = modelThat([{ toolName: "clock", input: {} }]);
  await generateText({ model, prompt: "When?", tools: { clock }, stopWhen: isStepCount(3) });
  const { content } = model.doGenerateCalls.at(-1)!.prompt.at(-1)!;
  return (content as { output: object }[])[0]!.output;
}

const inputSchema = z.object({});
const IMAGE = { type: "image", data: NOISE_PNG, mimeType: "image/png" };
const CLOCKS: Record<string, Tool> = {
  "a text": tool({ inputSchema, execute: () => "ten" }),
  "an object": tool({ inputSchema, execute: () => ({ hour: 10, at: null }) }),
  "an image": tool({ inputSchema, execute: async () => [IMAGE] }),
  "what it makes for the model": tool({
    inputSchema,
    execute: async () => ({ picture: NOISE_PNG }),
    toModelOutput: ({ output }) => ({
      type: "content",
      value: [
        { type: "file", mediaType: "image/png", data: { type: "data", data: output.picture } },
      ],
    }),
  }),
  "the last of a stream": tool({
    inputSchema,
    async *execute() {
      yield "nine";
      yield "ten";
    },
  }),
  "an error": tool({
    inputSchema,
    execute: (): string => {
      throw new RangeError("It is dark");
    },
  }),
} as Record<string, Tool>;

test("the AI SDK: the model sees the tool's own output if that could not be stored", async () => {
  for (const { name, pf: away } of await outages()) {
    for (const [returned, clock] of Object.entries(CLOCKS)) {
      const told: unknown[] = [];
      const options = { onStoreError: (failure: unknown) => told.push(failure) };
      const seen = await seenBy(storedTools(away, { clock }, options).clock);
      assert.deepEqual(seen, await seenBy(clock), `${name}, ${returned}`);
      assert.equal(told.length, 1);
    }
  }
});

test("the AI SDK: what was stored is seen as its record where the service has died since", async () => {
  const clock = tool({ inputSchema, execute: () => [IMAGE, { type: "text", text: "ten" }] });
  const call = { toolCallId: "call_0", messages: [] };
  const record = await storedTools(pf, { clock }).clock.execute!({}, call as never);
  const output: unknown = JSON.parse(JSON.stringify(record));
  for (const { name, pf: away } of await outages()) {
    const told: unknown[] = [];
    const restarted = storedTools(away, { clock }, { onStoreError: (each) => told.push(each) });
    const seen = await restarted.clock.toModelOutput!({ ...call, input: {}, output } as never);
    const { sanitized } = output as { sanitized: object };
    assert.deepEqual(seen, { type: "json", value: sanitized }, name);
    assert.equal(told.length, 1);
  }
});

function look() {
  return {
    content: [
      { type: "image" as const, data: NOISE_PNG, mimeType: "image/png" },
      { type: "text" as const, text: "A dot." },
    ],
  };
}

async function connectedV1(handler: typeof look | (() => Promise<ReturnType<typeof look>>)) {
  const server = new ServerV1({ name: "eye", version: "1.0.0" });
  server.registerTool("look", { description: "Looks." }, handler);
  const [here, there] = TransportV1.createLinkedPair();
  const client = new ClientV1({ name: "host", version: "1.0.0" });
  await Promise.all([server.connect(there), client.connect(here)]);
  return client;
}

async function connectedV2(handler: typeof look | (() => Promise<ReturnType<typeof look>>)) {
  const server = new ServerV2({ name: "eye", version: "1.0.0" });
  server.registerTool("look", { description: "Looks." }, handler);
  const [here, there] = TransportV2.createLinkedPair();
  const client = new ClientV2({ name: "host", version: "1.0.0" });
  await Promise.all([server.connect(there), client.connect(here)]);
  return client;
}

for (const [version, connected] of Object.entries({ 1: connectedV1, 2: connectedV2 })) {
  test(`MCP SDK ${version}: a host stores what tools return, and shows it with its handle`, async () => {
    const session = `host-${version}`;
    const client = storedClient(pf, await connected(look), { session });
    assert.deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ["look"],
    );
    const shown = (await client.callTool({ name: "look", arguments: {} })) as {
      content: { type: string; text?: string }[];
    };
    assert.deepEqual(
      shown.content.map(({ type }) => type),
      ["image", "text", "text"],
    );
    const [stored] = await pf.toolResults.list({ sessionId: session }).all();
    assert.ok(
      shown.content.some(({ text }) => text?.includes(`@${stored!.sanitized.resources[0]!.uri}`)),
    );
    await client.close();
  });

  test(`MCP SDK ${version}: a server stores what its handlers return`, async () => {
    const session = `server-${version}`;
    const client = await connected(storedHandler(pf, "look", look, { session, handles: false }));
    const shown = (await client.callTool({ name: "look", arguments: {} })) as { content: object[] };
    assert.deepEqual(shown.content, look().content);
    assert.equal((await pf.toolResults.list({ sessionId: session }).all()).length, 1);
    await client.close();
  });
}

for (const [version, connected] of Object.entries({ 1: connectedV1, 2: connectedV2 })) {
  test(`MCP SDK ${version}: a host gets the server's own result if that could not be stored`, async () => {
    for (const { name, pf: away } of await outages()) {
      let failures = 0;
      const options = { onStoreError: () => void (failures += 1) };
      const plain = await connected(look);
      const alone = await plain.callTool({ name: "look", arguments: {} });
      const host = storedClient(away, plain, options);
      assert.deepEqual(await host.callTool({ name: "look", arguments: {} }), alone, name);
      const client = await connected(storedHandler(away, "look", look, options));
      assert.deepEqual(await client.callTool({ name: "look", arguments: {} }), alone, name);
      assert.equal(failures, 2);
      await Promise.all([plain.close(), client.close()]);
    }
  });
}

test("the MCP adapter passes on what asks for input, and stores why a handler failed", async () => {
  const asking = storedHandler(pf, "ask", async () => ({ resultType: "input_required" }), {
    session: "asking",
  });
  assert.deepEqual(await asking(), { resultType: "input_required" });
  assert.deepEqual(await pf.toolResults.list({ sessionId: "asking" }).all(), []);
  const failing = storedHandler(pf, "fail", (): { isError?: boolean } => {
    throw new Error("No.");
  });
  assert.equal((await failing()).isError, true);
});
