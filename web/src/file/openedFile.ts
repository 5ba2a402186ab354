/** The file of this tab that was dropped or chosen: being read, read, or refused. Nothing of it is stored. */
import { createContext, useContext, useSyncExternalStore } from "react";

import { pagefault } from "../api/client";
import { type FileSession, fileSession } from "./fileClient";

export interface OpenedFile {
  readonly file: File;
  /** Null while it is being read, and if it was refused. */
  readonly session: FileSession | null;
  readonly failure: unknown;
}

// A large file on a slow line takes its time.
const LONGEST_MS = 10 * 60 * 1_000;

let opened: OpenedFile | null = null;
const listeners = new Set<() => void>();

/** The session of a file around a view; null around one of a stored session. */
export const FileContext = createContext<FileSession | null>(null);

/** Whether the service has the session around. */
export function useIsStored(): boolean {
  return useContext(FileContext) === null;
}

export function useOpenedFile(): OpenedFile | null {
  return useSyncExternalStore(subscribe, () => opened);
}

/** Read a file in place of the one before. */
export async function openFile(file: File): Promise<void> {
  const reading: OpenedFile = { file, session: null, failure: null };
  change(reading);
  try {
    const answer = await pagefault().request("/api/sessions/read", {
      method: "POST",
      body: file,
      headers: { "Content-Type": "application/octet-stream" },
      timeoutMs: LONGEST_MS,
    });
    const source = await answer.text();
    if (opened === reading) change({ ...reading, session: fileSession(source) });
  } catch (failure) {
    if (opened === reading) change({ ...reading, failure });
  }
}

export function closeFile(): void {
  change(null);
}

function change(next: OpenedFile | null): void {
  if (opened?.session !== next?.session) opened?.session?.close();
  opened = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
