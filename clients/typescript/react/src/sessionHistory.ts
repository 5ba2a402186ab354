/**
 * The loaded window of the history of one session, which grows at both ends.
 *
 * The window begins with the newest entries. Earlier entries are loaded on demand, newer ones after an
 * event. Any event loads the entries after the last one. Only one request is in flight at a time;
 * events that arrive meanwhile cause a single further request.
 */
import { NotFoundError, type Pagefault, type Session } from "@pagefault/client";
import { itemsOf, memberOf } from "@pagefault/client/json";

import { readEntry, type SessionEntry } from "./readEntry.ts";

export interface SessionHistoryState {
  readonly status: "loading" | "ready" | "absent" | "failed";
  readonly entries: readonly SessionEntry[];
  readonly hasEarlier: boolean;
  /** All entries above this number are in the window. */
  readonly lower: number;
  readonly isLoadingEarlier: boolean;
  readonly wasDeleted: boolean;
  /** The error of the last load; earlier entries are kept. */
  readonly failure: unknown;
  readonly earlierFailure: unknown;
}

const BEGINNING: SessionHistoryState = {
  status: "loading",
  entries: [],
  hasEarlier: false,
  lower: 0,
  isLoadingEarlier: false,
  wasDeleted: false,
  failure: null,
  earlierFailure: null,
};
const WINDOW = 100;
const FEWEST = 40;
const MOST_PER_REQUEST = 200;
/** An entry further down than this is not brought into the window at once. */
const MOST_REACHED = 5_000;

export class SessionHistory {
  private current = BEGINNING;
  private readonly listeners = new Set<() => void>();
  private life = new AbortController();
  /** All entries above this number, up to the last one shown, are in the window. */
  private lower = 0;
  private isCatchingUp = false;
  private isDue = false;
  private wanted = Infinity;

  private readonly client: Pagefault;
  private readonly session: Session;

  constructor(client: Pagefault, sessionId: string) {
    this.client = client;
    this.session = client.session(sessionId);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly state = (): SessionHistoryState => this.current;

  /** Load the newest entries, whatever was shown before; returns what stops all loading. */
  readonly load = (): (() => void) => {
    this.life.abort();
    this.life = new AbortController();
    this.isCatchingUp = false;
    this.isDue = false;
    const { signal } = this.life;
    void this.loadNewest(signal);
    return () => this.life.abort();
  };

  /** Have an entry in the window, now or as soon as there is one. */
  readonly reach = (seq: number): void => {
    this.wanted = seq;
    if (this.current.status === "ready" && seq <= this.lower) this.load();
  };

  /** Load the entries behind the last one, now or as soon as what is being loaded is there. */
  readonly catchUp = (): void => {
    if (this.current.status === "loading" || this.isCatchingUp) {
      this.isDue = true;
      return;
    }
    if (this.current.status !== "ready" || this.current.wasDeleted) {
      this.load();
      return;
    }
    void this.append(this.life.signal);
  };

  /** Load the entries before the first one. */
  readonly loadEarlier = async (): Promise<void> => {
    if (!this.current.hasEarlier || this.current.isLoadingEarlier) return;
    const { signal } = this.life;
    this.change({ isLoadingEarlier: true, earlierFailure: null });
    try {
      const earlier = await this.window(this.lower, signal);
      if (signal.aborted) return;
      this.change({ entries: [...earlier, ...this.current.entries], ...this.reached() });
    } catch (failure) {
      if (!signal.aborted) this.change({ earlierFailure: failure });
    } finally {
      if (!signal.aborted) this.change({ isLoadingEarlier: false });
    }
  };

  /** The session was deleted; its loaded entries are kept. */
  readonly markDeleted = (): void => this.change({ wasDeleted: true });

  private async loadNewest(signal: AbortSignal): Promise<void> {
    this.change({ ...BEGINNING, entries: this.current.entries });
    try {
      const { lastSeq } = await this.session.get({ signal });
      const newest = await this.window(lastSeq, signal);
      const entries = [...(await this.downToWanted(signal)), ...newest];
      if (signal.aborted) return;
      this.change({ ...BEGINNING, status: "ready", entries, ...this.reached() });
      if (this.isDue) this.catchUp();
    } catch (failure) {
      if (signal.aborted) return;
      const isAbsent = failure instanceof NotFoundError;
      this.change({ ...BEGINNING, status: isAbsent ? "absent" : "failed", failure });
    }
  }

  private async append(signal: AbortSignal): Promise<void> {
    this.isCatchingUp = true;
    try {
      do {
        this.isDue = false;
        const after = this.current.entries.at(-1)?.seq ?? this.lower;
        const entries = await this.read(after, Infinity, signal);
        if (signal.aborted) return;
        if (entries.length > 0) this.change({ entries: [...this.current.entries, ...entries] });
        this.change({ failure: null });
      } while (this.isDue);
    } catch (failure) {
      if (!signal.aborted) this.change({ failure });
    } finally {
      if (!signal.aborted) this.isCatchingUp = false;
    }
  }

  /**
   * The newest entries up to a number. Numbers have gaps, since pages take some of them: where a
   * window holds too little, the next one down is twice as wide.
   */
  private async window(upTo: number, signal: AbortSignal): Promise<SessionEntry[]> {
    let entries: SessionEntry[] = [];
    let lower = upTo;
    for (let width = WINDOW; lower > 0 && entries.length < FEWEST; width *= 2) {
      const above = lower;
      lower = Math.max(0, above - width);
      entries = [...(await this.read(lower, above, signal)), ...entries];
    }
    this.lower = lower;
    return entries;
  }

  /** The entries between the window and some before the wanted one, if it is below the window. */
  private async downToWanted(signal: AbortSignal): Promise<SessionEntry[]> {
    const above = this.lower;
    if (this.wanted > above || above - this.wanted > MOST_REACHED) return [];
    this.lower = Math.max(0, this.wanted - FEWEST);
    return this.read(this.lower, above, signal);
  }

  private async read(after: number, upTo: number, signal: AbortSignal): Promise<SessionEntry[]> {
    const found: SessionEntry[] = [];
    const limit = Math.min(upTo - after, MOST_PER_REQUEST);
    const path = `/api/sessions/${encodeURIComponent(this.session.id)}/messages`;
    let cursor: string | null = null;
    do {
      const query: Record<string, unknown> = {
        limit,
        ...(cursor === null ? { after } : { cursor }),
      };
      const text: string = await (await this.client.request(path, { query, signal })).text();
      const entries = itemsOf(memberOf(text, "items") ?? "[]").map(readEntry);
      found.push(...entries.filter(({ seq }) => seq <= upTo));
      const isPast = (entries.at(-1)?.seq ?? 0) >= upTo;
      cursor = isPast
        ? null
        : (JSON.parse(memberOf(text, "nextCursor") ?? "null") as string | null);
    } while (cursor !== null);
    return found;
  }

  private reached(): Pick<SessionHistoryState, "hasEarlier" | "lower"> {
    return { hasEarlier: this.lower > 0, lower: this.lower };
  }

  private change(changed: Partial<SessionHistoryState>): void {
    this.current = { ...this.current, ...changed };
    for (const listener of this.listeners) listener();
  }
}
