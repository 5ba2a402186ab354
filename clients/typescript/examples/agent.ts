// An agent on any server with Chat Completions, whose memory is Pagefault: every step is one turn.
//
//     OPENAI_API_KEY=… node agent.ts "What is in the notes?"
//
// It needs Node.js 22.18 or later, and @pagefault/client beside it; from a clone of Pagefault:
//
//     make clients-typescript
//     OPENAI_API_KEY=… .venv/bin/node clients/typescript/examples/agent.ts "What is in the notes?"
//
// The model is offered the tools of the memory, and `clock`. The conversation is kept by the client,
// which asks the service only for what is new.

import process from "node:process";
import { parseArgs } from "node:util";

import { Pagefault, type TurnStep } from "@pagefault/client";

// What goes wrong is said in a line.
process.on("uncaughtException", ({ name, message }) => {
  console.error(`${name}: ${message}`);
  if (name === "APIConnectionError") console.error("Start Pagefault, or name its URL in PAGEFAULT_URL.");
  if (name === "AuthenticationError") console.error("Set PAGEFAULT_API_KEY to a key of it.");
  process.exit(1);
});

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: "boolean", short: "h" } },
});
if (values.help) {
  console.log(`node agent.ts [QUESTION]

PAGEFAULT_URL and PAGEFAULT_API_KEY are those of Pagefault, OPENAI_BASE_URL, OPENAI_API_KEY and
MODEL those of the model, and SESSION is where the conversation is stored.`);
  process.exit();
}
const [question = "What do you remember?"] = positionals;
const { OPENAI_BASE_URL, OPENAI_API_KEY = "", MODEL = "gpt-5.2" } = process.env;
if (!OPENAI_API_KEY && !OPENAI_BASE_URL) throw new Error("Set OPENAI_API_KEY, or OPENAI_BASE_URL.");
const modelUrl = OPENAI_BASE_URL ?? "https://api.openai.com/v1";

interface Reply {
  content: string | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
}

const pf = new Pagefault();
const session = pf.session(process.env["SESSION"] ?? "demo");
const target = "openai-chat";
const conversation = session.conversation({ target });
const { tools: memory } = await pf.tools.list({ target });
const own = { clock: () => new Date().toISOString() };
const clock = {
  type: "function",
  function: {
    name: "clock",
    description: "The time.",
    parameters: { type: "object", properties: {} },
  },
};

async function ask(messages: readonly object[]): Promise<Reply & { role: string }> {
  const response = await fetch(`${modelUrl}/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${OPENAI_API_KEY}` },
    body: JSON.stringify({ model: MODEL, messages, tools: [...memory, clock] }),
  }).catch(() => {
    throw new Error(`No answer from ${modelUrl}; OPENAI_BASE_URL names another.`);
  });
  if (!response.ok) throw new Error(await response.text());
  return ((await response.json()) as { choices: [{ message: Reply & { role: string } }] })
    .choices[0].message;
}

/** What answers a call: a result of our own, or a call that the memory runs. */
function answer({
  id,
  function: { name, arguments: given },
}: NonNullable<Reply["tool_calls"]>[number]): TurnStep {
  if (name in own)
    return {
      toolResult: { toolName: name, toolCallId: id, result: own[name as keyof typeof own]() },
    };
  return { toolCall: { id, name, arguments: given } };
}

let messages = await conversation.turn([
  { message: { role: "user", content: question } },
]);
for (;;) {
  const reply = await ask(messages);
  messages = await conversation.turn([
    { message: { ...reply } },
    ...(reply.tool_calls ?? []).map(answer),
  ] as TurnStep[]);
  if (!reply.tool_calls?.length) {
    console.log(reply.content);
    break;
  }
}
