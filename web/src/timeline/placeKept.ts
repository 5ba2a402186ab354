/**
 * Where a reader was in a session, kept as long as the tab: for a reload, and for the way back.
 *
 * An address may name an entry, as `#16` or `?seq=16`. Who comes by it is brought there; who comes
 * back to it is brought where they were. Each visit of the history has a key of its own, which a
 * reload and Back find again.
 */
import { useMemo } from "react";
import { useLocation, type Location } from "react-router";

/** An entry, and how far below the upper edge of what is seen it begins. */
export interface Place {
  readonly seq: number;
  readonly top: number;
}

export interface KeptPlace {
  /** Where to begin, or to go now; the end is where the newest entry is. */
  readonly start: Place | "end" | undefined;
  /** The entry that the address names. */
  readonly named: number | undefined;
  readonly keep: (place: Place | "end") => void;
}

const MARGIN_PX = 12;

export function useKeptPlace(sessionId: string): KeptPlace {
  const { key, hash, search } = useLocation();
  return useMemo(() => {
    const named = namedEntry({ hash, search });
    const name = `place ${key} ${sessionId}`;
    const address = named === undefined ? undefined : { seq: named, top: MARGIN_PX };
    const stored = sessionStorage.getItem(name);
    return {
      named,
      start: stored === "end" ? stored : (placeIn(stored) ?? address),
      keep: (place) => {
        const text = place === "end" ? place : `${place.seq} ${Math.round(place.top)}`;
        sessionStorage.setItem(name, text);
      },
    };
  }, [key, hash, search, sessionId]);
}

/** The search of an address without the entry it names, for addresses of others. */
export function searchWithoutEntry(search: URLSearchParams): string {
  const rest = new URLSearchParams(search);
  rest.delete("seq");
  return `${rest}`;
}

function namedEntry({ hash, search }: Pick<Location, "hash" | "search">): number | undefined {
  const text = /^#([0-9]{1,15})$/.exec(hash)?.[1] ?? new URLSearchParams(search).get("seq") ?? "";
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}

function placeIn(text: string | null): Place | undefined {
  const [, seq, top] = /^([0-9]{1,15}) (-?[0-9]{1,15})$/.exec(text ?? "") ?? [];
  return seq === undefined ? undefined : { seq: Number(seq), top: Number(top) };
}
