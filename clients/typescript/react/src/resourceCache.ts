/**
 * Descriptors and links of resources, asked for once however many components want them.
 *
 * Without a key the address of a resource never changes. With one, it is a signed link that is made
 * anew a minute before it expires, as long as a component shows it.
 */
import type { Pagefault, ResourceDescriptor } from "@pagefault/client";

const LINK_SECONDS = 3_600;
const RENEWED_BEFORE_MS = 60_000;
const SHORTEST_MS = 30_000;

export interface Link {
  readonly url: string;
  readonly expiresAt: string;
}

/** The last loaded value, and the error of the last attempt. */
export interface Loaded<Value> {
  readonly value?: Value | undefined;
  readonly failure?: unknown;
}

const NOTHING: Loaded<never> = {};

/** A value that is loaded for its listeners, and again when it is stale. */
class SharedValue<Value> {
  private state: Loaded<Value> = NOTHING;
  private loading: Promise<Value> | undefined;
  private freshUntil = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<() => void>();
  private readonly read: () => Promise<Value>;
  private readonly lifetimeMs: (value: Value) => number;

  constructor(read: () => Promise<Value>, lifetimeMs: (value: Value) => number) {
    this.read = read;
    this.lifetimeMs = lifetimeMs;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    if (this.loading === undefined && Date.now() >= this.freshUntil) this.reload();
    else this.schedule();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) clearTimeout(this.timer);
    };
  };

  readonly current = (): Loaded<Value> => this.state;

  /** Load it now, whatever is known. */
  load(): Promise<Value> {
    this.loading ??= this.read().finally(() => {
      this.loading = undefined;
    });
    const loading = this.loading;
    loading.then(
      (value) => {
        this.freshUntil = Date.now() + this.lifetimeMs(value);
        this.change({ value });
        this.schedule();
      },
      (failure: unknown) => this.change({ ...this.state, failure }),
    );
    return loading;
  }

  private reload(): void {
    // A failure is in the state.
    this.load().catch(() => undefined);
  }

  private schedule(): void {
    clearTimeout(this.timer);
    const waitMs = this.freshUntil - Date.now();
    // Timers have a maximum delay.
    if (this.listeners.size > 0 && Number.isFinite(waitMs))
      this.timer = setTimeout(() => this.reload(), Math.max(waitMs, 0));
  }

  private change(state: Loaded<Value>): void {
    this.state = state;
    for (const listener of this.listeners) listener();
  }
}

export class ResourceCache {
  readonly needsLinks: boolean;
  /**
   * The `crossorigin` attribute of elements. Content without a signed link needs CORS: the service has to
   * allow the origin of the page. Signed links work on any page.
   */
  readonly crossOrigin: "anonymous" | undefined;
  private readonly client: Pagefault;
  private readonly descriptors = new Map<string, SharedValue<ResourceDescriptor>>();
  private readonly links = new Map<string, SharedValue<Link>>();

  constructor(client: Pagefault, needsLinks: boolean) {
    this.client = client;
    this.needsLinks = needsLinks;
    const mayBeElsewhere = /^https?:/i.test(client.url(""));
    this.crossOrigin = mayBeElsewhere && !needsLinks ? "anonymous" : undefined;
  }

  descriptor(id: string): SharedValue<ResourceDescriptor> {
    return held(
      this.descriptors,
      id,
      () =>
        new SharedValue<ResourceDescriptor>(
          () => this.client.resources.get(id),
          () => Infinity,
        ),
    );
  }

  link(id: string): SharedValue<Link> {
    return held(this.links, id, () => new SharedValue(() => this.sign(id), validMs));
  }

  async sign(id: string, disposition: "inline" | "attachment" = "inline"): Promise<Link> {
    const request = { expiresInSeconds: LINK_SECONDS, disposition };
    const { url, expiresAt } = await this.client.resources.signedUrl(id, request);
    return { url: this.client.url("") === "" ? withoutOrigin(url) : url, expiresAt };
  }
}

function held<Value>(values: Map<string, Value>, id: string, made: () => Value): Value {
  const value = values.get(id) ?? made();
  values.set(id, value);
  return value;
}

/** The service may know itself under another name; a page that came from it asks its own origin. */
function withoutOrigin(url: string): string {
  const { pathname, search } = new URL(url, window.location.href);
  return pathname + search;
}

function validMs({ expiresAt }: Link): number {
  const lifetime = Math.min(Date.parse(expiresAt) - Date.now(), LINK_SECONDS * 1000);
  // Where the clocks disagree, the lifetime may seem to be over at once.
  return Math.max(lifetime - RENEWED_BEFORE_MS, SHORTEST_MS);
}
