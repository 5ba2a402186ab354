/**
 * The messages of a session for one target, kept here: each step asks only for what is new.
 *
 * Every step says which entry it knows last. If another program has written to the session
 * meanwhile, the whole is read again, and the step is repeated behind that.
 */
import { ConflictError, PagefaultError, problemError } from "./errors.ts";
import type { LossEntry, RenderedRecord, TurnRender } from "./generated/types.gen.ts";
import type { Session, TurnStep } from "./sessions.ts";
import type { RequestOptions } from "./transport.ts";

const MOST_READINGS = 5;

/** A message as the provider takes it. */
export type ProviderMessage = Record<string, unknown>;

export class Conversation {
  readonly session: Session;
  private readonly wish: TurnRender;
  private kept: ProviderMessage[] = [];
  private losses: LossEntry[] = [];
  private told: string | null | undefined;
  private lastSeq: number | undefined;

  constructor(session: Session, wish: TurnRender) {
    if (wish.frontier != null || wish.since) {
      throw new TypeError(
        "A conversation keeps its own beginning: it takes no frontier and no since",
      );
    }
    this.session = session;
    this.wish = wish;
  }

  /** All messages, for the next request to the provider. */
  get messages(): readonly ProviderMessage[] {
    return this.kept;
  }

  /** What the system says, for providers that take it beside the messages. */
  get system(): string | undefined {
    return this.told ?? undefined;
  }

  /** What the messages leave out of the history, or have in addition. */
  get loss(): readonly LossEntry[] {
    return this.losses;
  }

  /** The number of the last entry that the messages have. */
  get seq(): number {
    return this.lastSeq ?? 0;
  }

  /** Append what a step says; gives all messages, with what it added. */
  async turn(
    entries: readonly TurnStep[],
    options: RequestOptions = {},
  ): Promise<readonly ProviderMessage[]> {
    if (this.lastSeq === undefined) await this.reload(options);
    for (let reading = 1; ; reading += 1) {
      const expectedSeq = this.seq;
      try {
        const render = { ...this.wish, since: expectedSeq };
        const receipt = await this.session.turn(entries, { ...options, render, expectedSeq });
        if (receipt.rendering === null || receipt.rendering === undefined) {
          // All is stored: the next step, or `render`, reads it.
          this.lastSeq = undefined;
          throw problemError(unrendered(receipt.problem));
        }
        return await this.extend(receipt.rendering, Math.max(...receipt.seqs), options);
      } catch (failure) {
        const hasMoved = failure instanceof ConflictError && failure.code === "session-moved-on";
        if (!hasMoved || reading >= MOST_READINGS) throw failure;
        await this.reload(options);
      }
    }
  }

  /** Ask for what others have written, too; gives all messages. */
  async render(options: RequestOptions = {}): Promise<readonly ProviderMessage[]> {
    if (this.lastSeq === undefined) return this.reload(options);
    const { lastSeq } = await this.session.get(options);
    if (lastSeq === this.lastSeq) return this.kept;
    const rendering = await this.session.render({ ...this.wish, since: this.lastSeq }, options);
    // Between the two answers somebody may have written: then the number is not that of the messages.
    if ((await this.session.get(options)).lastSeq !== lastSeq) return this.reload(options);
    return this.extend(rendering, lastSeq, options);
  }

  private async reload(options: RequestOptions): Promise<readonly ProviderMessage[]> {
    for (let reading = 0; reading < MOST_READINGS; reading += 1) {
      const lastSeq = await this.known(options);
      const rendering = lastSeq === 0 ? undefined : await this.session.render(this.wish, options);
      if ((await this.known(options)) !== lastSeq) continue;
      this.kept = [...(rendering?.messages ?? [])];
      this.losses = [...(rendering?.loss ?? [])];
      this.told = rendering?.system;
      this.lastSeq = lastSeq;
      return this.kept;
    }
    throw new PagefaultError(`Session ${this.session.id} is written to faster than it can be read`);
  }

  private async extend(
    rendering: RenderedRecord,
    lastSeq: number,
    options: RequestOptions,
  ): Promise<readonly ProviderMessage[]> {
    // What the system says stands before everything, so it changes the whole.
    if (rendering.system != null && this.lastSeq !== 0) return this.reload(options);
    this.told ??= rendering.system;
    this.kept = [...this.kept, ...rendering.messages];
    this.losses = [...this.losses, ...rendering.loss];
    this.lastSeq = lastSeq;
    return this.kept;
  }

  private async known(options: RequestOptions): Promise<number> {
    try {
      return (await this.session.get(options)).lastSeq;
    } catch (failure) {
      // Nothing was written to it yet.
      if (failure instanceof PagefaultError && "status" in failure && failure.status === 404)
        return 0;
      throw failure;
    }
  }
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
