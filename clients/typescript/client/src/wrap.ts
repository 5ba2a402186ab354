/**
 * Wrapped tools: their results are stored, and rendered for the model.
 */
import { PagefaultError } from "./errors.ts";
import type { CreateToolResultData, RenderedToolResult } from "./generated/types.gen.ts";
import type { ToolResults } from "./toolResults.ts";
import { newIdempotencyKey } from "./transport.ts";

export type Target = Exclude<
  NonNullable<CreateToolResultData["query"]>["render"],
  null | undefined
>;

/** A session, by its id or as `pf.session(id)`. */
export type SessionName = string | { readonly id: string };

export interface StoreOptions {
  /** The session that the results are written to; without it they are in no history. */
  readonly session?: SessionName | undefined;
  /** A line behind each stored medium names it, so that the model can use it again; true by default. */
  readonly handles?: boolean | undefined;
  /**
   * Called if a result could not be stored; by default, a warning is written to the console. The
   * original result is returned.
   */
  readonly onStoreError?: ((failure: unknown) => void) | undefined;
}

export interface WrapOptions<Arguments extends unknown[] = never[]> extends StoreOptions {
  /** The name of the tool; that of the function by default. */
  readonly name?: string | undefined;
  /** The model's provider. Without one the model is shown a text. */
  readonly target?: Target | undefined;
  /** The id of the model's call, from the arguments; a new one by default. */
  readonly callId?: ((...args: Arguments) => string | undefined) | undefined;
}

/** The interface of MCP clients of any version. */
export interface ToolCaller {
  callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    ...rest: never[]
  ): Promise<unknown>;
}

export interface StoredCall {
  readonly toolName: string;
  readonly toolCallId?: string | undefined;
  readonly target: Target;
  /** The value to store, if it is not the value that the tool returned. */
  readonly result?: unknown;
  /** The message that made the call, if the session does not have it. */
  readonly callMessage?: object | undefined;
}

/** The result or the error of a tool. */
export interface Outcome {
  readonly result: unknown;
  readonly success: boolean;
  readonly failure?: unknown;
}

export interface StoredOutcome {
  readonly record: RenderedToolResult;
  /** The messages that answer the call, as the provider takes them; there is at least one. */
  readonly messages: readonly [Record<string, unknown>, ...Record<string, unknown>[]];
}

/**
 * Store the result or the error of a tool, and return the record as converted by `show`. If that
 * fails, return or throw the original result or error.
 */
export async function storeOutcome(
  toolResults: ToolResults,
  outcome: Outcome,
  { session, handles = true, onStoreError = warn }: StoreOptions,
  call: StoredCall,
  show: (stored: StoredOutcome) => unknown,
): Promise<unknown> {
  const { toolName, toolCallId = `call_${newIdempotencyKey().slice(0, 24)}`, target } = call;
  const { result = outcome.result, callMessage } = call;
  const sessionId = session === undefined ? undefined : idOf(session);
  try {
    const { success } = outcome;
    const draft = { toolName, toolCallId, sessionId, result, success, callMessage };
    const record = await toolResults.create(draft, { render: target, handles });
    return show({ record, messages: answersOf(record) });
  } catch (failure) {
    onStoreError(failure);
  }
  if (!outcome.success) throw outcome.failure;
  return outcome.result;
}

/** Store a result of MCP, and give the one to be shown; see `storeOutcome`. */
export function storeMcp(
  toolResults: ToolResults,
  outcome: Outcome,
  store: StoreOptions,
  call: StoredCall,
): unknown {
  // It asks for something before there is a result.
  const { resultType } = (outcome.result ?? {}) as { resultType?: unknown };
  if (resultType === "input_required") return outcome.result;
  return storeOutcome(toolResults, outcome, store, call, ({ messages }) => messages[0]);
}

function answersOf({ rendering, id }: RenderedToolResult): StoredOutcome["messages"] {
  const [first, ...further] = rendering?.messages ?? [];
  if (first !== undefined) return [first, ...further];
  throw new PagefaultError(`The result is stored as ${id}, and could not be rendered`);
}

export function idOf(session: SessionName): string {
  return typeof session === "string" ? session : session.id;
}

/** Tell on the console that something could not be stored or shown. */
export function warn(failure: unknown): void {
  console.warn("Pagefault:", failure);
}

/** Return whether a value is an MCP client, not a function. */
export function isToolCaller(tool: unknown): tool is ToolCaller {
  return (
    typeof tool === "object" &&
    tool !== null &&
    "callTool" in tool &&
    typeof tool.callTool === "function"
  );
}

/** Run a tool to its end. */
export async function outcomeOf(run: () => unknown): Promise<Outcome> {
  try {
    return { result: await run(), success: true };
  } catch (failure) {
    // Giving up is no result.
    if (failure instanceof Error && failure.name === "AbortError") throw failure;
    const result =
      failure instanceof Error ? `${failure.name}: ${failure.message}` : String(failure);
    return { result, success: false, failure };
  }
}
