/** The client: one object for a service, with its nouns as members. */
import { readEvents, type EventOptions } from "./events.ts";
import type {
  Diagnosis,
  EventTicket,
  ExamineHistoryData,
  GetToolInstructionsData,
  ListToolsData,
  RenderedRecord,
  RenderRequest,
  ResolvedArguments,
  ResolveRequest,
  SearchData,
  SearchResult,
  SearchResults,
  StreamEvent,
  ToolDefinitions,
  Version,
} from "./generated/types.gen.ts";
import { listAt, type List } from "./lists.ts";
import { Pages } from "./pages.ts";
import { Aliases, Resources } from "./resources.ts";
import { Session, Sessions } from "./sessions.ts";
import { ToolResults } from "./toolResults.ts";
import {
  Transport,
  type ClientOptions,
  type Query,
  type QueryOf,
  type RequestOptions,
  type ApiPromise,
} from "./transport.ts";
import {
  isToolCaller,
  outcomeOf,
  storeMcp,
  storeOutcome,
  type StoredOutcome,
  type Target,
  type ToolCaller,
  type WrapOptions,
} from "./wrap.ts";

/** A request for `request`, which sends it with the key, the timeout and the retries. */
export interface RawRequest extends RequestOptions {
  readonly method?: string;
  readonly query?: Query | undefined;
  readonly json?: unknown;
  readonly body?: BodyInit | undefined;
}

export class Pagefault {
  readonly toolResults: ToolResults;
  readonly resources: Resources;
  readonly aliases: Aliases;
  readonly pages: Pages;
  readonly sessions: Sessions;
  readonly tools: Tools;
  private readonly transport: Transport;

  /**
   * @param baseUrl Where the service is. By default the page's own origin in a browser, elsewhere
   *   `PAGEFAULT_URL`, or http://127.0.0.1:8000.
   */
  constructor(baseUrl: string = usualUrl(), options: ClientOptions = {}) {
    this.transport = new Transport(baseUrl, {
      ...options,
      apiKey: options.apiKey ?? variable("PAGEFAULT_API_KEY"),
    });
    this.toolResults = new ToolResults(this.transport);
    this.resources = new Resources(this.transport);
    this.aliases = new Aliases(this.transport);
    this.pages = new Pages(this.transport);
    this.sessions = new Sessions(this.transport);
    this.tools = new Tools(this.transport);
  }

  /** Whether requests have a key, or a function provides one. */
  get hasKey(): boolean {
    return this.transport.hasKey;
  }

  /** A session, whether or not anything was written to it yet. */
  session(id: string): Session {
    return new Session(this.transport, id);
  }

  /** The events of the project. */
  events(options: EventOptions = {}): AsyncGenerator<StreamEvent, void> {
    return readEvents(this.transport, "/api/events", options);
  }

  /** A ticket with which a browser may listen for a minute, without the key. */
  eventTicket(options: RequestOptions = {}): ApiPromise<EventTicket> {
    return this.transport.json({
      ...options,
      method: "POST",
      path: "/api/events/ticket",
      isRepeatable: true,
    });
  }

  /**
   * Pages, results, messages, interactions and files that words find, the best first; a word may be
   * a `"phrase"`, `begin*`, an id or a name.
   */
  search(
    words: string,
    {
      kinds,
      sessionId,
      limit,
      ...options
    }: Omit<QueryOf<SearchData>, "q" | "kinds" | "cursor"> & {
      readonly kinds?: readonly SearchResult["kind"][] | undefined;
    } & RequestOptions = {},
  ): List<SearchResult, SearchResults> {
    const query = { q: words, kinds: kinds?.join(), sessionId, limit };
    return listAt(this.transport, "/api/search", { ...options, query });
  }

  /** Put files in place of the references in arguments. */
  resolve<Arguments = unknown>(
    request: Omit<ResolveRequest, "arguments"> & { arguments: Arguments },
    options: RequestOptions = {},
  ): ApiPromise<Omit<ResolvedArguments, "arguments"> & { arguments: Arguments }> {
    return this.transport.json({
      ...options,
      method: "POST",
      path: "/api/resolve",
      json: request,
      isRepeatable: true,
    });
  }

  /** A stored record, named by its id, as messages of a provider. */
  render(request: RenderRequest, options: RequestOptions = {}): ApiPromise<RenderedRecord> {
    return this.transport.json({
      ...options,
      method: "POST",
      path: "/api/render",
      json: request,
      isRepeatable: true,
    });
  }

  /** Examine a history: a list of messages, a request to a provider, or a session. */
  doctor(
    history: readonly unknown[] | Record<string, unknown>,
    query: QueryOf<ExamineHistoryData> = {},
    options: RequestOptions = {},
  ): ApiPromise<Diagnosis> {
    const json = Array.isArray(history) ? { messages: history } : history;
    return this.transport.json({
      ...options,
      method: "POST",
      path: "/api/doctor",
      query,
      json,
      isRepeatable: true,
    });
  }

  version(options: RequestOptions = {}): ApiPromise<Version> {
    return this.transport.json({ ...options, path: "/api/version" });
  }

  /** Send a request without a method of its own; error statuses are thrown. */
  request(path: string, options: RawRequest = {}): Promise<Response> {
    return this.transport.response({ ...options, path });
  }

  /** The address of a path of the service. */
  url(path: string, query: Query = {}): string {
    return this.transport.url(path, query);
  }

  /**
   * Wrap a tool: store each result, and return its rendering for the model, a text or the messages
   * of `target`. If storing fails, the original result is returned. For an MCP client, the wrapped
   * `callTool` returns rendered MCP results.
   */
  wrap(
    client: ToolCaller,
    options?: Omit<WrapOptions, "name" | "target" | "callId">,
  ): <Result>(params: Parameters<ToolCaller["callTool"]>[0], ...rest: unknown[]) => Promise<Result>;
  wrap<Arguments extends unknown[], Result>(
    tool: (...args: Arguments) => Result,
    options: WrapOptions<Arguments> & { target: Target },
  ): (...args: Arguments) => Promise<Record<string, unknown>[] | Awaited<Result>>;
  wrap<Arguments extends unknown[], Result>(
    tool: (...args: Arguments) => Result,
    options?: WrapOptions<Arguments>,
  ): (...args: Arguments) => Promise<string | Awaited<Result>>;
  wrap<Arguments extends unknown[]>(
    tool: ToolCaller | ((...args: Arguments) => unknown),
    options: WrapOptions<Arguments> = {},
  ): unknown {
    const { name, target, callId, ...store } = options;
    if (isToolCaller(tool)) {
      return async (params: Parameters<ToolCaller["callTool"]>[0], ...rest: never[]) => {
        const outcome = await outcomeOf(() => tool.callTool(params, ...rest));
        const call = { toolName: params.name, target: "mcp" } as const;
        return storeMcp(this.toolResults, outcome, store, call);
      };
    }
    return async (...args: Arguments) => {
      const outcome = await outcomeOf(() => tool(...args));
      const call = {
        toolName: name || tool.name || "tool",
        toolCallId: callId?.(...args),
        target: target ?? "text",
      };
      return storeOutcome(this.toolResults, outcome, store, call, ({ messages }) =>
        target === undefined ? textShown(messages) : messages,
      );
    };
  }
}

/** The text for an empty result, so that the model does not wait for more. */
const NOTHING = "The tool returned nothing.";

/** The text without its first line, which says which tool it is of: who called it knows. */
function textShown([message]: StoredOutcome["messages"]): string {
  const [, ...words] = String(message["content"]).split("\n");
  return words.join("\n") || NOTHING;
}

/** The memory's own tools, which a model can call. */
export class Tools {
  private readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** Their definitions, in the dialect of a target; `only` picks some by name. */
  list(
    {
      target,
      only,
    }: Omit<QueryOf<ListToolsData>, "only"> & { only?: readonly string[] | undefined },
    options: RequestOptions = {},
  ): ApiPromise<ToolDefinitions> {
    return this.transport.json({ ...options, path: "/api/tools", query: { target, only } });
  }

  /** The rules that a model needs to use them well. */
  async instructions(
    query: QueryOf<GetToolInstructionsData> = {},
    options: RequestOptions = {},
  ): Promise<string> {
    return (
      await this.transport.response({ ...options, path: "/api/tools/instructions", query })
    ).text();
  }
}

function usualUrl(): string {
  return "document" in globalThis ? "" : (variable("PAGEFAULT_URL") ?? "http://127.0.0.1:8000");
}

function variable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name];
}
