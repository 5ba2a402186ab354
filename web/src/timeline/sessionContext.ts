/** Which session the rows are of, and the addresses of it, for links out of them. */
import { createContext } from "react";

export const SessionContext = createContext("");

/** The address of what a model gets of a session. */
export function modelPath(sessionId: string): string {
  return `/sessions/${encodeURIComponent(sessionId)}/model`;
}
