/** What long, formatted and structured texts say about themselves. */
import { counted } from "@pagefault/react";

export const READING = {
  fold: "Fold",
  unfold: "Unfold",
  asWritten: "As written",
  formatted: "Formatted",
  notLaidOut: "Shown as written: it takes too long to lay it out.",
  colour: "Colour the words",
  copyValue: "Copy value",
  copyPointer: "Copy pointer",
  copied: "Copied",
  more: (count: string) => `Show ${count} more`,
  items: (count: number) => counted(count, "item"),
  members: (count: number) => counted(count, "member"),
  json: "JSON",
  jsonInText: "JSON in a text",
  text: "the text",
  loadAll: (size: string) => `Load all (${size})`,
  preview: "Back to the preview",
  task: "Done",
  cut: (shown: string, all: string) => `Shown: the first ${shown} of ${all} characters.`,
  find: "Find in the text",
  findButton: "Find",
  matches: (count: string, total: number) =>
    total === 0 ? "No line has it." : total === 1 ? "One line has it." : `${count} lines have it.`,
  firstMatches: (count: string) => `Shown are the first ${count}.`,
  lines: "Lines that have it",
  line: (number: string) => `Line ${number}`,
};
