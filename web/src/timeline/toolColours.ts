/** A colour for each tool of a session, the same wherever the tool is drawn. */
import { createContext, useContext } from "react";

import type { Row } from "./rows";

/** As many as `styles/tokens.css` has. */
const COLOURS = 8;

/** The number of the colour of each tool. */
export type ToolColours = ReadonlyMap<string, number>;

export const ToolColoursContext = createContext<ToolColours>(new Map());

/**
 * The colours of the tools that some rows call. Each has one by its name, the same in all sessions;
 * the next one that is free, where an earlier tool has it.
 */
export function toolColoursOf(rows: readonly Row[]): ToolColours {
  const colours = new Map<string, number>();
  for (const row of rows) {
    for (const { name } of row.kind === "step" ? row.calls : []) {
      if (colours.has(name)) continue;
      const taken = new Set(colours.size < COLOURS ? colours.values() : []);
      let colour = hashOf(name) % COLOURS;
      while (taken.has(colour)) colour = (colour + 1) % COLOURS;
      colours.set(name, colour);
    }
  }
  return colours;
}

/** The colour of a tool as a value of a style. */
export function useToolColour(name: string): string {
  const colour = useContext(ToolColoursContext).get(name);
  return colour === undefined ? "var(--line-strong)" : colourValue(colour);
}

export function colourValue(colour: number): string {
  return `var(--tool-${colour})`;
}

function hashOf(name: string): number {
  let hash = 0;
  for (let at = 0; at < name.length; at += 1) hash = (31 * hash + name.charCodeAt(at)) >>> 0;
  return hash;
}
