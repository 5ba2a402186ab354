/** Results of tools. */
import type {
  CreateToolResultData,
  ListToolResultsData,
  RenderedRecord,
  RenderedToolResult,
  RenderToolResultData,
  ToolResultPage,
  ToolResultRecord,
} from "./generated/types.gen.ts";
import { listAt, type List } from "./lists.ts";
import {
  at,
  newIdempotencyKey,
  splitOptions,
  type QueryOf,
  type RequestOptions,
  type Transport,
  type ApiPromise,
} from "./transport.ts";

export interface ToolResultDraft {
  readonly toolName: string;
  readonly toolCallId: string;
  /** The result: JSON, which may include bytes, files, maps and sets. */
  readonly result: unknown;
  readonly success?: boolean | undefined;
  readonly sessionId?: string | null | undefined;
  /** The model's message with the call, as your SDK has it, to be stored before the result. */
  readonly callMessage?: object | null | undefined;
  /** Whether another call of this id has its result, and no message that makes this one is stored. */
  readonly newCall?: boolean | undefined;
}

export type CreateToolResultOptions = RequestOptions &
  QueryOf<CreateToolResultData> & {
    /** Of a result outside of sessions, or of a new call; made anew if it is not given. */
    readonly idempotencyKey?: string | undefined;
  };

export class ToolResults {
  private readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** Store a result. With `render` the record has its `rendering` for that target. */
  create(
    draft: ToolResultDraft,
    options: CreateToolResultOptions = {},
  ): ApiPromise<RenderedToolResult> {
    const [call, { idempotencyKey, ...query }] = splitOptions(options);
    // In a session a call has one result, and is recognised by its id unless that is used again.
    const isKnown = draft.sessionId && !(draft.newCall || options.newCall);
    const key = isKnown ? idempotencyKey : (idempotencyKey ?? newIdempotencyKey());
    const json = { ...draft, result: draft.result ?? null };
    return this.transport.json({
      ...call,
      method: "POST",
      path: "/api/tool-results",
      query,
      json,
      idempotencyKey: key,
      isRepeatable: true,
    });
  }

  get(id: string, options: RequestOptions = {}): ApiPromise<ToolResultRecord> {
    return this.transport.json({ ...options, path: at`/api/tool-results/${id}` });
  }

  list({
    sessionId,
    limit,
    ...options
  }: Omit<QueryOf<ListToolResultsData>, "cursor"> & RequestOptions = {}): List<
    ToolResultRecord,
    ToolResultPage
  > {
    return listAt(this.transport, "/api/tool-results", { ...options, query: { sessionId, limit } });
  }

  /** The result as messages of a provider. */
  render(
    id: string,
    wish: QueryOf<RenderToolResultData>,
    options: RequestOptions = {},
  ): ApiPromise<RenderedRecord> {
    return this.transport.json({
      ...options,
      path: at`/api/tool-results/${id}/render`,
      query: wish,
    });
  }
}
