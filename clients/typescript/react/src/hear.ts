/** The effects of events on the loaded entries of a session. */
import type { Signal } from "./liveStream.ts";

export interface Listening {
  /** Load what is new. */
  readonly catchUp: () => void;
  /** Load everything anew. */
  readonly load: () => void;
  readonly markDeleted: () => void;
}

/** Events after which a session has entries that none of its own events showed. */
const BEGINS: ReadonlySet<string> = new Set(["session:imported", "session:forked"]);

export function hear(listening: Listening, sessionId: string, signal: Signal): void {
  if (signal.kind === "open") listening.catchUp();
  else if (signal.kind === "reset") listening.load();
  else if (signal.sessionId !== sessionId) return;
  else if (signal.name === "session:deleted") listening.markDeleted();
  else if (BEGINS.has(signal.name)) listening.load();
  else listening.catchUp();
}
