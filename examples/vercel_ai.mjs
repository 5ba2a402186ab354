// The memory's tools for the Vercel AI SDK (`npm install ai`), beside your own:
//
//     const { text } = await generateText({
//       model, prompt, tools: await memoryTools("demo"), stopWhen: stepCountIs(8),
//     });

import { jsonSchema, tool } from "ai";

const memory = process.env.PAGEFAULT_URL ?? "http://127.0.0.1:8000";
const headers = { "Content-Type": "application/json" };

export async function memoryTools(session) {
  const { tools } = await (await fetch(`${memory}/api/tools?target=vercel`)).json();
  const made = tools.map(({ name, description, inputSchema }) => {
    const execute = async (input, { toolCallId }) => {
      const body = JSON.stringify({ target: "vercel", id: toolCallId, name, arguments: input });
      const path = `/api/sessions/${session}/tool-calls`;
      const answer = await fetch(memory + path, { method: "POST", headers, body });
      return (await answer.json()).messages[0].content[0].output;
    };
    const shown = ({ output }) => output;
    const schema = jsonSchema(inputSchema);
    return [name, tool({ description, inputSchema: schema, execute, toModelOutput: shown })];
  });
  return Object.fromEntries(made);
}
