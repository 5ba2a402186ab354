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
export async function openFile(chosen: File): Promise<void> {
  const file = await withoutMark(chosen);
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
    if (opened === reading) change({ ...reading, session: fileSession(file, source) });
  } catch (failure) {
    if (opened === reading) change({ ...reading, failure });
  }
}

/** Leave out the byte order mark, with which programs of Windows begin texts: JSON has none where it is stored. */
async function withoutMark(file: File): Promise<File> {
  const [first, second, third] = new Uint8Array(await file.slice(0, 3).arrayBuffer());
  const hasMark = first === 0xef && second === 0xbb && third === 0xbf;
  return hasMark ? new File([file.slice(3)], file.name, { type: file.type }) : file;
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
