/** What stands in the place of content that is not there: loading, nothing, a failure. */
import type { ReactNode } from "react";
import { SHELL } from "../words/shell";

export { Failure } from "@pagefault/react";

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
