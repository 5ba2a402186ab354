/** Serves a route of web standards with `node:http`, as frameworks do. */
import type { RequestListener } from "node:http";
import { pipeline } from "node:stream/promises";

export type WebRoute = (request: Request) => Promise<Response>;

export function webListener(route: WebRoute): RequestListener {
  return async (incoming, outgoing) => {
    const over = new AbortController();
    outgoing.on("close", () => over.abort());
    const { method = "GET", url = "", headers } = incoming;
    const request = new Request(new URL(url, "http://app"), {
      method,
      headers: headers as Record<string, string>,
      body: method === "POST" ? Buffer.concat(await incoming.toArray()) : null,
      signal: over.signal,
    });
    try {
      const answer = await route(request);
      outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
      await pipeline(answer.body ?? [], outgoing);
    } catch {
      // The browser has gone.
      outgoing.destroy();
    }
  };
}
