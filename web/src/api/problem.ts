/** Failures as the service tells them: problem documents (RFC 9457), and nothing else. */
import type { Problem } from "./generated";

export type { Problem };

/** A request that failed, with the problem document that says why. */
export class ProblemError extends Error {
  constructor(readonly problem: Problem) {
    super(`${problem.title}: ${problem.detail}`);
    this.name = "ProblemError";
  }
}

/** Any failure as a problem document, so that all are shown the same way. */
export function problemOf(failure: unknown, response?: Response): Problem {
  if (failure instanceof ProblemError) return failure.problem;
  if (isProblem(failure)) return failure;
  if (response === undefined) {
    return ownProblem("unreachable", "The service cannot be reached", 0, reason(failure));
  }
  return ownProblem(
    "no-problem-document",
    `The service answered ${response.status}`,
    response.status,
    "The answer does not say why. Something between this page and the service may have made it.",
    response.headers.get("X-Request-ID") ?? "",
  );
}

function ownProblem(
  code: string,
  title: string,
  status: number,
  detail: string,
  requestId = "",
): Problem {
  return { type: "about:blank", title, status, detail, instance: "", code, requestId };
}

function reason(failure: unknown): string {
  const message = failure instanceof Error ? failure.message : "";
  return `Is it running, and is this machine online? ${message}`.trim();
}

function isProblem(value: unknown): value is Problem {
  return (
    typeof value === "object" &&
    value !== null &&
    "title" in value &&
    typeof value.title === "string" &&
    "detail" in value &&
    typeof value.detail === "string"
  );
}
