// A route of an application's own server, for pages that show a session and have no key. It passes on
// what they read, and signs links to media, both only of sessions that the user may see.
//
// It takes a `Request` and returns a `Response`, as routes of Next.js, SvelteKit, React Router and Hono do:
//
//     const memory = memoryRoute(maySee);   // with PAGEFAULT_URL and PAGEFAULT_API_KEY in the environment
//     export { memory as GET, memory as POST };   // app/memory/[...path]/route.ts of Next.js
//
// and in a page: <PagefaultProvider client={new Pagefault(`/memory/${sessionId}`)} signedLinks>

import process from "node:process";

import { Pagefault } from "@pagefault/client";

const READ = /^\/memory\/([\w.:-]+)(\/api\/sessions\/\1(?:\/(?:messages|outline|events)(?:\/\d+)?)?)$/;
const FILE = /^\/memory\/([\w.:-]+)(\/api\/resources\/([0-9a-f]{32})(?:\/(?:content|text|poster|signed-url))?)$/;
const LONGEST_BODY = 1_000;
const PASSED = ["accept", "content-type", "range", "if-none-match"];

/** Yours: whether the user who sent a request is signed in, and may see a session. */
type MaySee = (request: Request, sessionId: string) => boolean | Promise<boolean>;

export function memoryRoute(maySee: MaySee): (request: Request) => Promise<Response> {
  const pf = new Pagefault();
  const key = process.env["PAGEFAULT_API_KEY"];

  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const [, sessionId = "", path = "", id] = READ.exec(pathname) ?? FILE.exec(pathname) ?? [];
    const isShort = Number(request.headers.get("content-length") ?? Infinity) <= LONGEST_BODY;
    const isSigning = request.method === "POST" && path.endsWith("/signed-url") && isShort;
    const isAllowed =
      path !== "" &&
      (isSigning || request.method === "GET") &&
      (await maySee(request, sessionId)) &&
      (id === undefined || (await hasFile(sessionId, id)));
    if (!isAllowed) return new Response(null, { status: 404 });

    // `fetch` would unpack what is compressed, and its headers would still say that it is.
    const headers = new Headers({ Authorization: `Bearer ${key}`, "Accept-Encoding": "identity" });
    for (const [name, value] of request.headers) if (PASSED.includes(name)) headers.set(name, value);
    // The headers of the answer keep a stored page from running in yours: all of them are passed on.
    return fetch(pf.url(path + search), {
      method: request.method,
      headers,
      body: isSigning ? await request.text() : null,
      signal: request.signal,
      redirect: "manual",
      cache: "no-store",
    });
  };

  /** A project has files of many sessions; this finds only those that the session refers to. */
  async function hasFile(sessionId: string, id: string): Promise<boolean> {
    const query = { sessionId, as: "signed-url", arguments: `@blob:${id}` } as const;
    return (await pf.resolve(query)).resolved.length > 0;
  }
}
