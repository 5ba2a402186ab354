/** The example of a route that passes on what pages without a key read. */
import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { test, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";

import { memoryRoute } from "../examples/memoryRoute.ts";

async function serve(context: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("an answer that a proxy would compress arrives as it was sent", async (context) => {
  const text = JSON.stringify({ items: [] });
  const url = await serve(context, (request, response) => {
    const isPacked = request.headers["accept-encoding"]?.includes("gzip");
    if (isPacked) response.setHeader("Content-Encoding", "gzip");
    response.end(isPacked ? gzipSync(text) : text);
  });
  Object.assign(process.env, { PAGEFAULT_URL: url, PAGEFAULT_API_KEY: "pf_key" });
  const memory = memoryRoute(() => true);
  for (const name of ["PAGEFAULT_URL", "PAGEFAULT_API_KEY"]) delete process.env[name];
  const answer = await memory(new Request("http://app/memory/shown/api/sessions/shown/messages"));
  assert.equal(await answer.text(), text);
});
