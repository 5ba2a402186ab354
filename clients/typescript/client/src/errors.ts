/**
 * The errors of this client, with the names that the SDKs of OpenAI and Anthropic have.
 *
 *     PagefaultError
 *     ├── APIStatusError               the service answered with a problem document (RFC 9457)
 *     │   ├── NotModifiedError         304: you have what is stored
 *     │   ├── BadRequestError          400, 405, 413, 415, 416, 421, 422, 431: change the request
 *     │   ├── AuthenticationError      401
 *     │   ├── PermissionDeniedError    403
 *     │   ├── NotFoundError            404
 *     │   ├── ConflictError            409
 *     │   ├── GoneError                410
 *     │   ├── PreconditionFailedError  412
 *     │   ├── RateLimitError           429
 *     │   └── InternalServerError      5xx
 *     ├── APIConnectionError           there was no answer, or the connection was lost
 *     │   └── APIConnectionTimeoutError    no answer in time
 *     └── DigestMismatchError          the content does not match its digest
 *
 * A request that was given up through its `AbortSignal` rejects with the reason of that signal.
 */
import type { PageFaultProblem, Problem } from "./generated/types.gen.ts";

/** The base class of all errors of this client. */
export class PagefaultError extends Error {
  override readonly name: string = "PagefaultError";
}

/** The service answered a request with an error; `problem` describes it. */
export class APIStatusError extends PagefaultError {
  override readonly name: string = "APIStatusError";
  readonly problem: Problem;
  /** The number of seconds in `Retry-After`. */
  readonly retryAfter: number | undefined;
  /** The headers of the answer. */
  readonly headers: Headers;

  constructor(problem: Problem, headers = new Headers()) {
    super(`${problem.title}: ${problem.detail}`);
    this.problem = problem;
    this.headers = headers;
    this.retryAfter = secondsUntil(headers.get("Retry-After"));
  }

  get status(): number {
    return this.problem.status;
  }

  /** The stable code of the error, such as `tool-call-answered`. */
  get code(): string {
    return this.problem.code;
  }

  get detail(): string {
    return this.problem.detail;
  }

  /** The id of the request in the log of the service. */
  get requestId(): string {
    return this.problem.requestId;
  }

  /** The tool message for the model after a failed page fault. */
  get toolMessage(): Pick<PageFaultProblem, "role" | "tool_call_id" | "content"> | undefined {
    const { role, tool_call_id = null, content } = this.problem as Partial<PageFaultProblem>;
    return role && content !== undefined ? { role, tool_call_id, content } : undefined;
  }

  /** The JSON pointer and description of each invalid member of the request. */
  get errors(): NonNullable<Problem["errors"]> {
    return this.problem.errors ?? [];
  }
}

/** What was requested with `If-None-Match` is what you have. */
export class NotModifiedError extends APIStatusError {
  override readonly name = "NotModifiedError";
}

export class BadRequestError extends APIStatusError {
  override readonly name = "BadRequestError";
}

export class AuthenticationError extends APIStatusError {
  override readonly name = "AuthenticationError";
}

export class PermissionDeniedError extends APIStatusError {
  override readonly name = "PermissionDeniedError";
}

export class NotFoundError extends APIStatusError {
  override readonly name = "NotFoundError";
}

export class ConflictError extends APIStatusError {
  override readonly name: string = "ConflictError";
}

/** The session has another conversation than was sent; nothing was appended. */
export class HistoryDiverged extends ConflictError {
  override readonly name = "HistoryDiverged";

  /** The number of the first stored entry that differs. */
  get seq(): number | undefined {
    return this.problem.seq ?? undefined;
  }

  /** The JSON pointer of the difference in the request. */
  get pointer(): string | undefined {
    return this.errors[0]?.pointer;
  }
}

export class GoneError extends APIStatusError {
  override readonly name = "GoneError";
}

export class PreconditionFailedError extends APIStatusError {
  override readonly name = "PreconditionFailedError";
}

export class RateLimitError extends APIStatusError {
  override readonly name = "RateLimitError";
}

export class InternalServerError extends APIStatusError {
  override readonly name = "InternalServerError";
}

export class APIConnectionError extends PagefaultError {
  override readonly name: string = "APIConnectionError";
  /** The id of the request, which the log of the service has if it arrived; not of pages. */
  readonly requestId: string | undefined;

  constructor(message: string, options: { cause?: unknown; requestId?: string | null } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : {});
    this.requestId = options.requestId ?? undefined;
  }
}

export class APIConnectionTimeoutError extends APIConnectionError {
  override readonly name = "APIConnectionTimeoutError";
}

export class DigestMismatchError extends PagefaultError {
  override readonly name = "DigestMismatchError";
}

const CLASSES: Readonly<Record<number, typeof APIStatusError>> = {
  304: NotModifiedError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  410: GoneError,
  412: PreconditionFailedError,
  429: RateLimitError,
};

/** Return the error for a problem document. */
export function problemError(problem: Problem, headers?: Headers): APIStatusError {
  const { status } = problem;
  const refused = status >= 400 ? BadRequestError : APIStatusError;
  const usual = status >= 500 ? InternalServerError : refused;
  const known = problem.code === "history-diverged" ? HistoryDiverged : CLASSES[status];
  return new (known ?? usual)(problem, headers);
}

/** The error for a response that is no success. */
export async function errorOf(response: Response): Promise<APIStatusError> {
  const told: unknown = await response.json().catch(() => undefined);
  const problem = isProblem(told) ? told : untold(response);
  return problemError(problem, response.headers);
}

/** Any failure as a problem document, so that all of them can be shown in the same way. */
export function problemOf(failure: unknown): Problem {
  if (failure instanceof APIStatusError) return failure.problem;
  const reason = failure instanceof Error ? failure.message : String(failure);
  return {
    type: "about:blank",
    title: failure instanceof PagefaultError ? "The service cannot be reached" : "Something failed",
    status: 0,
    detail: reason,
    instance: "",
    code: failure instanceof PagefaultError ? "unreachable" : "failed",
    requestId: "",
  };
}

function untold(response: Response): Problem {
  return {
    type: "about:blank",
    title: `The service answered ${response.status}`,
    status: response.status,
    detail:
      response.status === 304
        ? "It is the version that you have."
        : "The answer does not say why. Something between this client and the service may have made it.",
    instance: "",
    code: "no-problem-document",
    requestId: response.headers.get("X-Request-ID") ?? "",
  };
}

/** Return whether a value is a problem document. */
export function isProblem(value: unknown): value is Problem {
  const members = value as Partial<Problem> | null | undefined;
  return (
    typeof members?.title === "string" &&
    typeof members.detail === "string" &&
    typeof members.status === "number"
  );
}

/** Seconds as `Retry-After` spells them: a number, or a date. */
export function secondsUntil(header: string | null): number | undefined {
  if (header === null || header.trim() === "") return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(seconds, 0);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max((date - Date.now()) / 1000, 0);
}
