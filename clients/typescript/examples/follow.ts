// Prints what is written to a session, from its beginning, as it is written.
//
//     node follow.ts demo
//
// It needs Node.js 22.18 or later, and @pagefault/client beside it; from a clone of Pagefault:
//
//     make clients-typescript
//     .venv/bin/node clients/typescript/examples/follow.ts demo
//
// It goes on after broken connections and restarts of the service, and misses nothing.

import process from "node:process";
import { parseArgs } from "node:util";

import { Pagefault, type StreamEvent } from "@pagefault/client";

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
  console.log(`node follow.ts [SESSION]

PAGEFAULT_URL and PAGEFAULT_API_KEY are those of Pagefault. The session is "demo" by default.`);
  process.exit();
}

function line(event: StreamEvent): string {
  switch (event.event) {
    case "llmservice:toolResult":
      return `${event.data.toolName}: ${event.data.sanitized.parts.map((part) => (part.type === "text" ? part.text : part.mimeType)).join(" · ")}`;
    case "message:created":
      return `${event.data.role}: ${JSON.stringify(event.data.message["content"])}`;
    case "page:created":
    case "page:updated":
      return `page ${event.data.id}, version ${event.data.version}`;
    case "reset":
      return `(what was written before ${event.data.position} is no longer kept as events; read the history)`;
    default:
      return event.event;
  }
}

const pf = new Pagefault();
// Events are waited for; that nothing runs at this URL is said at once.
await pf.version();
const session = pf.session(positionals[0] ?? "demo");
for await (const event of session.events({ after: 0, onState: (state) => console.error(state) })) {
  console.log(`${event.id}  ${line(event)}`);
}
