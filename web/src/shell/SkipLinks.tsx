/** Links past what stands before the part of a view that one wants, seen once they have the focus. */
import type { MouseEvent } from "react";

import { focusOnce } from "../shared/focusOnce";
import { SHELL } from "../words/shell";
import { useSkipTargets } from "./skipTargets";

export function SkipLinks() {
  const targets = [{ id: "main", said: SHELL.skip }, ...useSkipTargets()];
  return (
    <nav className="skips" aria-label={SHELL.skips}>
      {targets.map(({ id, said }) => (
        <a key={id} href={`#${id}`} onClick={(event) => skip(event, id)}>
          {said}
        </a>
      ))}
    </nav>
  );
}

function skip(event: MouseEvent, id: string): void {
  // The address has the place of the reader behind its `#`, which stays as it is.
  event.preventDefault();
  const target = document.getElementById(id);
  if (target === null) return;
  for (let at = target.closest("details:not([open])"); at !== null; ) {
    (at as HTMLDetailsElement).open = true;
    at = at.closest("details:not([open])");
  }
  focusOnce(target);
}
