// Your tools, whose results the memory keeps, and the memory's own, for the Vercel AI SDK
// (`npm install ai @pagefault/client`):
//
//     const { text } = await generateText({
//       model, prompt, tools: await toolsWithMemory("demo", yours), stopWhen: stepCountIs(8),
//     });
//
// With version 6 of `ai`, the third argument is "vercel-6".

import { Pagefault } from "@pagefault/client";
import { memoryTools, storedTools } from "@pagefault/client/vercel";

// Where it is and the key are in PAGEFAULT_URL and PAGEFAULT_API_KEY.
const memory = new Pagefault();

export async function toolsWithMemory(session, yours = {}, target = "vercel") {
  return {
    ...storedTools(memory, yours, { session, target }),
    ...(await memoryTools(memory, session, { target })),
  };
}
