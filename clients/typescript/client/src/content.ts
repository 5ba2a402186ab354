/**
 * Content as a stream that survives a broken connection, and is compared with its digest.
 *
 * After a break the rest is asked for, if the content is still the same. The whole of a content is
 * verified; of a part there is no digest.
 */
import { APIConnectionError, PagefaultError } from "./errors.ts";
import { expectDigest, Sha256 } from "./sha256.ts";
import {
  backoffMs,
  pause,
  splitOptions,
  type Query,
  type RequestOptions,
  type Transport,
} from "./transport.ts";

/** Bytes from `start` on, up to `end` (not included) if it is given. */
export interface ByteRange {
  readonly start: number;
  readonly end?: number | undefined;
}

export interface ContentOptions extends RequestOptions {
  readonly range?: ByteRange | undefined;
}

interface Source extends ContentOptions {
  readonly path: string;
  readonly query?: Query;
  /** As descriptors spell it, asked for only where the response does not tell it. */
  readonly digest?: () => Promise<string | undefined>;
}

/** The response with the content at a path; reading its body rejects if the bytes are others. */
export async function openContent(transport: Transport, source: Source): Promise<Response> {
  const { range, signal, path, query } = source;
  const [options] = splitOptions(source);
  const call = { ...options, path, query };
  const headers = { Range: range && spelled(range), ...source.headers };
  const first = await transport.response({ ...call, headers });
  const isWhole = first.status === 200;
  const start = isWhole ? 0 : startOf(first);
  const told = first.headers.get("Content-Length");
  const end = told === null ? undefined : start + Number(told);
  const digest = isWhole ? (digestOf(first) ?? (await source.digest?.())) : undefined;
  const ifMatch = first.redirected ? undefined : (first.headers.get("ETag") ?? undefined);

  async function reopen(at: number): Promise<Response> {
    const next = await transport.response({
      ...call,
      ifMatch,
      headers: { ...source.headers, Range: spelled({ start: at, end }) },
    });
    if (next.status === 206 && startOf(next) === at) return next;
    await next.body?.cancel();
    throw new PagefaultError(`The content broke off at ${at}, and its rest cannot be asked for`);
  }

  const maxRetries = source.maxRetries ?? transport.options.maxRetries ?? 3;
  const onBreak = (cause: unknown, waitMs: number) =>
    transport.logRetry(`GET ${path}`, cause ?? "The content broke off", waitMs);
  const body = steady(first, { start, end, digest, reopen, maxRetries, signal, onBreak });
  return new Response(body, { status: first.status, headers: first.headers });
}

interface Steady {
  readonly start: number;
  readonly end: number | undefined;
  readonly digest: string | undefined;
  readonly maxRetries: number;
  readonly signal: AbortSignal | undefined;
  readonly reopen: (at: number) => Promise<Response>;
  readonly onBreak: (cause: unknown, waitMs: number) => void;
}

function steady(
  first: Response,
  { start, end, digest, reopen, maxRetries, signal, onBreak }: Steady,
): ReadableStream<Uint8Array> {
  const hash = digest === undefined ? undefined : new Sha256();
  let reader = readerOf(first);
  let at = start;
  let breaks = 0;

  async function next(): Promise<Uint8Array | undefined> {
    for (;;) {
      let cause: unknown;
      try {
        const { done, value } = await reader.read();
        if (!done) return value;
        if (end === undefined || at >= end) return undefined;
      } catch (failure) {
        cause = failure;
      }
      signal?.throwIfAborted();
      if (end === undefined || breaks >= maxRetries) {
        throw new APIConnectionError(`The content broke off after ${at - start} bytes`, { cause });
      }
      const waitMs = backoffMs(breaks);
      onBreak(cause, waitMs);
      await pause(waitMs, signal);
      breaks += 1;
      reader = readerOf(await reopen(at));
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await next();
        if (bytes !== undefined) {
          at += bytes.length;
          breaks = 0;
          hash?.update(bytes);
          controller.enqueue(bytes);
          return;
        }
        if (hash && digest) expectDigest(hash, digest, "The content that came");
        controller.close();
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function readerOf(response: Response): ReadableStreamDefaultReader<Uint8Array> {
  return (response.body ?? new Blob().stream()).getReader();
}

function spelled({ start, end }: ByteRange): string {
  return `bytes=${start}-${end === undefined ? "" : end - 1}`;
}

function startOf(response: Response): number {
  return Number(/^bytes (\d+)-/.exec(response.headers.get("Content-Range") ?? "")?.[1] ?? 0);
}

/** The SHA-256 in `Repr-Digest` (RFC 9530), as descriptors spell it. */
function digestOf(response: Response): string | undefined {
  const base64 = /sha-256=:([A-Za-z0-9+/=]+):/.exec(response.headers.get("Repr-Digest") ?? "")?.[1];
  if (base64 === undefined) return undefined;
  const pairs = Array.from(atob(base64), (byte) => byte.charCodeAt(0).toString(16).padStart(2, "0"));
  return `sha-256:${pairs.join("")}`;
}
