/**
 * The messages of one entry in a rendering of the whole session, found by the names in them: the id of
 * its call, or the handle by which its rest is read. An earlier rendering is not read from an entry on.
 */
import type { WorkingSetEntry } from "@pagefault/client";
import { memberAt } from "@pagefault/client/json";

import { blocksOf } from "./messagesWithin";

/** Members that a call has, and a result lacks. */
const CALLS = ["tool_calls", "input", "arguments", "functionCall", "toolUse"];

/** Undefined where they cannot be told apart from those of other entries. */
export function sentMessages(
  entry: WorkingSetEntry,
  entries: readonly WorkingSetEntry[],
  messages: readonly string[],
): readonly string[] | undefined {
  const { seq, fromSeq, stepLevel, callId, role } = entry;
  if (stepLevel === "folded") return found(piecesWith(messages, `@entries:${fromSeq}-${seq}`));
  if (callId != null) return resultOf(entry, entries, messages);
  if (role === "assistant") {
    const behind = entries.slice(entries.indexOf(entry) + 1);
    const end = behind.findIndex((each) => each.role !== "tool");
    const ids = behind.slice(0, end < 0 ? undefined : end).flatMap((each) => each.callId ?? []);
    return found([...new Set(ids.flatMap((id) => piecesWith(messages, quoted(id)).filter(isCall)))]);
  }
  const handle = new RegExp(`@entry:${seq}\\b`);
  return found(messages.filter((each) => handle.test(each) && !isOfAssistant(each)).slice(0, 1));
}

function resultOf(
  entry: WorkingSetEntry,
  entries: readonly WorkingSetEntry[],
  messages: readonly string[],
): readonly string[] | undefined {
  const id = entry.callId ?? "";
  const pieces = piecesWith(messages, quoted(id)).filter((each) => !isCall(each));
  // A text names the call in its words.
  const results = pieces.length > 0 ? pieces : messages.filter((each) => each.includes(id) && isOfTool(each));
  const same = entries.filter(({ callId }) => callId === id);
  if (same.length === 1) return found(results);
  return same.length === results.length ? results.slice(same.indexOf(entry)).slice(0, 1) : undefined;
}

/** The blocks with a name in them; of a message whose blocks lack it, the message. */
function piecesWith(messages: readonly string[], name: string): readonly string[] {
  return messages
    .filter((each) => each.includes(name))
    .flatMap((each) => {
      const blocks = blocksOf(each).filter((block) => block.includes(name));
      return blocks.length > 0 ? blocks : [each];
    });
}

function found(pieces: readonly string[]): readonly string[] | undefined {
  return pieces.length > 0 ? pieces : undefined;
}

function quoted(id: string): string {
  return JSON.stringify(id);
}

function isCall(piece: string): boolean {
  return CALLS.some((name) => memberAt(piece, name) !== undefined);
}

function isOfTool(message: string): boolean {
  return memberAt(message, "role") === '"tool"';
}

function isOfAssistant(message: string): boolean {
  return ['"assistant"', '"model"'].includes(memberAt(message, "role") ?? "");
}
