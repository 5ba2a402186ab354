/** What the types refuse: each line is an error of the compiler, and without one the check fails. */
import { Pagefault, type TurnStep } from "../client/src/index.ts";

const pf = new Pagefault();
const session = pf.session("types");
const call = { id: "c1", name: "clock", arguments: {} };
const result = { toolName: "clock", toolCallId: "c1", result: "Ten." };

export const turns: readonly TurnStep[] = [
  { message: { role: "user", content: "Hi." } },
  { toolResult: result },
  { toolCall: call },
  // @ts-expect-error A misspelt entry.
  { mesage: { role: "user", content: "Hi." } },
  // @ts-expect-error A misspelt member of a result.
  { toolResult: { ...result, sucess: true } },
  // @ts-expect-error A call without its name.
  { toolCall: { id: "c1", arguments: {} } },
  // @ts-expect-error A misspelt member of a call.
  { toolCall: { ...call, argument: {} } },
  // @ts-expect-error Two entries in one.
  { message: { role: "user", content: "Hi." }, toolResult: result },
  // @ts-expect-error No message.
  { message: "Hi." },
];

export async function misspelt(): Promise<void> {
  // @ts-expect-error A misspelt member of a draft.
  await pf.toolResults.create({ ...result, calMessage: {} });
  // @ts-expect-error An option of an earlier version.
  new Pagefault("", { key: "pf_x" });
  // @ts-expect-error An unknown target.
  await session.render({ target: "openia" });
  // @ts-expect-error A misspelt option of a request.
  await pf.version({ timeoutMS: 1 });
  // @ts-expect-error A misspelt option of a rendering in a turn.
  await session.turn([{ toolCall: call }], { render: { target: "anthropic", maxToken: 1 } });
}
