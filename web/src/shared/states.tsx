/** What stands in the place of content that is not there: loading, nothing, a failure. */
import type { ReactNode } from "react";

import { problemOf } from "../api/problem";

export function Loading({ what }: { what: string }) {
  return (
    <p className="state" role="status">
      Loading {what} …
    </p>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state">
      <p className="state-title">{title}</p>
      {children}
    </div>
  );
}

/** A failure as its problem document tells it, with the id to look for in the service's log. */
export function Failure({ failure, onRetry }: { failure: unknown; onRetry?: () => void }) {
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
          Request <code>{problem.requestId}</code>
        </p>
      )}
      {onRetry !== undefined && (
        <button type="button" className="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
