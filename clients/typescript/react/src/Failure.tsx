/** A failure as its problem document tells it, with the id to look for in the service's log. */
import { problemOf } from "@pagefault/client";

import { WORDS } from "./words.ts";

interface FailureProps {
  readonly failure: unknown;
  readonly onRetry?: (() => void) | undefined;
}

export function Failure({ failure, onRetry }: FailureProps) {
  const problem = problemOf(failure);
  return (
    <div className="state failure" role="alert">
      <p className="state-title">{problem.title}</p>
      <p>{problem.detail}</p>
      {problem.errors !== undefined && problem.errors.length > 0 && (
        <ul>
          {problem.errors.map((fault) => (
            <li key={`${fault.pointer} ${fault.detail}`}>
              <code>{fault.pointer}</code> {fault.detail}
            </li>
          ))}
        </ul>
      )}
      {problem.requestId !== "" && (
        <p className="quiet">
          {WORDS.request} <code>{problem.requestId}</code>
        </p>
      )}
      {onRetry !== undefined && (
        <button type="button" className="button" onClick={onRetry}>
          {WORDS.again}
        </button>
      )}
    </div>
  );
}
