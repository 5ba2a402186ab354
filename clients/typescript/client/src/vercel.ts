/**
 * Adapters for the Vercel AI SDK: recorded messages, stored tool results, and the memory tools.
 *
 *     const model = wrapLanguageModel({ model: yours, middleware: recorder(pf, session) });
 *     const tools = { ...storedTools(pf, own, { session }), ...(await memoryTools(pf, session)) };
 *     const past = await sessionMessages(pf, session, { maxTokens: 60_000 });
 *     await generateText({ model, tools, messages: [...past, { role: "user", content }] });
 *
 * The output of a stored tool is the record, which is small and is rendered by `<ToolResult>` of
 * `@pagefault/react`. `toModelOutput` renders it for the model, also after a restart.
 */
import {
  jsonSchema,
  tool,
  type LanguageModelMiddleware,
  type ModelMessage,
  type Tool,
  type ToolSet,
} from "ai";

import { contentOf, recordedStream } from "./modelContent.ts";
import type { Pagefault } from "./pagefault.ts";
import { readPrompt, Recorder, type PromptQuery } from "./record.ts";
import { readMemoryTools, ToolOutputs, type ModelOutput } from "./toolOutputs.ts";
import { outcomeOf, type Outcome, type SessionName, type StoreOptions } from "./wrap.ts";

type Execute = NonNullable<Tool["execute"]>;
type ShownOutput = { toolCallId: string; input: unknown; output: unknown };

/** What marks the tools of Mastra, which have other arguments. */
const MASTRA_TOOL = Symbol.for("mastra.core.tool.Tool");

export interface VercelOptions extends StoreOptions {
  /** The version of the AI SDK: `vercel-6` for version 6. */
  readonly target?: "vercel" | "vercel-6" | undefined;
}

/**
 * Middleware for `wrapLanguageModel`, which stores all messages: one for each
 * conversation.
 */
export function recorder(
  pf: Pagefault,
  session: SessionName,
  options: Pick<StoreOptions, "onStoreError"> = {},
): LanguageModelMiddleware {
  const conversation = new Recorder(pf, session, options);
  return {
    async wrapGenerate({ doGenerate, params }) {
      const asked = conversation.storePrompt(params.prompt);
      const answer = await doGenerate();
      await asked;
      await conversation.storeAnswer(contentOf(answer.content));
      return answer;
    },
    async wrapStream({ doStream, params }) {
      const asked = conversation.storePrompt(params.prompt);
      const { stream, ...rest } = await doStream();
      await asked;
      const store = (content: object[]) => conversation.storeAnswer(content);
      return { ...rest, stream: recordedStream(stream, store) };
    },
  };
}

/** The messages of a session for the next run of an agent, within a budget. */
export async function sessionMessages(
  pf: Pagefault,
  session: SessionName,
  query: PromptQuery = {},
): Promise<ModelMessage[]> {
  return (await readPrompt(pf, session, query)) as ModelMessage[];
}

/** Wrap tools to store their calls and results. Tools without `execute` are returned unchanged. */
export function storedTools<Tools extends ToolSet>(
  pf: Pagefault,
  tools: Tools,
  { target = "vercel", ...store }: VercelOptions = {},
): Tools {
  const outputs = new ToolOutputs(pf, { ...store, target });
  const stored = Object.entries(tools).map(([name, each]) => [
    name,
    storedTool(outputs, name, each as Tool),
  ]);
  return Object.fromEntries(stored) as Tools;
}

/** The tools of the memory, for one session. */
export async function memoryTools(
  pf: Pagefault,
  session: SessionName,
  {
    target = "vercel",
    only,
  }: Pick<VercelOptions, "target"> & { readonly only?: readonly string[] } = {},
): Promise<ToolSet> {
  const made = (await readMemoryTools(pf, session, target, only)).map(
    ({ name, description, inputSchema, run }) => {
      const execute: Execute = (input, { toolCallId, abortSignal }) =>
        run(toolCallId, input, abortSignal);
      const toModelOutput = ({ output }: { output: unknown }) => output;
      const made = { description, inputSchema: jsonSchema(inputSchema), execute, toModelOutput };
      return [name, tool(made as Tool)];
    },
  );
  return Object.fromEntries(made) as ToolSet;
}

function storedTool(outputs: ToolOutputs, toolName: string, given: Tool): Tool {
  const { execute } = given;
  if (MASTRA_TOOL in given)
    throw new TypeError(`${toolName} is a tool of Mastra: wrap it with @pagefault/client/mastra`);
  if (execute === undefined) return given;
  const store = async (outcome: Outcome, input: unknown, toolCallId: string) => {
    let { result } = outcome;
    if (outcome.success && given.toModelOutput !== undefined) {
      const output = await given.toModelOutput({ toolCallId, input, output: result });
      result = { type: "tool-result", toolCallId, toolName, output };
    }
    return outputs.store(outcome, { toolName, toolCallId, input }, result);
  };
  return {
    ...given,
    execute: (input: unknown, call: Parameters<Execute>[1]) => {
      const stored = (outcome: Outcome) => store(outcome, input, call.toolCallId);
      let output: unknown;
      try {
        output = execute(input, call);
      } catch (failure) {
        output = Promise.reject(failure);
      }
      return isIterable(output) ? storedLast(output, stored) : outcomeOf(() => output).then(stored);
    },
    toModelOutput: (shown: ShownOutput): Promise<ModelOutput> =>
      outputs.show(shown.output, () => given.toModelOutput?.(shown)),
  } as Tool;
}

/** The outputs before the last are previews for users; the last one is the result. */
async function* storedLast(
  outputs: AsyncIterable<unknown>,
  store: (outcome: Outcome) => Promise<unknown>,
): AsyncGenerator<unknown, void> {
  const previews: unknown[] = [];
  let outcome: Outcome | undefined;
  try {
    for await (const output of outputs) {
      yield* previews.splice(0);
      previews.push(output);
    }
  } catch (failure) {
    outcome = await outcomeOf(() => Promise.reject(failure));
  }
  yield await store(outcome ?? { result: previews[0], success: true });
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
