/** What stands in the place of content that is not there: loading, nothing, a failure. */
import { APIStatusError } from "@pagefault/client";
import { Failure } from "@pagefault/react";
import type { ReactNode } from "react";

import { SHELL } from "../words/shell";

export { Failure };

const REFUSED = [409, 415, 422];

interface RefusedProps {
  readonly failure: unknown;
  /** What the page takes, and what to do, where the service does not take what its reader gave it. */
  readonly what: string;
  readonly onRetry?: (() => void) | undefined;
}

/** A failure; of one that the reader of the page mends, what to do, and behind it what the service says to programs. */
export function Refused({ failure, what, onRetry }: RefusedProps) {
  if (!(failure instanceof APIStatusError && REFUSED.includes(failure.status))) {
    return <Failure {...{ failure, onRetry }} />;
  }
  return (
    <div className="state failure" role="alert">
      <p>{what}</p>
      <details>
        <summary>{SHELL.serviceSays}</summary>
        <Failure failure={failure} />
      </details>
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p className="state" role="status">
      {SHELL.loading(what)}
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
