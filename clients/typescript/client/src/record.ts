/**
 * The recording of what people and a model say, for frameworks that have messages of the AI SDK.
 *
 * What follows the model's last answer in a prompt is new. It is stored when the model is asked,
 * and the answer before its calls are carried out: so each call is in the history before its
 * result, and a call whose id was used before is a call of its own.
 */
import type { RenderQuery } from "./conversation.ts";
import { HistoryDiverged, NotFoundError } from "./errors.ts";
import type { Pagefault } from "./pagefault.ts";
import { idOf, warn, type SessionName, type StoreOptions } from "./wrap.ts";

/** A message of a prompt. */
export interface PromptMessage {
  readonly role: string;
  readonly content: unknown;
  readonly providerOptions?: object | undefined;
}

/** A part of a message: a text, a call, an answer. */
interface Part {
  readonly type: string;
  readonly toolCallId?: string;
  readonly providerExecuted?: boolean | undefined;
}

/** How a session is rendered for a prompt; `maxTokens` is its budget. */
export type PromptQuery = Omit<RenderQuery, "target" | "since"> & {
  readonly target?: "vercel" | "vercel-6" | undefined;
};

/** A provider reads the options of its own name alone. */
const MARK = "pagefault";
/** Recorded calls without a result, with their sessions. */
const openCalls = new WeakMap<Pagefault, Set<string>>();
const MOST_OPEN_CALLS = 10_000;

/** Records the conversation of an agent in a session. */
export class Recorder {
  private readonly pf: Pagefault;
  private readonly sessionId: string;
  private readonly onStoreError: (failure: unknown) => void;
  private hasBegun = false;
  private last: Promise<void> = Promise.resolve();

  constructor(
    pf: Pagefault,
    session: SessionName,
    { onStoreError = warn }: Pick<StoreOptions, "onStoreError"> = {},
  ) {
    this.pf = pf;
    this.sessionId = idOf(session);
    this.onStoreError = onStoreError;
  }

  /** Store what is new in a prompt. The first prompt may be a whole conversation. */
  storePrompt(messages: readonly PromptMessage[]): Promise<void> {
    const mayBeWhole = !this.hasBegun && !messages.some(isOfSession);
    this.hasBegun = true;
    return this.inOrder(async () => {
      const whole = messages.flatMap(splitAnswers);
      const answered = whole.findLastIndex(({ role }) => role === "assistant");
      if (mayBeWhole && answered >= 0 && (await this.isPut(whole))) return;
      const added = whole.slice(answered + 1).filter(({ role }) => role !== "system");
      const system = whole.filter(({ role }) => role === "system");
      if (added.length > 0) await this.append([...system, ...added]);
    });
  }

  /** Store an answer of the model, before its calls are carried out. */
  storeAnswer(content: readonly object[]): Promise<void> {
    return this.inOrder(async () => {
      if (content.length === 0) return;
      await this.append([{ role: "assistant", content }]);
      const calls = openCalls.get(this.pf) ?? new Set();
      openCalls.set(this.pf, calls);
      for (const { type, toolCallId, providerExecuted } of content as readonly Part[])
        if (type === "tool-call" && !providerExecuted) calls.add(`${this.sessionId} ${toolCallId}`);
      for (const call of calls) if (calls.size > MOST_OPEN_CALLS) calls.delete(call);
    });
  }

  /** Put a whole conversation; return false if the session has another one. */
  private async isPut(messages: readonly PromptMessage[]): Promise<boolean> {
    try {
      await this.pf.session(this.sessionId).record(messages);
      return true;
    } catch (failure) {
      if (failure instanceof HistoryDiverged) return false;
      throw failure;
    }
  }

  private async append(messages: readonly PromptMessage[]): Promise<void> {
    // A conversation by its id goes on behind the stored entries.
    await this.pf.session(this.sessionId).record({ conversation: this.sessionId, messages });
  }

  private inOrder(store: () => Promise<void>): Promise<void> {
    const done = this.last.then(store).catch(this.onStoreError);
    this.last = done.catch(() => undefined);
    return done;
  }
}

/** The messages of a session, for the next prompt of an agent; none of a new session. */
export async function readPrompt(
  pf: Pagefault,
  session: SessionName,
  { target = "vercel", handles = true, ...query }: PromptQuery = {},
): Promise<PromptMessage[]> {
  const id = idOf(session);
  try {
    const { messages } = await pf.session(id).render({ ...query, target, handles });
    return (messages as unknown as PromptMessage[]).map((message) => ({
      ...message,
      providerOptions: { ...message.providerOptions, [MARK]: { session: id } },
    }));
  } catch (failure) {
    if (failure instanceof NotFoundError && failure.code === "not-found") return [];
    throw failure;
  }
}

/** The message that makes a call; undefined if a recorder has stored it. */
export function callMessage(
  pf: Pagefault,
  sessionId: string,
  call: { readonly toolCallId: string; readonly toolName: string; readonly input: unknown },
): PromptMessage | undefined {
  if (openCalls.get(pf)?.delete(`${sessionId} ${call.toolCallId}`)) return undefined;
  return { role: "assistant", content: [{ type: "tool-call", ...call }] };
}

function isOfSession({ providerOptions = {} }: PromptMessage): boolean {
  return MARK in providerOptions;
}

/** One message for each answer, so that those that are stored as results are left out. */
function splitAnswers(message: PromptMessage): PromptMessage[] {
  if (message.role !== "tool") return [message];
  return (message.content as readonly Part[])
    .filter(({ type }) => type === "tool-result")
    .map((part) => ({ role: "tool", content: [part] }));
}
