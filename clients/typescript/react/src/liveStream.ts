/**
 * Event streams of a visible page, one for each path, shared by all listeners.
 *
 * Browsers limit the connections to a host, so a hidden tab closes its streams, and resumes them when
 * it is visible again. Events are not rendered; they signal that there is new data to load. Listeners
 * also load new data on `open`, so no change between two streams is missed.
 */
import type { EventOptions, Pagefault, StreamEvent } from "@pagefault/client";

export type LiveState = "connecting" | "live" | "reconnecting" | "offline";

export type Signal =
  | { kind: "open" }
  | { kind: "reset" }
  | {
      kind: "event";
      name: Exclude<StreamEvent["event"], "reset">;
      sessionId: string | null;
      id: string | null;
      event: StreamEvent;
    };

export interface StreamListener {
  readonly onSignal: (signal: Signal) => void;
  readonly onState: (state: LiveState) => void;
}

const OFFLINE_AFTER_ATTEMPTS = 6;
const HIDDEN_FOR_MS = 30_000;

/** The streams of one client. */
export class LiveStreams {
  private readonly client: Pagefault;
  private readonly streams = new Map<string | null, LiveStream>();

  constructor(client: Pagefault) {
    this.client = client;
  }

  /** Listen to a session, or with null to the project; returns what ends it. */
  listen(sessionId: string | null, listener: StreamListener): () => void {
    const stream = this.streams.get(sessionId) ?? this.made(sessionId);
    return stream.listen(listener);
  }

  private made(sessionId: string | null): LiveStream {
    const source = sessionId === null ? this.client : this.client.session(sessionId);
    const stream = new LiveStream(
      (options) => source.events(options),
      () => this.streams.delete(sessionId),
    );
    this.streams.set(sessionId, stream);
    return stream;
  }
}

class LiveStream {
  private readonly open: (options: EventOptions) => AsyncGenerator<StreamEvent, void>;
  private readonly onEnd: () => void;
  private readonly listeners = new Set<StreamListener>();
  private life: AbortController | undefined;
  private state: LiveState = "connecting";
  private position: number | undefined;
  private attempts = 0;
  private hideTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    open: (options: EventOptions) => AsyncGenerator<StreamEvent, void>,
    onEnd: () => void,
  ) {
    this.open = open;
    this.onEnd = onEnd;
  }

  listen(listener: StreamListener): () => void {
    const isFirst = this.listeners.size === 0;
    this.listeners.add(listener);
    if (isFirst && this.life === undefined) this.begin();
    else {
      listener.onState(this.state);
      if (this.state === "live") listener.onSignal({ kind: "open" });
    }
    return () => {
      this.listeners.delete(listener);
      // A view that takes another's place listens in the same moment.
      setTimeout(() => this.listeners.size === 0 && this.end());
    };
  }

  private begin(): void {
    window.addEventListener("online", this.retryNow);
    window.addEventListener("offline", this.lost);
    document.addEventListener("visibilitychange", this.seen);
    this.run();
  }

  private end(): void {
    window.removeEventListener("online", this.retryNow);
    window.removeEventListener("offline", this.lost);
    document.removeEventListener("visibilitychange", this.seen);
    this.release();
    this.onEnd();
  }

  private run(): void {
    this.release();
    this.attempts = 0;
    const life = new AbortController();
    this.life = life;
    void this.read(life.signal);
  }

  private async read(signal: AbortSignal): Promise<void> {
    const onPosition = (position: number) => {
      this.position = position;
      // A server that takes connections and drops them is not taken for one that is there.
      this.attempts = 0;
    };
    const onState = (state: LiveState) => signal.aborted || this.tell(state);
    try {
      for await (const event of this.open({ after: this.position, signal, onPosition, onState })) {
        if (signal.aborted) return;
        this.signal(event.event === "reset" ? { kind: "reset" } : named(event));
      }
    } catch {
      // Without a valid key there is nothing to wait for: another client opens another stream.
      if (!signal.aborted) this.tell("offline");
    }
  }

  private tell(state: LiveState): void {
    if (state === "reconnecting") this.attempts += 1;
    const isOffline =
      state === "reconnecting" && (!navigator.onLine || this.attempts > OFFLINE_AFTER_ATTEMPTS);
    this.state = isOffline ? "offline" : state;
    for (const listener of this.listeners) listener.onState(this.state);
    if (state === "live") this.signal({ kind: "open" });
  }

  private signal(signal: Signal): void {
    for (const listener of this.listeners) listener.onSignal(signal);
  }

  private release(): void {
    clearTimeout(this.hideTimer);
    this.life?.abort();
    this.life = undefined;
  }

  private readonly lost = (): void => {
    this.release();
    this.tell("offline");
  };

  private readonly retryNow = (): void => {
    if (!document.hidden) this.run();
  };

  private readonly seen = (): void => {
    clearTimeout(this.hideTimer);
    if (document.hidden) this.hideTimer = setTimeout(() => this.release(), HIDDEN_FOR_MS);
    else if (this.life === undefined || this.state === "offline") this.run();
  };
}

function named(event: StreamEvent): Signal {
  const name = event.event as Exclude<StreamEvent["event"], "reset">;
  const { sessionId = null, id = null } = event.data as {
    sessionId?: string | null;
    id?: string | null;
  };
  return { kind: "event", name, sessionId, id, event };
}
