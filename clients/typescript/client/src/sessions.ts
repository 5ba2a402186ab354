/** Sessions: conversations, their history, and their turns. */
import { Conversation, type ProviderMessage, type RenderQuery, type TurnOptions, type TurnStep } from "./conversation.ts";
import { PagefaultError } from "./errors.ts";
import { readEvents, type EventOptions } from "./events.ts";
import type {
  AppendMessageResponse,
  CalledTool,
  CalledToolPage,
  ChatMessage,
  DeletionReceipt,
  ForkRequest,
  GetManifestData,
  GetOutlineData,
  HistoryEntry,
  HistoryMessageDraft,
  HistoryReceipt,
  InteractionDraft,
  InteractionPage,
  InteractionRecord,
  ListCalledToolsData,
  ListInteractionsData,
  ListMessagesData,
  ListSessionsData,
  ManifestPage,
  MessagePage,
  OutlineEntry,
  OutlinePage,
  PageManifest,
  PendingFork,
  PutHistoryData,
  RenderedRecord,
  RenderedToolResult,
  RenderRequest,
  SessionFile,
  SessionPage,
  SessionPatch,
  SessionRecord,
  StreamEvent,
  ToolCallRequest,
  TurnReceipt,
  TurnRender,
  TurnRequest,
} from "./generated/types.gen.ts";
import { List, listAt } from "./lists.ts";
import { ToolResults, type CreateToolResultOptions, type ToolResultDraft } from "./toolResults.ts";
import {
  at,
  newIdempotencyKey,
  pause,
  type Conditions,
  type Idempotent,
  type QueryOf,
  type RequestOptions,
  type Transport,
  type ApiPromise,
} from "./transport.ts";

/** Forks of more than 10,000 entries are copied in the background. */
const COPYING_MS = 500;

export class Sessions {
  private readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /**
   * Sessions, the one last written to first; `q` is a part of their ids, `pinned` and `tag` are what
   * `patch` has set, `tool` is one that they called, and `writtenWithin` the most seconds since the
   * last write.
   */
  list({
    q,
    pinned,
    tag,
    tool,
    writtenWithin,
    limit,
    ...options
  }: Omit<QueryOf<ListSessionsData>, "cursor"> & RequestOptions = {}): List<
    SessionRecord,
    SessionPage
  > {
    const query = { q, pinned, tag, tool, writtenWithin, limit };
    return listAt(this.transport, "/api/sessions", { ...options, query });
  }

  /** The tools that sessions called, by name, with the number of these sessions. */
  calledTools({
    limit,
    ...options
  }: Omit<QueryOf<ListCalledToolsData>, "cursor"> & RequestOptions = {}): List<
    CalledTool,
    CalledToolPage
  > {
    return listAt(this.transport, "/api/called-tools", { ...options, query: { limit } });
  }

  /** Restore a session that `bundle` of another service has given. */
  importBundle(
    bundle: Blob | ArrayBuffer | Uint8Array,
    options: RequestOptions = {},
  ): ApiPromise<SessionRecord> {
    const headers = { "Content-Type": "application/zip", ...options.headers };
    return this.transport.json({
      ...options,
      method: "POST",
      path: "/api/sessions/import",
      body: bundle as BodyInit,
      headers,
    });
  }

  /** Read a transcript, a body of a provider or a bundle as a session; nothing is stored. */
  readFile(
    file: Blob | ArrayBuffer | Uint8Array,
    options: RequestOptions = {},
  ): ApiPromise<SessionFile> {
    const headers = { "Content-Type": "application/octet-stream", ...options.headers };
    return this.transport.json({
      ...options,
      method: "POST",
      path: "/api/sessions/read",
      body: file as BodyInit,
      headers,
    });
  }
}

/** The result of `fit`: the session, and the messages for the next request. */
export interface FitResult {
  /** The session with the conversation: a fork, if the histories diverged. */
  readonly session: Session;
  readonly messages: ProviderMessage[];
  /** The system prompt, for providers with a separate member for it. */
  readonly system: string | undefined;
  readonly receipt: HistoryReceipt;
}

export type FitQuery = Omit<QueryOf<PutHistoryData>, "render" | "onDivergence" | "as"> & {
  readonly target: NonNullable<QueryOf<PutHistoryData>["render"]>;
  /** If the session has other messages: throw `HistoryDiverged`, or fork the session. */
  readonly onDivergence?: "throw" | "fork" | undefined;
  /** The id of the fork; by default one is made. */
  readonly as?: string | undefined;
};

/** One session. It begins with the first thing that is written to it. */
export class Session {
  readonly id: string;
  private readonly transport: Transport;
  private readonly path: string;

  constructor(transport: Transport, id: string) {
    this.transport = transport;
    this.id = id;
    this.path = at`/api/sessions/${id}`;
  }

  get(options: RequestOptions = {}): ApiPromise<SessionRecord> {
    return this.transport.json({ ...options, path: this.path });
  }

  put(options: Conditions & RequestOptions = {}): ApiPromise<SessionRecord> {
    return this.transport.json({ ...options, method: "PUT", path: this.path });
  }

  /** Pin the session, tag it, or leave a note on it; members that are left out stay, null removes. */
  patch(marks: SessionPatch, options: Conditions & RequestOptions = {}): ApiPromise<SessionRecord> {
    // The same change once more changes nothing.
    const call = { ...options, method: "PATCH", path: this.path, json: marks, isRepeatable: true };
    return this.transport.json(call);
  }

  /**
   * Delete the session with its history and pages. Gives the receipt, or undefined if that was lost
   * with an answer, and the session is gone.
   */
  delete(options: RequestOptions = {}): ApiPromise<DeletionReceipt | undefined> {
    return this.transport.json({ ...options, method: "DELETE", path: this.path });
  }

  /**
   * Create another session with the entries of this one up to a `seq`. Resolves when all of it is
   * copied; the same fork again gives the same session.
   */
  async fork(upTo: number, as: string, options: RequestOptions = {}): Promise<SessionRecord> {
    for (;;) {
      const forked = await this.transport.json<SessionRecord | PendingFork>({
        ...options,
        method: "POST",
        path: `${this.path}/fork`,
        json: { upTo, as } satisfies ForkRequest,
        isRepeatable: true,
      });
      if (!("status" in forked)) return forked;
      await pause(COPYING_MS, options.signal);
    }
  }

  /**
   * Put the conversation that an SDK has to the session: the list, or a whole request or response.
   * Resolves with what to send to the model.
   */
  async fit(
    messages: unknown,
    { target, onDivergence = "throw", as, ...query }: FitQuery,
    options: RequestOptions = {},
  ): Promise<FitResult> {
    const fork = onDivergence === "fork" && {
      onDivergence: "fork",
      as: as ?? `${this.id}-${newIdempotencyKey().slice(0, 8)}`,
    };
    const receipt = await this.transport.json<HistoryReceipt>({
      ...options,
      method: "PUT",
      path: `${this.path}/history`,
      query: { ...query, render: target, ...fork },
      json: messages,
    });
    if (!receipt.rendering)
      throw new PagefaultError(`The history is stored, but: ${receipt.problem ?? "not rendered"}`);
    return {
      session: new Session(this.transport, receipt.sessionId ?? this.id),
      messages: receipt.rendering.messages as ProviderMessage[],
      system: receipt.rendering.system ?? undefined,
      receipt,
    };
  }

  /**
   * Put the conversation that an SDK has to the session, as `fit` does, without a rendering. A
   * request with a `conversation`, a response or a single message goes on behind the stored entries.
   */
  record(messages: unknown, options: RequestOptions = {}): ApiPromise<HistoryReceipt> {
    const path = `${this.path}/history`;
    return this.transport.json({ ...options, method: "PUT", path, json: messages });
  }

  /** The history, from the beginning or behind a `seq`. */
  messages({
    after,
    media,
    limit,
    ...options
  }: Omit<QueryOf<ListMessagesData>, "cursor"> & RequestOptions = {}): List<
    HistoryEntry,
    MessagePage
  > {
    return listAt(this.transport, `${this.path}/messages`, {
      ...options,
      query: { media, limit },
      once: { after },
    });
  }

  message(seq: number, options: RequestOptions = {}): ApiPromise<HistoryEntry> {
    return this.transport.json({ ...options, path: `${this.path}/messages/${seq}` });
  }

  /** Append a message as your SDK has it, in any dialect. */
  append(
    message: HistoryMessageDraft | object,
    options: Idempotent = {},
  ): ApiPromise<AppendMessageResponse> {
    return this.post("messages", message, options);
  }

  /** Store a result of a tool. */
  toolResult(
    draft: Omit<ToolResultDraft, "sessionId">,
    options: CreateToolResultOptions = {},
  ): ApiPromise<RenderedToolResult> {
    return new ToolResults(this.transport).create({ ...draft, sessionId: this.id }, options);
  }

  /** Append all that one step of an agent says, in one transaction. */
  turn(
    entries: readonly TurnStep[],
    { render, expectedSeq, ...options }: TurnOptions = {},
  ): ApiPromise<TurnReceipt> {
    return this.post(
      "turns",
      { entries, render, expectedSeq } satisfies Record<keyof TurnRequest, unknown>,
      options,
    );
  }

  /** Run a call that a model made of one of the memory's tools; its answer is a rendering. */
  callTool(call: ToolCallRequest, options: RequestOptions = {}): ApiPromise<RenderedRecord> {
    const path = `${this.path}/tool-calls`;
    // The same call gets the stored answer.
    return this.transport.json({
      ...options,
      method: "POST",
      path,
      json: call,
      isRepeatable: true,
    });
  }

  /** The history as messages of a provider. */
  render(query: RenderQuery, options: RequestOptions = {}): ApiPromise<RenderedRecord> {
    const json: RenderRequest = { ...query, sessionId: this.id };
    return this.transport.json({
      ...options,
      method: "POST",
      path: "/api/render",
      json,
      isRepeatable: true,
    });
  }

  /** Return a conversation, which keeps the messages of one model between steps. */
  conversation(query: TurnRender): Conversation {
    return new Conversation(this, query);
  }

  /** Store a request of a user, perhaps with files. */
  interact(
    draft: InteractionDraft,
    {
      attachments,
      idempotencyKey = newIdempotencyKey(),
      ...options
    }: Idempotent & { readonly attachments?: "stored" | "any" | undefined } = {},
  ): ApiPromise<InteractionRecord> {
    const call = { ...options, idempotencyKey, method: "POST", path: `${this.path}/interactions` };
    return this.transport.json({ ...call, query: { attachments }, json: draft });
  }

  interaction(interactionId: string, options: RequestOptions = {}): ApiPromise<InteractionRecord> {
    return this.transport.json({
      ...options,
      path: this.path + at`/interactions/${interactionId}`,
    });
  }

  /** Set the assistant's response to an interaction, once. */
  answer(
    interactionId: string,
    output: ChatMessage,
    options: Pick<Conditions, "ifMatch"> & RequestOptions = {},
  ): ApiPromise<InteractionRecord> {
    const path = this.path + at`/interactions/${interactionId}/output`;
    return this.transport.json({ ...options, method: "PUT", path, json: output });
  }

  interactions({
    input_kind,
    limit,
    ...options
  }: Omit<QueryOf<ListInteractionsData>, "cursor"> & RequestOptions = {}): List<
    InteractionRecord,
    InteractionPage
  > {
    return listAt(this.transport, `${this.path}/interactions`, {
      ...options,
      query: { input_kind, limit },
    });
  }

  /** The kind and size of each entry of the history, without its content. */
  outline({
    after,
    limit,
    ...options
  }: Omit<QueryOf<GetOutlineData>, "cursor"> & RequestOptions = {}): List<
    OutlineEntry,
    OutlinePage
  > {
    return listAt(this.transport, `${this.path}/outline`, {
      ...options,
      query: { limit },
      once: { after },
    });
  }

  /** The pages of the session; each part has a `text` with a line for each, for a model. */
  manifest({
    limit,
    memoryTokens,
    ...options
  }: Omit<QueryOf<GetManifestData>, "cursor"> & RequestOptions = {}): List<
    ManifestPage,
    PageManifest & { items: readonly ManifestPage[] }
  > {
    const path = `${this.path}/manifest`;
    return new List(async (cursor) => {
      const query = { limit, memoryTokens, cursor };
      const part = await this.transport.json<PageManifest>({ ...options, path, query });
      return { ...part, items: part.pages };
    });
  }

  /** The session as one zip, for `sessions.importBundle`. */
  bundle(options: RequestOptions = {}): Promise<Response> {
    return this.transport.response({ ...options, path: `${this.path}/bundle` });
  }

  /** The session as one HTML file with its media inside, which needs no service. */
  document(options: RequestOptions = {}): Promise<Response> {
    return this.transport.response({ ...options, path: `${this.path}/document` });
  }

  /** The bytes that `document` has; above 50 MiB a `BadRequestError` of status 413. */
  async documentSize(options: RequestOptions = {}): Promise<number> {
    const call = { ...options, method: "HEAD", path: `${this.path}/document` } as const;
    const { headers } = await this.transport.response(call);
    return Number(headers.get("content-length"));
  }

  /** The events of the session. */
  events(options: EventOptions = {}): AsyncGenerator<StreamEvent, void> {
    return readEvents(this.transport, `${this.path}/events`, options);
  }

  private post<Value>(
    noun: string,
    json: unknown,
    { idempotencyKey = newIdempotencyKey(), ...options }: Idempotent,
  ): ApiPromise<Value> {
    return this.transport.json({
      ...options,
      idempotencyKey,
      method: "POST",
      path: `${this.path}/${noun}`,
      json,
    });
  }
}
