/**
 * The key of this tab. It is asked for once the service has answered 401, and forgotten with the tab, unless its reader
 * has it remembered on the device.
 *
 * While there is no key, the service is taken to be open: media then need no signed links.
 */
import { useSyncExternalStore } from "react";

import { queryClient } from "../api/queryClient";

const STORED_AS = "pagefault.key";

export interface Access {
  readonly key: string | null;
  readonly isAsked: boolean;
  readonly wasRefused: boolean;
}

let access: Access = {
  key: sessionStorage.getItem(STORED_AS) ?? localStorage.getItem(STORED_AS),
  isAsked: false,
  wasRefused: false,
};
const listeners = new Set<() => void>();

/** The key to send as `Authorization: Bearer`, or null where none was needed yet. */
export function accessKey(): string | null {
  return access.key;
}

/** Tell that a request with this key (or without any) was answered 401. */
export function keyWasRefused(key: string | null): void {
  // An answer to an older key says nothing about the present one.
  if (key !== access.key) return;
  removeStored();
  change({ key: null, isAsked: true, wasRefused: access.wasRefused || key !== null });
}

/** Take a key, and ask again everything that is shown. */
export function giveKey(key: string, isRemembered: boolean): void {
  (isRemembered ? localStorage : sessionStorage).setItem(STORED_AS, key);
  change({ key, isAsked: false, wasRefused: false });
  void queryClient.resetQueries();
}

/** Forget the key, and everything that was read with it. */
export function forgetKey(): void {
  removeStored();
  change({ key: null, isAsked: true, wasRefused: false });
  queryClient.clear();
}

/** The state of access, for components. */
export function useAccess(): Access {
  return useSyncExternalStore(subscribe, () => access);
}

function removeStored(): void {
  for (const storage of [sessionStorage, localStorage]) storage.removeItem(STORED_AS);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function change(next: Access): void {
  access = next;
  for (const listener of listeners) listener();
}
