/** What entries of a session's history are. */
import type {
  AnswerEntry,
  HistoryEntry,
  HistoryMessage,
  InteractionEntry,
  OutlineEntry,
  ToolMessage,
} from "@pagefault/client";
import { cuesOfWords, type Medium } from "@pagefault/react";

import { ENTRY } from "../words/timeline";

const RESOURCE_LINE = "\n  Resource: @blob:";

export function isToolResult(entry: HistoryEntry): entry is ToolMessage {
  return "sanitized" in entry;
}

export function isInteraction(entry: HistoryEntry): entry is InteractionEntry {
  return "interaction" in entry;
}

export function isAnswer(entry: HistoryEntry): entry is AnswerEntry {
  return "interaction_id" in entry;
}

/** What an entry is called, in a few words. */
export function titleOf({ entry, name, role }: OutlineEntry): string {
  if (entry === "tool_result") return `${ENTRY.toolResult} ${name ?? ""}`;
  if (entry === "interaction") return ENTRY.interaction;
  if (entry === "answer") return ENTRY.answer;
  return entry === "page_fault" ? `${ENTRY.pageFault} ${name ?? ""}` : ENTRY.messageOf(role);
}

/**
 * The stored recording of the page that a page fault put into the history, with what happens when in
 * it; null if it has none. Its text names it behind all words, since models do not take recordings
 * in messages.
 */
export function faultedRecording(entry: HistoryMessage | HistoryEntry): Medium | null {
  if (faultedPage(entry) === null || !("content" in entry)) return null;
  const { content } = entry;
  if (typeof content !== "string" || !/^Page \S+ \((?:audio|video), /.test(content)) return null;
  const place = content.lastIndexOf(RESOURCE_LINE);
  const reference = /^\n {2}Resource: (@blob:[0-9a-f]{32})\b/.exec(content.slice(place))?.[1];
  if (reference === undefined) return null;
  // The first two lines say what it is.
  const words = content.slice(0, place).split("\n").slice(2).join("\n");
  return { reference, cues: cuesOfWords(words) };
}

/** The page that a page fault put into the history; null for a message of another kind. */
export function faultedPage(entry: HistoryMessage | HistoryEntry): string | null {
  if (!("role" in entry) || entry.role !== "tool" || !("content" in entry)) return null;
  const { content } = entry;
  const block: unknown = Array.isArray(content) ? content[0] : undefined;
  const isTextBlock = typeof block === "object" && block !== null && "text" in block;
  const first: unknown = isTextBlock ? block.text : content;
  if (typeof first !== "string") return null;
  return /^Page (\S+) \((?:text|image|audio|video|structured), /.exec(first)?.[1] ?? null;
}
