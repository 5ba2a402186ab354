// A route of an application's own server, for pages that show a session and have no key. It passes on
// what they read, and signs links to media, both only of sessions that the user may see.
//
//     const memory = memoryRoute(maySee);   // with PAGEFAULT_URL and PAGEFAULT_API_KEY in the environment
//     createServer((request, response) => request.url?.startsWith("/memory/") ? memory(request, response) : …)
//
// and in a page: <PagefaultProvider client={new Pagefault(`/memory/${sessionId}`)} signedLinks>
//
// It needs Node.js 22.18 or later, and @pagefault/client beside it.

import type { IncomingMessage, ServerResponse } from "node:http";
import process from "node:process";
import { pipeline } from "node:stream/promises";

import { Pagefault } from "@pagefault/client";

const READ = /^\/memory\/([\w.:-]+)(\/api\/sessions\/\1(?:\/(?:messages|outline|events)(?:\/\d+)?)?)$/;
const FILE = /^\/memory\/([\w.:-]+)(\/api\/resources\/([0-9a-f]{32})(?:\/(?:content|text|poster|signed-url))?)$/;
const LONGEST_BODY = 1_000;

/** Yours: whether the user who sent a request is signed in, and may see a session. */
type MaySee = (request: IncomingMessage, sessionId: string) => boolean | Promise<boolean>;

export function memoryRoute(maySee: MaySee) {
  const pf = new Pagefault();
  const key = process.env["PAGEFAULT_API_KEY"];

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      await passOn(request, response);
    } catch {
      // The service is not there, or the browser has gone.
      if (!response.headersSent) response.writeHead(502);
      response.end();
    }
  };

  async function passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(request.url ?? "", "http://app");
    const [, sessionId = "", path = "", id] = READ.exec(pathname) ?? FILE.exec(pathname) ?? [];
    const isSigning =
      request.method === "POST" &&
      path.endsWith("/signed-url") &&
      Number(request.headers["content-length"]) <= LONGEST_BODY;
    const isAllowed =
      (isSigning || request.method === "GET") &&
      (await maySee(request, sessionId)) &&
      (id === undefined || (await hasFile(sessionId, id)));
    if (!isAllowed) return void response.writeHead(404).end();

    const over = new AbortController();
    response.on("close", () => over.abort());
    const answer = await fetch(pf.url(path + search), {
      method: isSigning ? "POST" : "GET",
      // `fetch` would unpack what is compressed, and its headers would still say that it is.
      headers: { ...passed(request), Authorization: `Bearer ${key}`, "Accept-Encoding": "identity" },
      body: isSigning ? Buffer.concat(await request.toArray()) : null,
      signal: over.signal,
      redirect: "manual",
    });
    // Its headers keep a stored page from running in yours: pass all of them on.
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    await pipeline(answer.body ?? [], response);
  }

  /** A project has files of many sessions; this finds only those that the session refers to. */
  async function hasFile(sessionId: string, id: string): Promise<boolean> {
    const query = { sessionId, as: "signed-url", arguments: `@blob:${id}` } as const;
    return (await pf.resolve(query)).resolved.length > 0;
  }
}

function passed({ headers }: IncomingMessage): Record<string, string> {
  const names = ["accept", "content-type", "range", "if-none-match"] as const;
  return Object.fromEntries(names.flatMap((name) => (headers[name] ? [[name, headers[name]]] : [])));
}
