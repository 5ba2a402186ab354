/**
 * The outputs of stored tools, for frameworks that show a model an output of the AI SDK: the record
 * of a result, and its rendering for the model.
 */
import type { ToolResultRecord } from "./generated/types.gen.ts";
import type { Pagefault } from "./pagefault.ts";
import { callMessage } from "./record.ts";
import { textOf } from "./values.ts";
import {
  idOf,
  storeOutcome,
  warn,
  type Outcome,
  type SessionName,
  type StoreOptions,
} from "./wrap.ts";

/** An output as a prompt of the AI SDK has it. */
export interface ModelOutput {
  readonly type: string;
  readonly value?: unknown;
}

export interface ModelCall {
  readonly toolName: string;
  readonly toolCallId: string;
  readonly input: unknown;
}

export type OutputOptions = StoreOptions & { readonly target: "vercel" | "vercel-6" };

export class ToolOutputs {
  private readonly pf: Pagefault;
  private readonly options: OutputOptions;
  private readonly rendered = new WeakMap<object, ModelOutput>();

  constructor(pf: Pagefault, options: OutputOptions) {
    this.pf = pf;
    this.options = options;
  }

  /** Store the outcome of a call with the call; return the record, or the outcome if that fails. */
  store(outcome: Outcome, call: ModelCall, result: unknown = outcome.result): Promise<unknown> {
    const { pf, options } = this;
    const { toolName, toolCallId } = call;
    const { session } = options;
    const message = session ? callMessage(pf, idOf(session), call) : undefined;
    const stored = { toolName, toolCallId, target: options.target, result, callMessage: message };
    return storeOutcome(pf.toolResults, outcome, options, stored, ({ record: made, messages }) => {
      const { rendering: _, ...record } = made;
      this.rendered.set(record, outputOf(messages));
      return record;
    });
  }

  /** The output for the model: of a record its rendering, of another value `plain`. */
  async show(value: unknown, plain: () => unknown): Promise<ModelOutput> {
    if (!isRecord(value)) return ((await plain()) ?? plainOutput(value)) as ModelOutput;
    const known = this.rendered.get(value);
    if (known !== undefined) return known;
    const { target, handles = true, onStoreError = warn } = this.options;
    try {
      return outputOf((await this.pf.toolResults.render(value.id, { target, handles })).messages);
    } catch (failure) {
      onStoreError(failure);
      // Without the service its texts and handles are what there is.
      return { type: "json", value: value.sanitized };
    }
  }
}

/** The definition of a tool of the memory, and what runs it. */
export interface MemoryTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: object;
  readonly run: (toolCallId: string, input: unknown, signal?: AbortSignal) => Promise<ModelOutput>;
}

/** The tools of the memory, for one session. */
export async function readMemoryTools(
  pf: Pagefault,
  session: SessionName,
  target: OutputOptions["target"],
  only: readonly string[] | undefined,
): Promise<MemoryTool[]> {
  const { tools } = await pf.tools.list({ target, only });
  return (tools as unknown as Omit<MemoryTool, "run">[]).map((definition) => ({
    ...definition,
    run: async (id, input, signal) => {
      const { name } = definition;
      const call = { target, id, name, arguments: input as Record<string, unknown> };
      return outputOf((await pf.session(idOf(session)).callTool(call, { signal })).messages);
    },
  }));
}

/** The output in the messages that answer a call. */
function outputOf(messages: readonly Record<string, unknown>[]): ModelOutput {
  const [message] = messages as readonly { content: readonly { output: ModelOutput }[] }[];
  return message!.content[0]!.output;
}

/** Return whether an output is a stored record; if storing failed, it is not. */
function isRecord(output: unknown): output is ToolResultRecord {
  return typeof output === "object" && output !== null && "sanitized" in output && "id" in output;
}

function plainOutput(output: unknown): ModelOutput {
  try {
    JSON.stringify(output);
  } catch {
    // A provider could not be sent it.
    return { type: "text", value: textOf(output) };
  }
  return typeof output === "string"
    ? { type: "text", value: output }
    : { type: "json", value: output ?? null };
}
