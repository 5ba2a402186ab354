/** Services with which no result can be stored or shown, each by what is wrong with it. */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";

import { Pagefault } from "../../client/src/index.ts";

const problem = (status: number, headers: Record<string, string> = {}) => (answer: ServerResponse) =>
  answer
    .writeHead(status, { "Content-Type": "application/problem+json", ...headers })
    .end(JSON.stringify({ title: "No", status, detail: "No.", code: "no", requestId: "r1" }));

const json = (value: unknown) => (answer: ServerResponse) =>
  answer.writeHead(201, { "Content-Type": "application/json" }).end(JSON.stringify(value));

const ANSWERS: Record<string, (answer: ServerResponse) => unknown> = {
  silent: () => undefined,
  "cut-before-its-answer": (answer) => answer.destroy(),
  "cut-within-its-answer": (answer) => {
    answer.writeHead(201, { "Content-Type": "application/json", "Content-Length": "4000" });
    answer.write('{"id": "', () => answer.destroy());
  },
  "answers-500": problem(500),
  "answers-503": problem(503, { "Retry-After": "3600" }),
  "answers-413": problem(413),
  "answers-401": problem(401),
  "a-page-of-a-proxy": (answer) =>
    answer.writeHead(200, { "Content-Type": "text/html" }).end("<h1>Welcome</h1>"),
  "other-json": json([]),
  "not-rendered": json({ id: "r1", sanitized: {}, rendering: null }),
  "rendered-otherwise": json({ id: "r1", sanitized: {}, rendering: { messages: [] } }),
};

export interface Outage {
  readonly name: string;
  readonly pf: Pagefault;
}

export async function outages(key?: string): Promise<Outage[]> {
  const server = createServer((asked, answer) => {
    asked.resume().on("end", () => ANSWERS[asked.url!.split("/")[1]!]!(answer));
  });
  const url = await listening(server);
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const options = { apiKey: key, maxRetries: 0, timeoutMs: 100 };
  return [
    { name: "down-from-the-start", pf: new Pagefault(await unusedUrl(), options) },
    ...Object.keys(ANSWERS).map((name) => ({ name, pf: new Pagefault(`${url}/${name}`, options) })),
  ];
}

/** A URL at which nothing listens. */
export async function unusedUrl(): Promise<string> {
  const server = createServer();
  const url = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return url;
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
