/**
 * A stream of events that stays open: it comes back after every break, from where it broke off.
 *
 * A browser's own reconnecting is not used: the ticket in the address would have expired. Nothing is
 * shown from events; they say that there is something to be loaded. Whoever listens loads what is
 * new on `open` too, so that nothing falls between two streams.
 */
import { accessKey } from "../access/key";
import { answered } from "../api/client";
import { createEventTicket } from "../api/generated";
import { problemOf } from "../api/problem";

export const EVENT_NAMES = [
  "llmservice:toolResult",
  "message:created",
  "interaction:created",
  "interaction:answered",
  "page:created",
  "page:updated",
  "page:deleted",
  "page:faulted",
  "session:deleted",
  "session:imported",
] as const;

export type EventName = (typeof EVENT_NAMES)[number];

export type Signal =
  | { kind: "open" }
  | { kind: "reset" }
  | { kind: "event"; name: EventName; sessionId: string | null; id: string | null };

export type LiveState = "connecting" | "live" | "reconnecting" | "offline";

interface Listener {
  readonly onSignal: (signal: Signal) => void;
  readonly onState: (state: LiveState) => void;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
const STEADY_AFTER_MS = 5_000;
const OFFLINE_AFTER_ATTEMPTS = 6;
// A tab may hold few connections to one host; one that nobody looks at gives its up.
const HIDDEN_FOR_MS = 30_000;

/** Open the stream at a path such as `/api/events`; returns what closes it. */
export function openEventStream(path: string, listener: Listener): () => void {
  const stream = new EventStream(path, listener);
  stream.start();
  return () => stream.stop();
}

class EventStream {
  private source: EventSource | undefined;
  private retryTimer: number | undefined;
  private hideTimer: number | undefined;
  private steadyTimer: number | undefined;
  private lastId: string | undefined;
  private attempts = 0;
  private turn = 0;

  constructor(
    private readonly path: string,
    private readonly listener: Listener,
  ) {}

  start(): void {
    window.addEventListener("online", this.retryNow);
    window.addEventListener("offline", this.lost);
    document.addEventListener("visibilitychange", this.seen);
    this.listener.onState("connecting");
    void this.connect();
  }

  stop(): void {
    window.removeEventListener("online", this.retryNow);
    window.removeEventListener("offline", this.lost);
    document.removeEventListener("visibilitychange", this.seen);
    this.release();
  }

  private async connect(): Promise<void> {
    this.release();
    const turn = this.turn;
    let url: string;
    try {
      url = await this.address();
    } catch (failure) {
      // Without a valid key there is nothing to wait for: a new one opens a new stream.
      if (turn === this.turn && problemOf(failure).status !== 401) this.lost();
      return;
    }
    if (turn !== this.turn) return;
    const source = new EventSource(url);
    this.source = source;
    source.onopen = () => {
      // A server that takes connections and drops them is not asked ever faster.
      this.steadyTimer = window.setTimeout(() => {
        this.attempts = 0;
      }, STEADY_AFTER_MS);
      this.listener.onState("live");
      this.listener.onSignal({ kind: "open" });
    };
    source.onerror = this.lost;
    for (const name of EVENT_NAMES) {
      source.addEventListener(name, (event: MessageEvent<string>) => {
        this.remember(event);
        this.listener.onSignal({ kind: "event", name, ...subject(event.data) });
      });
    }
    source.addEventListener("reset", (event: MessageEvent<string>) => {
      this.remember(event);
      this.listener.onSignal({ kind: "reset" });
    });
  }

  private async address(): Promise<string> {
    const query = new URLSearchParams();
    if (this.lastId !== undefined) query.set("after", this.lastId);
    if (accessKey() !== null) query.set("ticket", (await answered(createEventTicket())).ticket);
    return query.size === 0 ? this.path : `${this.path}?${query}`;
  }

  private remember(event: MessageEvent): void {
    if (event.lastEventId !== "") this.lastId = event.lastEventId;
  }

  private release(): void {
    this.turn += 1;
    for (const timer of [this.retryTimer, this.hideTimer, this.steadyTimer]) {
      window.clearTimeout(timer);
    }
    this.source?.close();
    this.source = undefined;
  }

  private readonly lost = (): void => {
    this.release();
    this.attempts += 1;
    const isOffline = !navigator.onLine || this.attempts > OFFLINE_AFTER_ATTEMPTS;
    this.listener.onState(isOffline ? "offline" : "reconnecting");
    const wait = Math.min(FIRST_WAIT_MS * 2 ** (this.attempts - 1), LONGEST_WAIT_MS);
    // Nobody looks: it comes back when somebody does.
    if (document.hidden) return;
    // Viewers that lost the same service do not all come back at the same moment.
    this.retryTimer = window.setTimeout(this.retryNow, wait * (0.8 + Math.random() * 0.2));
  };

  private readonly retryNow = (): void => {
    if (!document.hidden) void this.connect();
  };

  private readonly seen = (): void => {
    if (!document.hidden) {
      window.clearTimeout(this.hideTimer);
      if (this.source !== undefined) return;
      this.listener.onState("connecting");
      this.retryNow();
    } else if (this.source !== undefined) {
      this.hideTimer = window.setTimeout(() => this.release(), HIDDEN_FOR_MS);
    }
  };
}

function subject(data: string): { sessionId: string | null; id: string | null } {
  const said: unknown = JSON.parse(data);
  const members = typeof said === "object" && said !== null ? said : {};
  const sessionId = "sessionId" in members ? members.sessionId : null;
  const id = "id" in members ? members.id : null;
  return {
    sessionId: typeof sessionId === "string" ? sessionId : null,
    id: typeof id === "string" ? id : null,
  };
}
