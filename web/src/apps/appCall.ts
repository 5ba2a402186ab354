/** The call that an app belongs to. */
import { createContext } from "react";

interface MadeCall {
  readonly tool: string;
  readonly input: unknown;
}

export const AppCallContext = createContext<MadeCall>({ tool: "", input: {} });

/** The input of a call, from the JSON of its arguments, which may be in a string. */
export function readInput(source: string | undefined): unknown {
  try {
    const value: unknown = JSON.parse(source ?? "{}");
    return typeof value === "string" ? (JSON.parse(value) as unknown) : value;
  } catch {
    return {};
  }
}
