/**
 * Keys of single letters, for as long as a view is shown.
 *
 * They do nothing while somebody writes, or a dialog is open, and can be switched off.
 */
import { useEffect, useRef, useSyncExternalStore } from "react";

export interface Key {
  /** As `KeyboardEvent.key` has it, with the shift key taken in: `j`, `J`, `?`; null for a command without one. */
  readonly key: string | null;
  /** What it does, for the list of keys. */
  readonly said: string;
  readonly run: () => void;
  /** Whether it is no single letter, which can be switched off: `Home`, `Enter`. */
  readonly isNamed?: boolean;
}

const OFF = "keys-off";
const registered = new Set<{ current: readonly Key[] }>();
const listeners = new Set<() => void>();
let version = 0;

export function useKeys(keys: readonly Key[]): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    registered.add(latest);
    tell();
    return () => {
      registered.delete(latest);
      tell();
    };
  }, []);
}

/** All keys that do something now. */
export function useKnownKeys(): readonly Key[] {
  useSyncExternalStore(subscribe, () => version);
  return [...registered].flatMap(({ current }) => current);
}

export function useKeysAreOn(): readonly [boolean, (isOn: boolean) => void] {
  const isOn = useSyncExternalStore(subscribe, keysAreOn);
  return [
    isOn,
    (wanted) => {
      if (wanted) localStorage.removeItem(OFF);
      else localStorage.setItem(OFF, "1");
      tell();
    },
  ];
}

export function listenToKeys(): () => void {
  window.addEventListener("keydown", pressed);
  return () => window.removeEventListener("keydown", pressed);
}

function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
  if (isWriting(event.target) || document.querySelector("dialog[open]") !== null) return;
  for (const { current } of registered) {
    const key = current.find((each) => each.key === event.key);
    if (key === undefined) continue;
    const isFree = key.isNamed === true ? !hasUseFor(event) : keysAreOn();
    if (!isFree) return;
    event.preventDefault();
    key.run();
    return;
  }
}

function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches("input:not([type=checkbox], [type=radio]), select, textarea");
}

/** Whether a key of a name does something where the focus is: Enter in a link, End in a text that scrolls. */
function hasUseFor({ key, repeat, shiftKey, target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement) || shiftKey) return true;
  if (key === "Enter") return repeat || target.matches("a, button, summary, input, video, audio");
  return target.matches("input, video, audio, [role=slider], pre");
}

function keysAreOn(): boolean {
  return localStorage.getItem(OFF) === null;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  version += 1;
  for (const listener of listeners) listener();
}
