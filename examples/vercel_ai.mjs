// The memory's tools for the Vercel AI SDK (`npm install ai`), beside your own:
//
//     const { text } = await generateText({
//       model, prompt, tools: await memoryTools("demo"), stopWhen: stepCountIs(8),
//     });

import { jsonSchema, tool } from "ai";

const memory = process.env.PAGEFAULT_URL ?? "http://127.0.0.1:8000";
const request = { method: "POST", headers: { "Content-Type": "application/json" } };

export async function memoryTools(session) {
  const { tools } = await (await fetch(`${memory}/api/tools?target=vercel`)).json();
  const made = tools.map(({ name, description, inputSchema }) => {
    const execute = async (input, { toolCallId: id }) => {
      const body = JSON.stringify({ target: "vercel", id, name, arguments: input });
      const answer = await fetch(`${memory}/api/sessions/${session}/tool-calls`, { ...request, body });
      return (await answer.json()).messages[0].content[0].output;
    };
    const toModelOutput = ({ output }) => output;
    return [name, tool({ description, inputSchema: jsonSchema(inputSchema), execute, toModelOutput })];
  });
  return Object.fromEntries(made);
}
