/**
 * How a request is sent: with the key, within its time, and again where that is safe and of use.
 *
 * A request is repeated after a broken connection, a time-out, and answers that ask for it, if the
 * service recognises the repetition. Other requests are repeated only where the service has
 * answered that it did nothing and says when it can be asked again.
 */
import {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIStatusError,
  errorOf,
  PagefaultError,
} from "./errors.ts";
import { jsonOf } from "./values.ts";

/** A value, or what gives one each time that it is asked for. */
export type Provided<Value> = Value | (() => Value | Promise<Value>);

export interface ClientOptions {
  /** An API key, or what gives one; without it requests go out without a key. */
  readonly apiKey?: Provided<string | null | undefined> | undefined;
  /** Returns a ticket for events, for browsers, which must not have the key. */
  readonly ticket?: (() => string | Promise<string>) | undefined;
  /** The timeout of one attempt in milliseconds; 60,000 by default. */
  readonly timeoutMs?: number | undefined;
  /** The maximum number of retries; 3 by default. */
  readonly maxRetries?: number | undefined;
  /** Headers of every request. */
  readonly defaultHeaders?: RequestHeaders | undefined;
  /** Receives a line before each retry, such as `console`. */
  readonly logger?: Pick<Console, "info"> | undefined;
  /** The function that sends requests, in place of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Called when a request was answered 401, with the key that it carried. */
  readonly onUnauthorized?: ((key: string | null) => void) | undefined;
}

export type RequestHeaders = Readonly<Record<string, string | undefined>>;

/** The options of every method. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly maxRetries?: number | undefined;
  readonly headers?: RequestHeaders | undefined;
}

/** An answer of the service: its value, and what came with it. */
export interface WithResponse<Value> {
  readonly data: Value;
  /** The response, whose body has been read: its status and headers, such as the `ETag`. */
  readonly response: Response;
  /** The id of the request in the log of the service. */
  readonly requestId: string | null;
}

/** A promise of a value, which also has the response. */
export interface ApiPromise<Value> extends Promise<Value> {
  withResponse(): Promise<WithResponse<Value>>;
}

export type Idempotent = RequestOptions & { readonly idempotencyKey?: string | undefined };

export interface Conditions {
  /** Do it only if this is the present ETag. */
  readonly ifMatch?: string | undefined;
  /** `*`: only if there is none yet. */
  readonly ifNoneMatch?: string | undefined;
}

export type Query = Readonly<Record<string, unknown>>;

/** The queries of a route; one that is undefined is left out. */
export type QueryOf<Data extends { query?: unknown }> = Loose<NonNullable<Data["query"]>>;

type Loose<Members> = { [Name in keyof Members]: Members[Name] | undefined };

export interface Call extends RequestOptions, Conditions {
  readonly method?: string;
  readonly path: string;
  readonly query?: Query | undefined;
  /** Sent as JSON; it may have bytes, files, maps and sets. */
  readonly json?: unknown;
  readonly body?: BodyInit | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The request is idempotent, as GET, HEAD, PUT and DELETE always are. */
  readonly isRepeatable?: boolean | undefined;
  /** The function that sends this request, in place of the usual one. */
  readonly fetch?: typeof fetch | undefined;
}

const REPEATABLE_METHODS = new Set(["GET", "HEAD", "PUT", "DELETE"]);
const PASSING = new Set([408, 429, 502, 503, 504]);
const PASSING_CODES = new Set(["request-in-flight", "request-superseded"]);
/** Errors that persist until an operator acts. */
const LASTING_CODES = new Set(["store-misconfigured", "blob-missing"]);
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 60_000;

export class Transport {
  readonly baseUrl: string;
  readonly options: Omit<ClientOptions, "apiKey">;
  /** Private at run time too, so that nothing that prints a client shows it. */
  readonly #key: ClientOptions["apiKey"];

  constructor(baseUrl: string, { apiKey, ...options }: ClientOptions) {
    this.baseUrl = baseUrl.replace(/\/+$/, "");
    this.options = options;
    this.#key = apiKey;
  }

  get hasKey(): boolean {
    return this.#key !== undefined && this.#key !== null;
  }

  /** The JSON that answers a call. */
  json<Value>(call: Call): ApiPromise<Value> {
    // Of a deletion that was repeated there may be no answer.
    let response = new Response(null, { status: 404 });
    const value = this.send(call, async (answered) => {
      response = answered;
      return (await answered.json()) as Value;
    });
    const withResponse = async (): Promise<WithResponse<Value>> => {
      const data = await value;
      return { data, response, requestId: response.headers.get("X-Request-ID") };
    };
    return Object.assign(value, { withResponse });
  }

  /** Send a call that is answered without a body. */
  done(call: Call): Promise<void> {
    return this.send(call, async (response) => void (await response.body?.cancel()));
  }

  /** The response to a call, its body still unread. */
  response(call: Call): Promise<Response> {
    return this.send(call, async (response) => response);
  }

  /** The absolute address of a path. */
  url(path: string, query: Query = {}): string {
    const pairs = Object.entries(query).flatMap(([name, value]) =>
      value === undefined || value === null ? [] : [[name, String(value)]],
    );
    const written = new URLSearchParams(pairs).toString();
    return this.baseUrl + path + (written && `?${written}`);
  }

  private async key(): Promise<string | null> {
    const key = (typeof this.#key === "function" ? await this.#key() : this.#key)?.trim() || null;
    // `fetch` would repeat it in its error.
    if (key !== null && !/^[!-~]+$/.test(key))
      throw new TypeError(
        "The key is no key of Pagefault: it has letters, digits and signs of ASCII alone",
      );
    return key;
  }

  private async send<Value>(
    call: Call,
    read: (response: Response) => Promise<Value>,
  ): Promise<Value> {
    const { maxRetries = this.options.maxRetries ?? 3 } = call;
    // Once: what cannot be written is no failure of the line, and is the same each time.
    const content =
      call.json === undefined ? call : { ...call, body: await jsonOf(call.json) };
    let mayHaveHappened = false;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.attempt(content, read);
      } catch (failure) {
        // It is gone: an earlier attempt has arrived, and its answer has not.
        if (mayHaveHappened && isGone(call, failure)) return undefined as Value;
        mayHaveHappened ||= mayHaveActed(failure);
        const waitMs = attempt < maxRetries ? waitBefore(failure, attempt, call) : undefined;
        if (waitMs === undefined) throw failure;
        this.logRetry(named(call), failure, waitMs);
        await pause(waitMs, call.signal);
      }
    }
  }

  /** Log a failure after which something is tried again. */
  logRetry(what: string, failure: unknown, waitMs: number): void {
    const { message, requestId } = failure as { message?: string; requestId?: string };
    const id = requestId ? ` (request ${requestId})` : "";
    const wait = `retried in ${Math.round(waitMs)} ms`;
    this.options.logger?.info(`Pagefault: ${what} is ${wait}: ${message ?? String(failure)}${id}`);
  }

  private async attempt<Value>(
    call: Call,
    read: (response: Response) => Promise<Value>,
  ): Promise<Value> {
    call.signal?.throwIfAborted();
    const key = await this.key();
    const late = new AbortController();
    const timeoutMs = call.timeoutMs ?? this.options.timeoutMs ?? 60_000;
    const timer = setTimeout(() => late.abort(), timeoutMs);
    const send = call.fetch ?? this.options.fetch ?? fetch;
    const headers = headersOf(call, key, this.options.defaultHeaders);
    try {
      const response = await send(this.url(call.path, call.query), {
        method: call.method ?? "GET",
        headers,
        signal: call.signal ? AbortSignal.any([call.signal, late.signal]) : late.signal,
        ...bodyOf(call),
      });
      if (!response.ok) {
        if (response.status === 401) this.options.onUnauthorized?.(key);
        throw await errorOf(response);
      }
      return await read(response);
    } catch (failure) {
      call.signal?.throwIfAborted();
      if (failure instanceof PagefaultError) throw failure;
      if (late.signal.aborted)
        throw new APIConnectionTimeoutError(`No answer within ${timeoutMs} ms: ${named(call)}`, {
          requestId: headers.get("X-Request-ID"),
        });
      if (failure instanceof SyntaxError)
        throw new PagefaultError(`The answer is not JSON: ${named(call)}`);
      const where = this.baseUrl && ` from ${this.baseUrl}`;
      throw new APIConnectionError(`No answer${where} to ${named(call)}: ${reasonOf(failure)}`, {
        cause: failure,
        requestId: headers.get("X-Request-ID"),
      });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The options of a request, apart from the other members that a method takes. */
export function splitOptions<Given extends RequestOptions>({
  signal,
  timeoutMs,
  maxRetries,
  headers,
  ...query
}: Given): readonly [RequestOptions, Omit<Given, keyof RequestOptions>] {
  return [{ signal, timeoutMs, maxRetries, headers }, query];
}

/** A path of which every value is encoded: at`/api/pages/${pageId}`. */
export function at(texts: TemplateStringsArray, ...values: (string | number)[]): string {
  return texts.reduce((path, text, index) => {
    const value = String(values[index - 1]);
    // A browser would take these for a way to another route.
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`"${value}" is no id`);
    return path + encodeURIComponent(value) + text;
  });
}

/** A key by which the service recognises a repeated request. */
export function newIdempotencyKey(): string {
  // `randomUUID` is missing in pages that came without TLS.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Wait, or reject as soon as a signal says so. */
export function pause(waitMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, waitMs);
    function done() {
      signal?.removeEventListener("abort", done);
      clearTimeout(timer);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    }
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
  });
}

/** Each wait is twice as long as the one before, and clients do not all come back at once. */
export function backoffMs(attempt: number, firstMs = FIRST_WAIT_MS, longestMs = 10_000): number {
  return Math.min(firstMs * 2 ** attempt, longestMs) * (0.75 + Math.random() * 0.25);
}

/** Return whether a retry may succeed, regardless of whether it is safe. */
export function isPassing(failure: unknown): boolean {
  if (!(failure instanceof APIStatusError)) return failure instanceof APIConnectionError;
  return (
    (PASSING.has(failure.status) && !LASTING_CODES.has(failure.code)) ||
    PASSING_CODES.has(failure.code)
  );
}

function waitBefore(failure: unknown, attempt: number, call: Call): number | undefined {
  // A stream has been read by now.
  if (!isPassing(failure) || call.body instanceof ReadableStream) return undefined;
  const { status, retryAfter: told } = failure as Partial<APIStatusError>;
  const isUndone = told !== undefined && (status === 429 || status === 503);
  if (!isRepeatable(call) && !isUndone) return undefined;
  const waitMs = told === undefined ? backoffMs(attempt) : told * 1000;
  return waitMs > LONGEST_WAIT_MS ? undefined : waitMs;
}

/** Return whether the service may have carried out a request that failed. */
function mayHaveActed(failure: unknown): boolean {
  // A proxy that has lost the answer says 502 or 504; with a 503 nothing was done.
  if (failure instanceof APIStatusError) return failure.status === 502 || failure.status === 504;
  return failure instanceof APIConnectionError;
}

function isGone(call: Call, failure: unknown): boolean {
  return (
    call.method === "DELETE" &&
    isRepeatable(call) &&
    failure instanceof APIStatusError &&
    failure.status === 404
  );
}

function isRepeatable(call: Call): boolean {
  const { method = "GET" } = call;
  const isRead = method === "GET" || method === "HEAD";
  const headers = headersOf(call, null, {});
  // After a successful first attempt, the condition fails for the second.
  if (!isRead && (headers.has("If-Match") || headers.has("If-None-Match"))) return false;
  return call.isRepeatable ?? (headers.has("Idempotency-Key") || REPEATABLE_METHODS.has(method));
}

function headersOf(call: Call, key: string | null, usual: RequestHeaders = {}): Headers {
  const named: RequestHeaders = {
    // In a page this would cost a second request, which asks whether it may be sent.
    "X-Request-ID": "document" in globalThis ? undefined : newIdempotencyKey(),
    "Content-Type": call.json === undefined ? undefined : "application/json",
    Authorization: key === null ? undefined : `Bearer ${key}`,
    "If-Match": call.ifMatch,
    "If-None-Match": call.ifNoneMatch,
    "Idempotency-Key": call.idempotencyKey,
  };
  const headers = new Headers();
  for (const [name, value] of [named, usual, call.headers ?? {}].flatMap(Object.entries))
    if (value !== undefined) headers.set(name, value as string);
  return headers;
}

function bodyOf(call: Call): RequestInit & { duplex?: "half" } {
  if (call.body === undefined) return {};
  return call.body instanceof ReadableStream
    ? { body: call.body, duplex: "half" }
    : { body: call.body };
}

function named(call: Call): string {
  return `${call.method ?? "GET"} ${call.path}`;
}

function reasonOf(failure: unknown): string {
  const { message, cause } = failure as { message?: unknown; cause?: Record<string, unknown> };
  // Where a name has several addresses, the cause has no words, but a code.
  const reason = cause?.["message"] || cause?.["code"];
  return [message ?? failure, reason].filter(Boolean).join(", ");
}
