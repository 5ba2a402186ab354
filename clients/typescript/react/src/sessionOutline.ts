/**
 * The outline of one session: a line for each entry, the newest first, then all that is before.
 *
 * The loaded part grows at both ends: downwards to the first entry, and upwards after events. It has
 * no gaps.
 */
import {
  NotFoundError,
  type OutlineEntry,
  type Pagefault,
  type Session,
  type SessionRecord,
} from "@pagefault/client";

export interface SessionOutlineState {
  readonly status: "loading" | "ready" | "absent" | "failed";
  /** In the order of their numbers. */
  readonly entries: readonly OutlineEntry[];
  /** All entries above this number are there; 0 once all are. */
  readonly lower: number;
  /** The session as it was when its entries were loaded. */
  readonly record: SessionRecord | null;
  readonly wasDeleted: boolean;
  /** The error of the last load; earlier entries are kept. */
  readonly failure: unknown;
}

const BEGINNING: SessionOutlineState = {
  status: "loading",
  entries: [],
  lower: 0,
  record: null,
  wasDeleted: false,
  failure: null,
};
/** More than a screen has; the sooner the first are there, the sooner there is something to read. */
const NEWEST = 120;
const MOST_PER_REQUEST = 2_000;
/** Requests between two changes of what is shown, once there is much of it. */
const MOST_AT_ONCE = 5;

export class SessionOutline {
  private current = BEGINNING;
  private readonly listeners = new Set<() => void>();
  private life = new AbortController();
  private isCatchingUp = false;
  private isDue = false;
  private isAhead = false;
  readonly client: Pagefault;
  private readonly session: Session;

  constructor(client: Pagefault, sessionId: string) {
    this.client = client;
    this.session = client.session(sessionId);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly state = (): SessionOutlineState => this.current;

  /** Load before there is a view, as while its script loads; the next `load` continues that. */
  readonly loadAhead = (): void => {
    this.load();
    this.isAhead = true;
  };

  /** Load everything anew, the newest first; returns what stops all loading. */
  readonly load = (): (() => void) => {
    if (this.isAhead) {
      this.isAhead = false;
      return () => this.life.abort();
    }
    this.life.abort();
    this.life = new AbortController();
    this.isCatchingUp = false;
    this.isDue = false;
    void this.loadAll(this.life.signal);
    return () => this.life.abort();
  };

  /** Load what is behind the last entry, now or as soon as what is being loaded is there. */
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

  /** The session was deleted; its loaded entries are kept. */
  readonly markDeleted = (): void => this.change({ wasDeleted: true });

  private async loadAll(signal: AbortSignal): Promise<void> {
    this.change({ ...BEGINNING, entries: this.current.entries, lower: this.current.lower });
    try {
      const record = await this.session.get({ signal });
      const { lastSeq } = record;
      let lower = Math.max(0, lastSeq - NEWEST);
      const entries = await this.read(lower, lastSeq, signal);
      if (signal.aborted) return;
      this.change({ ...BEGINNING, status: "ready", entries, lower, record });
      if (this.isDue) this.catchUp();
      for (let times = 1; lower > 0; times = Math.min(2 * times, MOST_AT_ONCE)) {
        const above = lower;
        lower = Math.max(0, above - times * MOST_PER_REQUEST);
        const earlier = await this.read(lower, above, signal);
        if (signal.aborted) return;
        this.change({ entries: [...earlier, ...this.current.entries], lower });
      }
    } catch (failure) {
      if (signal.aborted) return;
      const isAbsent = failure instanceof NotFoundError;
      this.change({ status: isAbsent ? "absent" : "failed", failure });
    }
  }

  private async append(signal: AbortSignal): Promise<void> {
    this.isCatchingUp = true;
    try {
      do {
        this.isDue = false;
        const after = this.current.entries.at(-1)?.seq ?? this.current.lower;
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

  private async read(after: number, upTo: number, signal: AbortSignal): Promise<OutlineEntry[]> {
    const found: OutlineEntry[] = [];
    const limit = Math.min(upTo - after, MOST_PER_REQUEST);
    if (limit <= 0) return found;
    for await (const part of this.session.outline({ after, limit, signal }).slices()) {
      found.push(...part.items.filter(({ seq }) => seq <= upTo));
      if ((part.items.at(-1)?.seq ?? upTo) >= upTo) break;
    }
    return found;
  }

  private change(changed: Partial<SessionOutlineState>): void {
    this.current = { ...this.current, ...changed };
    for (const listener of this.listeners) listener();
  }
}
