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

import { Pagefault, type TurnStep } from "@pagefault/client";

const {
  OPENAI_BASE_URL = "https://api.openai.com/v1",
  OPENAI_API_KEY = "",
  MODEL = "gpt-5.2",
} = process.env;

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
  const response = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${OPENAI_API_KEY}` },
    body: JSON.stringify({ model: MODEL, messages, tools: [...memory, clock] }),
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
  { message: { role: "user", content: process.argv[2] ?? "What do you remember?" } },
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
