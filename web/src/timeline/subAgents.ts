/** Which entries a sub-agent wrote, as far as a history says so: they are indented. */
import type { OutlineEntry } from "@pagefault/client";
import { createContext, useContext } from "react";

import type { Row } from "./rows";

/** How deep each row is, by its number; rows of the agent itself are not in it. */
export type Depths = ReadonlyMap<number, number>;

export const DepthContext = createContext<Depths>(new Map());

export function useDepth(row: Row): number {
  return useContext(DepthContext).get(row.seq) ?? 0;
}

/**
 * A message names the call that runs its agent, which may be of a sub-agent itself; or the run of its sub-agent
 * (AG-UI, which names what has started it in no message); or its author, where the first one that is named is
 * the agent that runs all others.
 */
export function depthsOf(rows: readonly Row[]): Depths {
  const depths = new Map<number, number>();
  const callers = new Map<string, number>();
  let first: string | undefined;
  for (const row of rows) {
    if (row.kind === "day") continue;
    const entry = row.kind === "entry" ? row.entry : (row.caller ?? row.calls[0]?.result);
    const author = entry?.role === "user" ? undefined : (entry?.author ?? undefined);
    first ??= author;
    const depth = entry == null ? 0 : depthOf(entry, callers, author !== undefined && author !== first);
    if (depth > 0) depths.set(row.seq, depth);
    for (const { id } of row.kind === "step" ? row.calls : []) callers.set(id, depth);
  }
  return depths;
}

function depthOf(
  { parentCall, subagentRunId }: OutlineEntry,
  callers: ReadonlyMap<string, number>,
  isOther: boolean,
): number {
  if (parentCall != null) return (callers.get(parentCall) ?? 0) + 1;
  return isOther || subagentRunId != null ? 1 : 0;
}
