/**
 * Adapters for Mastra: a recorded conversation, stored tool results, and the memory tools.
 *
 *     const memory = new SessionProcessor(pf, session, { maxTokens: 60_000 });
 *     const tools = { ...storedTools(pf, own, { session }), ...(await memoryTools(pf, session)) };
 *     new Agent({ …, tools, inputProcessors: [memory], outputProcessors: [memory] });
 *
 * The output of a stored tool is the record, and the model is shown its rendering.
 */
import type {
  ProcessInputArgs,
  ProcessLLMRequestArgs,
  ProcessOutputStepArgs,
  Processor,
} from "@mastra/core/processors";
import { createTool, type Tool, type ToolExecutionContext } from "@mastra/core/tools";

import type { Pagefault } from "./pagefault.ts";
import { readPrompt, Recorder, type PromptMessage, type PromptQuery } from "./record.ts";
import { readMemoryTools, ToolOutputs } from "./toolOutputs.ts";
import { newIdempotencyKey } from "./transport.ts";
import { outcomeOf, warn, type SessionName, type StoreOptions } from "./wrap.ts";

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- The schemas are of no matter here.
type AnyTool = Tool<any, any, any, any, any>;
type Agent = ToolExecutionContext["agent"];

/** Mastra converts these outputs for models of other versions. */
const TARGET = "vercel-6";

/** Records an agent's conversation, and begins each run with the messages of the session. */
export class SessionProcessor implements Processor<"pagefault"> {
  readonly id = "pagefault";
  private readonly read: () => Promise<PromptMessage[]>;
  private readonly recorder: Recorder;

  /** @param options How the session is rendered, and what is done if that or storing fails. */
  constructor(
    pf: Pagefault,
    session: SessionName,
    {
      onStoreError = warn,
      ...query
    }: Omit<PromptQuery, "target"> & Pick<StoreOptions, "onStoreError"> = {},
  ) {
    this.recorder = new Recorder(pf, session, { onStoreError });
    this.read = () =>
      readPrompt(pf, session, { ...query, target: TARGET }).catch((failure: unknown) => {
        onStoreError(failure);
        return [];
      });
  }

  async processInput({ messageList }: ProcessInputArgs) {
    // Mastra orders messages by their times.
    const past = (await this.read()).map((message, index) => ({
      ...message,
      metadata: { createdAt: new Date(index) },
    }));
    return messageList.add(past as never, "memory");
  }

  async processLLMRequest({ prompt }: ProcessLLMRequestArgs): Promise<undefined> {
    await this.recorder.storePrompt(prompt.map(withoutNotes));
  }

  async processOutputStep({ messageList }: ProcessOutputStepArgs) {
    const answers: readonly PromptMessage[] = messageList.get.response.aiV5.model();
    const answer = answers.findLast(({ role }) => role === "assistant");
    if (answer) await this.recorder.storeAnswer(withoutNotes(answer).content as object[]);
    return messageList;
  }
}

/** Wrap tools to store their calls and results, under the names by which the agent has them. */
export function storedTools<Tools extends Record<string, AnyTool>>(
  pf: Pagefault,
  tools: Tools,
  store: StoreOptions = {},
): Tools {
  const outputs = new ToolOutputs(pf, { ...store, target: TARGET });
  const stored = Object.entries(tools).map(([name, given]) => [
    name,
    storedTool(outputs, name, given),
  ]);
  return Object.fromEntries(stored) as Tools;
}

/** The tools of the memory, for one session. */
export async function memoryTools(
  pf: Pagefault,
  session: SessionName,
  { only }: { readonly only?: readonly string[] | undefined } = {},
): Promise<Record<string, AnyTool>> {
  const made = (await readMemoryTools(pf, session, TARGET, only)).map(
    ({ name: id, run, ...definition }) => {
      const execute = (input: unknown, { agent, abortSignal }: ToolExecutionContext) =>
        run(callIdOf(agent), input, abortSignal);
      const toModelOutput = (output: unknown) => output;
      return [id, createTool({ ...definition, id, execute, toModelOutput } as never)];
    },
  );
  return Object.fromEntries(made) as Record<string, AnyTool>;
}

function storedTool(outputs: ToolOutputs, toolName: string, given: AnyTool): AnyTool {
  const { execute, toModelOutput } = given;
  if (execute === undefined) return given;
  const made = Object.assign(Object.create(Object.getPrototypeOf(given) as object), given);
  return Object.assign(made as AnyTool, {
    async execute(input: unknown, context: ToolExecutionContext) {
      let isSuspended = false;
      const { agent } = context;
      const suspend: NonNullable<Agent>["suspend"] = (...payload) => {
        isSuspended = true;
        return agent!.suspend(...payload);
      };
      const call = { toolName, toolCallId: callIdOf(agent), input };
      const outcome = await outcomeOf(() =>
        execute(input, agent ? { ...context, agent: { ...agent, suspend } } : context),
      );
      // A call that waits for somebody has no result yet.
      return isSuspended ? outcome.result : outputs.store(outcome, call);
    },
    toModelOutput: (output: unknown) => outputs.show(output, () => toModelOutput?.(output)),
  });
}

/** The message without what Mastra notes for itself in the options of its parts. */
function withoutNotes(message: PromptMessage): PromptMessage {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const parts = (content as { providerOptions?: { mastra?: unknown } }[]).map(
    ({ providerOptions: { mastra: _, ...options } = {}, ...part }) =>
      Object.keys(options).length > 0 ? { ...part, providerOptions: options } : part,
  );
  return { ...message, content: parts };
}

function callIdOf(agent: Agent): string {
  return agent?.toolCallId ?? `call_${newIdempotencyKey().slice(0, 24)}`;
}
