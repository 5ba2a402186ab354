/** Which session the rows are of, and the addresses of it, for links out of them. */
import { createContext } from "react";

/** Who would refuse a session; as in the view of what a model gets, where no other is chosen. */
export const DOCTOR_TARGET = "anthropic";

export const SessionContext = createContext("");

/** The address of what a model gets of a session. */
export function modelPath(sessionId: string): string {
  return `/sessions/${encodeURIComponent(sessionId)}/model`;
}

/** The address of what a model got when an entry was the newest. */
export function modelPathAt(sessionId: string, seq: number): string {
  return `${modelPath(sessionId)}?at=${seq}`;
}

/** The address of why a provider would refuse a session, and of the healed history. */
export function doctorPath(sessionId: string): string {
  return `/doctor?session=${encodeURIComponent(sessionId)}&target=${DOCTOR_TARGET}`;
}

/** The same of the file of this tab. */
export const FILE_DOCTOR_PATH = `/doctor?file=1&target=${DOCTOR_TARGET}`;
