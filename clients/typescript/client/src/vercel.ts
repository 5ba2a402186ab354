/**
 * Adapters for the Vercel AI SDK: stored tool results, and the memory tools.
 *
 *     const tools = { ...storedTools(pf, yours, { session }), ...(await memoryTools(pf, session)) };
 *     const { text } = await generateText({ model, prompt, tools, stopWhen: stepCountIs(8) });
 *
 * The output of a stored tool is the record, which is small and is rendered by `<ToolResult>` of
 * `@pagefault/react`. `toModelOutput` renders it for the model, also after a restart.
 */
import { jsonSchema, tool, type Tool, type ToolSet } from "ai";

import type { ToolResultRecord } from "./generated/types.gen.ts";
import type { Pagefault } from "./pagefault.ts";
import { textOf } from "./values.ts";
import { outcomeOf, storeOutcome, warn, type StoreOptions } from "./wrap.ts";

type ModelOutput = Awaited<ReturnType<NonNullable<Tool["toModelOutput"]>>>;
type Execute = NonNullable<Tool["execute"]>;
type CallOptions = Parameters<Execute>[1];

export interface VercelOptions extends StoreOptions {
  /** The version of the AI SDK: `vercel-6` for version 6. */
  readonly target?: "vercel" | "vercel-6" | undefined;
}

/** Wrap tools to store their results. Tools without `execute` are returned unchanged. */
export function storedTools<Tools extends ToolSet>(
  pf: Pagefault,
  tools: Tools,
  options: VercelOptions = {},
): Tools {
  const stored = Object.entries(tools).map(([name, each]) => [
    name,
    storedTool(pf, name, each as Tool, options),
  ]);
  return Object.fromEntries(stored) as Tools;
}

/** The tools of the memory, for one session. */
export async function memoryTools(
  pf: Pagefault,
  session: string,
  {
    target = "vercel",
    only,
  }: Pick<VercelOptions, "target"> & { readonly only?: readonly string[] } = {},
): Promise<ToolSet> {
  const { tools } = await pf.tools.list({ target, only });
  const made = tools.map((definition) => {
    const { name, description, inputSchema } = definition as {
      name: string;
      description: string;
      inputSchema: object;
    };
    const execute = async (input: unknown, { toolCallId, abortSignal: signal }: CallOptions) => {
      const call = { target, id: toolCallId, name, arguments: input as Record<string, unknown> };
      return outputOf((await pf.session(session).callTool(call, { signal })).messages);
    };
    const toModelOutput = ({ output }: { output: ModelOutput }) => output;
    return [
      name,
      tool({ description, inputSchema: jsonSchema(inputSchema), execute, toModelOutput }),
    ];
  });
  return Object.fromEntries(made) as ToolSet;
}

function storedTool(pf: Pagefault, name: string, given: Tool, options: VercelOptions): Tool {
  const { execute } = given;
  if (execute === undefined) return given;
  const { target = "vercel", ...store } = options;
  const rendered = new WeakMap<object, ModelOutput>();

  async function stored(
    run: () => unknown,
    input: unknown,
    { toolCallId }: CallOptions,
  ): Promise<unknown> {
    const outcome = await outcomeOf(run);
    let { result } = outcome;
    if (outcome.success && given.toModelOutput !== undefined) {
      const output = await given.toModelOutput({ toolCallId, input, output: result });
      result = { type: "tool-result", toolCallId, toolName: name, output };
    }
    const call = { toolName: name, toolCallId, target, result };
    return storeOutcome(pf.toolResults, outcome, store, call, ({ record: made, messages }) => {
      const { rendering: _, ...record } = made;
      rendered.set(record, outputOf(messages));
      return record;
    });
  }

  /** The outputs before the last are previews for users; the last one is the result. */
  async function* streamed(outputs: AsyncIterable<unknown>, input: unknown, call: CallOptions) {
    let last: unknown;
    const final = await stored(
      async () => {
        for await (last of outputs);
        return last;
      },
      input,
      call,
    );
    yield final;
  }

  return {
    ...given,
    execute: (input: unknown, call: CallOptions) => {
      let output: unknown;
      try {
        output = execute(input, call);
      } catch (failure) {
        output = Promise.reject(failure);
      }
      return isIterable(output) ? streamed(output, input, call) : stored(() => output, input, call);
    },
    toModelOutput: async (told: { toolCallId: string; input: unknown; output: unknown }) => {
      const { output } = told;
      if (!isRecord(output)) return (await given.toModelOutput?.(told)) ?? plain(output);
      const known = rendered.get(output);
      if (known !== undefined) return known;
      const { handles = true, onStoreError = warn } = store;
      try {
        return outputOf((await pf.toolResults.render(output.id, { target, handles })).messages);
      } catch (failure) {
        onStoreError(failure);
        // Without the service its texts and handles are what there is.
        return { type: "json", value: output.sanitized };
      }
    },
  } as Tool;
}

/** The output in the messages that answer a call. */
function outputOf(messages: readonly Record<string, unknown>[]): ModelOutput {
  const [message] = messages as readonly { content: readonly { output: ModelOutput }[] }[];
  return message!.content[0]!.output;
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Return whether an output is a stored record; if storing failed, it is not. */
function isRecord(output: unknown): output is ToolResultRecord {
  return typeof output === "object" && output !== null && "sanitized" in output && "id" in output;
}

function plain(output: unknown): ModelOutput {
  try {
    JSON.stringify(output);
  } catch {
    // A provider could not be sent it.
    return { type: "text", value: textOf(output) };
  }
  return typeof output === "string"
    ? { type: "text", value: output }
    : ({ type: "json", value: output ?? null } as ModelOutput);
}
