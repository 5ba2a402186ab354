/** A bad line before a service: it answers for the service, breaks off, or changes what comes. */
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";

/** What happens to a request; undefined where the line works. */
export type Fault =
  | { answer: number; headers?: Record<string, string>; body?: string }
  /** The service has answered, and the answer is lost. */
  | "lose-answer"
  /** The request never arrives. */
  | "lose-request"
  /** So many bytes of the answer's body arrive. */
  | { cutAfter: number }
  /** So many bytes of the request's body arrive. */
  | { cutRequestAfter: number }
  /** The first byte of the answer's body is another one. */
  | "corrupt"
  /** The first byte of the request's body is another one. */
  | "corrupt-request"
  /** Nothing ever comes. */
  | "hang";

export interface BadLine {
  readonly url: string;
  /** Each request, as `METHOD /path`, in order. */
  readonly requests: string[];
  /** What is to happen to the next requests of which the text has this in it, one after the other. */
  break(text: string, ...faults: Fault[]): void;
}

export async function badLine(target: string): Promise<BadLine> {
  const plans: { text: string; fault: Fault }[] = [];
  const requests: string[] = [];
  const server = createServer((asked, answer) => {
    const named = `${asked.method} ${asked.url}`;
    requests.push(named);
    const index = plans.findIndex(({ text }) => named.includes(text));
    const [plan] = index < 0 ? [] : plans.splice(index, 1);
    carry(asked, answer, target, plan?.fault);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    break: (text, ...faults) => plans.push(...faults.map((fault) => ({ text, fault }))),
  };
}

function carry(
  asked: IncomingMessage,
  answer: ServerResponse,
  target: string,
  fault: Fault | undefined,
): void {
  if (fault === "hang") return;
  if (fault === "lose-request") return void asked.socket.destroy();
  if (typeof fault === "object" && "answer" in fault) {
    asked.resume();
    answer.writeHead(fault.answer, fault.headers).end(fault.body);
    return;
  }
  const { hostname, port, host } = new URL(target);
  const { method, url: path } = asked;
  const headers = { ...asked.headers, host };
  const onward = request({ hostname, port, path, method, headers, agent: false }, (got) => {
    if (fault === "lose-answer") {
      got.resume().on("end", () => asked.socket.destroy());
      return;
    }
    answer.writeHead(got.statusCode ?? 0, got.headers);
    answer.flushHeaders();
    let left = typeof fault === "object" && "cutAfter" in fault ? fault.cutAfter : Infinity;
    let isFirst = true;
    got.on("data", (chunk: Buffer) => {
      if (fault === "corrupt" && isFirst) chunk[0]! ^= 1;
      isFirst = false;
      const sent = chunk.subarray(0, left);
      left -= sent.length;
      answer.write(sent, () => left <= 0 && asked.socket.destroy());
    });
    got.on("end", () => left > 0 && answer.end());
    got.on("error", () => asked.socket.destroy());
  });
  onward.on("error", () => asked.socket.destroy());
  answer.on("close", () => onward.destroy());
  let room =
    typeof fault === "object" && "cutRequestAfter" in fault ? fault.cutRequestAfter : Infinity;
  let isFirst = true;
  asked.on("data", (chunk: Buffer) => {
    if (fault === "corrupt-request" && isFirst) chunk[0]! ^= 1;
    isFirst = false;
    const sent = chunk.subarray(0, room);
    room -= sent.length;
    // What has been sent has to arrive before the line breaks.
    onward.write(sent, () => {
      if (room <= 0) setImmediate(() => asked.socket.destroy());
    });
  });
  asked.on("end", () => onward.end());
}
