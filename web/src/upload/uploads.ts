/**
 * The files of this tab: one after the other is sent, whatever view is shown meanwhile.
 *
 * A file that was refused, or given up, stays in the list and can be sent again. Nothing is kept
 * when the tab is closed; the resources are.
 */
import type { ResourceRecord } from "@pagefault/client";
import { useSyncExternalStore } from "react";

import { accessKey, useAccess } from "../access/key";
import { pagefault } from "../api/client";

export type UploadState =
  | { is: "waiting" }
  | { is: "sending"; sentBytes: number }
  | { is: "kept"; resource: ResourceRecord }
  | { is: "refused"; failure: unknown }
  | { is: "given-up" };

export interface Upload {
  readonly number: number;
  readonly file: File;
  /** Who gave it: with another key it is not shown any more. */
  readonly key: string | null;
  readonly state: UploadState;
}

let uploads: readonly Upload[] = [];
let last = 0;
let current: { number: number; giveUp: () => void } | null = null;
const listeners = new Set<() => void>();

/** All files that were given with the present key, or before one was asked for, in that order. */
export function useUploads(): readonly Upload[] {
  const { key } = useAccess();
  const all = useSyncExternalStore(subscribe, () => uploads);
  return all.filter((upload) => upload.key === null || upload.key === key);
}

/** Put files at the end of the queue. */
export function addFiles(files: Iterable<File>): void {
  const added = Array.from(files, (file): Upload => {
    last += 1;
    return { number: last, file, key: accessKey(), state: { is: "waiting" } };
  });
  change([...uploads, ...added]);
  void sendNext();
}

/** Stop sending a file, or do not begin with it. */
export function giveUp(number: number): void {
  if (current?.number === number) current.giveUp();
  else setState(number, { is: "given-up" });
}

/** Put a file that was refused or given up into the queue again. */
export function sendAgain(number: number): void {
  setState(number, { is: "waiting" });
  void sendNext();
}

/** Take everything that is over from the list. */
export function clearFinished(): void {
  change(uploads.filter(({ state }) => isUnfinished(state)));
}

/** Whether a file is still to be sent. */
export function isUnfinished(state: UploadState): boolean {
  return state.is === "waiting" || state.is === "sending";
}

async function sendNext(): Promise<void> {
  const next = uploads.find(({ state }) => state.is === "waiting");
  if (current !== null || next === undefined) return;
  const { number, file } = next;
  setState(number, { is: "sending", sentBytes: 0 });
  const life = new AbortController();
  current = { number, giveUp: () => life.abort() };
  try {
    const resource = await pagefault().resources.upload(file, {
      signal: life.signal,
      onProgress: ({ sent }) => setState(number, { is: "sending", sentBytes: sent }),
    });
    setState(number, { is: "kept", resource });
  } catch (failure) {
    setState(number, life.signal.aborted ? { is: "given-up" } : { is: "refused", failure });
  }
  current = null;
  void sendNext();
}

function setState(number: number, state: UploadState): void {
  change(uploads.map((upload) => (upload.number === number ? { ...upload, state } : upload)));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function change(next: readonly Upload[]): void {
  uploads = next;
  for (const listener of listeners) listener();
}

// Closing the tab would end what is being sent.
window.addEventListener("beforeunload", (event) => {
  if (uploads.some(({ state }) => isUnfinished(state))) event.preventDefault();
});
