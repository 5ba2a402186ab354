/**
 * The messages of a session for one target, kept in the client and updated with new messages only.
 *
 * Messages that were returned before do not change, so the prompt cache of a provider stays valid.
 * Each answer has a hash of the messages before the new ones. If the hash differs from the local one,
 * because another client has written, old messages were evicted, or a result belongs to an earlier
 * message, all messages are requested again.
 */
import { NotFoundError, problemError } from "./errors.ts";
import type {
  HistoryMessageDraft,
  LossEntry,
  RefusedCall,
  RenderedRecord,
  RenderRequest,
  TurnReceipt,
  TurnRender,
} from "./generated/types.gen.ts";
import type { ToolResultDraft } from "./toolResults.ts";
import type { Idempotent, RequestOptions } from "./transport.ts";

/** Targets that merge consecutive messages of one role, and the member with the blocks. */
const ONE_MESSAGE: Readonly<Record<string, "content" | "parts" | undefined>> = {
  bedrock: "content",
  gemini: "parts",
};

/** An entry of a turn: exactly one of the members. */
export type TurnStep = OneOf<{
  /** A message as your SDK has it, in any dialect. */
  message: HistoryMessageDraft | object;
  toolResult: Omit<ToolResultDraft, "sessionId">;
  toolCall: { id: string; name: string; arguments: Record<string, unknown> | string | null };
}>;

type OneOf<Members> = {
  [Name in keyof Members]: Pick<Members, Name> & Partial<Record<Exclude<keyof Members, Name>, never>>;
}[keyof Members];

export type TurnOptions = Idempotent & {
  readonly render?: TurnRender | undefined;
  /** The last `seq` that you know; if others have written meanwhile, it is a `ConflictError`. */
  readonly expectedSeq?: number | undefined;
};

/** A target, and how a session is to be rendered for it. */
export type RenderQuery = Omit<RenderRequest, "sessionId" | "toolResultId" | "pageId">;

/** The part of a session that a conversation needs. */
export interface SessionTurns {
  readonly id: string;
  turn(entries: readonly TurnStep[], options?: TurnOptions): Promise<TurnReceipt>;
  render(query: RenderQuery, options?: RequestOptions): Promise<RenderedRecord>;
}

/** A message as the provider takes it. */
export type ProviderMessage = Record<string, unknown>;

export class Conversation {
  readonly session: SessionTurns;
  private readonly query: TurnRender;
  private kept: ProviderMessage[] = [];
  private losses: LossEntry[] = [];
  private refusals: readonly RefusedCall[] = [];
  private told: string | null | undefined;
  private lastSeq = 0;
  private hash: string | null | undefined;

  constructor(session: SessionTurns, query: TurnRender) {
    if (query.since) throw new TypeError("A conversation keeps its own beginning: it takes no since");
    this.session = session;
    // As in turns, where that is the default.
    this.query = { ...query, handles: query.handles ?? true };
  }

  /** All messages, for the next request to the provider. */
  get messages(): readonly ProviderMessage[] {
    return this.kept;
  }

  /** The system prompt, for providers with a separate member for it. */
  get system(): string | undefined {
    return this.told ?? undefined;
  }

  /** The omissions and inventions in the messages. */
  get loss(): readonly LossEntry[] {
    return this.losses;
  }

  /**
   * The calls of the last turn that must not be run, because they have an argument copied from a
   * shortened call. The messages have their answers.
   */
  get refused(): readonly RefusedCall[] {
    return this.refusals;
  }

  /** The number of the last entry that the messages have. */
  get seq(): number {
    return this.lastSeq;
  }

  /** Append the entries of a turn, and return all messages for the next request. */
  async turn(
    entries: readonly TurnStep[],
    options: RequestOptions = {},
  ): Promise<readonly ProviderMessage[]> {
    const since = this.since();
    const render = { ...this.query, ...since };
    const receipt = await this.session.turn(entries, { ...options, render });
    const { rendering, problem, refused } = receipt;
    this.refusals = refused ?? [];
    // All is stored: the next step, or `render`, reads it.
    if (!rendering) throw problemError(unrendered(problem));
    return this.take(rendering, since, options);
  }

  /** Ask for what others have written, too; gives all messages. */
  async render(options: RequestOptions = {}): Promise<readonly ProviderMessage[]> {
    const since = this.since();
    try {
      const rendering = await this.session.render({ ...this.query, ...since }, options);
      return await this.take(rendering, since, options);
    } catch (failure) {
      // Nothing was written to it yet.
      if (failure instanceof NotFoundError && failure.code === "not-found" && !this.lastSeq)
        return this.kept;
      throw failure;
    }
  }

  /** Up to where the messages are here, if they are. Marks for a cache are in all or in none. */
  private since(): { since?: number } {
    return this.hash && !this.query.cacheMarkers ? { since: this.lastSeq } : {};
  }

  /** Append the messages of a rendering, and return all messages. */
  private async take(
    rendering: RenderedRecord,
    { since }: { since?: number },
    options: RequestOptions,
  ): Promise<readonly ProviderMessage[]> {
    // Meanwhile another step may have taken its answer.
    const isBehind = since === this.lastSeq && rendering.sinceHash === this.hash;
    if (since !== undefined && !isBehind) {
      this.hash = undefined;
      return this.take(await this.session.render(this.query, options), {}, options);
    }
    const { messages, loss, system, prefixHash, sinceHash, lastSeq } = rendering;
    this.kept = since === undefined ? messages : this.joined(messages);
    this.losses = since === undefined ? loss : [...this.losses, ...loss];
    if (since === undefined || system) this.told = system;
    this.lastSeq = lastSeq ?? 0;
    // A service that does not say how far a session has come is asked for all of it.
    this.hash = lastSeq ? (prefixHash?.at(-1) ?? sinceHash) : undefined;
    return this.kept;
  }

  private joined(added: readonly ProviderMessage[]): ProviderMessage[] {
    const { kept } = this;
    const blocks = ONE_MESSAGE[this.query.target];
    const last = kept.at(-1);
    const [first, ...rest] = added;
    if (!blocks || !last || !first || last["role"] !== first["role"]) return [...kept, ...added];
    if (answers(last) !== answers(first)) return [...kept, ...added];
    const both = [last, first].flatMap((message) => message[blocks] as unknown[]);
    return [...kept.slice(0, -1), { ...last, [blocks]: both }, ...rest];
  }
}

/** Return whether a message of Gemini has answers to calls, which are not merged with others. */
function answers({ parts = [] }: { parts?: unknown }): boolean {
  return (parts as object[]).some((part) => "functionResponse" in part);
}

function unrendered(detail: string | null | undefined) {
  const title = "The turn is stored, and could not be rendered";
  return {
    type: "about:blank",
    title,
    status: 422,
    detail: detail ?? "",
    instance: "",
    code: "not-rendered",
    requestId: "",
  };
}
