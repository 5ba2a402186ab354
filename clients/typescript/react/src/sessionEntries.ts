/**
 * The visible entries of a session, loaded by number.
 *
 * The most recent requests load first, together with neighbouring entries. Entries that were not
 * requested for a long time are dropped.
 */
import type { Pagefault } from "@pagefault/client";
import { itemsOf, memberOf } from "@pagefault/client/json";

import { readEntry, type SessionEntry } from "./readEntry.ts";

const CHUNK = 50;
const MOST_IN_FLIGHT = 3;
const MOST_KEPT = 4_000;
const MOST_KEPT_CHARS = 64_000_000;

export class SessionEntries {
  private readonly client: Pagefault;
  private readonly path: string;
  private readonly kept = new Map<number, SessionEntry>();
  private keptChars = 0;
  private readonly absent = new Set<number>();
  private readonly inFlight = new Set<number>();
  private wanted: readonly number[] = [];
  private readonly listeners = new Set<() => void>();
  private life = new AbortController();
  private version = 0;
  private lastFailure: unknown = null;

  constructor(client: Pagefault, sessionId: string) {
    this.client = client;
    this.path = `/api/sessions/${encodeURIComponent(sessionId)}/messages`;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Grows whenever there are other entries. */
  readonly changes = (): number => this.version;

  /** Why the last request failed; null if it did not. */
  get failure(): unknown {
    return this.lastFailure;
  }

  readonly find = (seq: number): SessionEntry | undefined => this.kept.get(seq);

  /** Load these, the first ones first, in place of what was wanted before and is not on its way. */
  readonly want = (seqs: readonly number[]): void => {
    this.wanted = seqs;
    for (const seq of seqs) {
      const entry = this.kept.get(seq);
      if (entry === undefined) continue;
      this.kept.delete(seq);
      this.kept.set(seq, entry);
    }
    if (this.lastFailure === null) this.next();
  };

  readonly retry = (): void => {
    this.lastFailure = null;
    this.changed();
    this.next();
  };

  /** Forget everything: the session is another one. */
  readonly forget = (): void => {
    this.life.abort();
    this.life = new AbortController();
    this.kept.clear();
    this.absent.clear();
    this.inFlight.clear();
    this.keptChars = 0;
    this.lastFailure = null;
    this.changed();
    this.next();
  };

  private next(): void {
    for (const seq of this.wanted) {
      if (this.inFlight.size >= MOST_IN_FLIGHT) return;
      const chunk = Math.floor((seq - 1) / CHUNK);
      if (this.kept.has(seq) || this.absent.has(seq) || this.inFlight.has(chunk)) continue;
      this.inFlight.add(chunk);
      void this.load(chunk, seq, this.life.signal);
    }
  }

  private async load(chunk: number, from: number, signal: AbortSignal): Promise<void> {
    const upTo = (chunk + 1) * CHUNK;
    // The neighbours before it, where none of them is there.
    const first = this.kept.has(from - 1) ? from : Math.min(from, chunk * CHUNK + 1);
    try {
      let cursor: string | null = null;
      do {
        const place: Record<string, unknown> = cursor === null ? { after: first - 1 } : { cursor };
        const query = { limit: upTo - first + 1, ...place };
        const text: string = await (await this.client.request(this.path, { query, signal })).text();
        const found = itemsOf(memberOf(text, "items") ?? "[]").map(readEntry);
        for (const entry of found) this.keep(entry);
        const isPast = (found.at(-1)?.seq ?? upTo) >= upTo;
        const next = memberOf(text, "nextCursor") ?? "null";
        cursor = isPast ? null : (JSON.parse(next) as string | null);
      } while (cursor !== null);
      if (!this.kept.has(from)) this.absent.add(from);
    } catch (failure) {
      if (signal.aborted) return;
      this.lastFailure = failure;
    }
    this.inFlight.delete(chunk);
    this.changed();
    if (this.lastFailure === null) this.next();
  }

  private keep(entry: SessionEntry): void {
    if (this.kept.has(entry.seq)) return;
    this.kept.set(entry.seq, entry);
    this.keptChars += entry.source.length;
    for (const [seq, oldest] of this.kept) {
      const isFull = this.kept.size > MOST_KEPT || this.keptChars > MOST_KEPT_CHARS;
      if (!isFull || this.wanted.includes(seq)) break;
      this.kept.delete(seq);
      this.keptChars -= oldest.source.length;
    }
  }

  private changed(): void {
    this.version += 1;
    for (const listener of this.listeners) listener();
  }
}
