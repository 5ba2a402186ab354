/** What the doctor's view says. */
import { counted } from "@pagefault/react";

export const DOCTOR = {
  title: "Doctor",
  about:
    "Give it the history that a provider refuses, in any dialect: it says what is wrong, beside the message, and heals it. Nothing is stored.",
  drop: "Drop a file with the history here, choose one, or paste it:",
  choose: "Choose a file",
  paste: "The history as JSON",
  target: "For",
  ofHistory: "the dialect of the history",
  examine: "Examine",
  examining: "Examining …",
  empty: "Paste or choose a history first: JSON with `messages`, a list of messages, or a message on each line.",
  takes:
    "There is no history in this that is known here. Give it the body of the request that was refused, a list of messages, or a message on each line.",
  notJson: (reason: string) =>
    `That is no JSON: ${reason}. Give it the body of the request, as your program sent it.`,
  healthy: "Nothing is wrong with it.",
  findings: (count: number) => `${counted(count, "finding")}`,
  summary: (dialect: string, profile: string, tokens: string) =>
    `Read as ${dialect}, for ${profile}; healed, with nothing evicted, it is about ${tokens} tokens as that model counts them, with images.`,
  noDialect: "words alone",
  download: "Download the healed history",
  messages: "The history, with what is wrong",
  found: "Findings",
  whole: "The history as a whole",
  system: "What the system says",
  limit: (limit: string, actual: string) => `Limit ${limit}, here ${actual}.`,
  problem: "Problem: this breaks the rule",
  rule: (demands: string) => `“${demands}”`,
  fix: "Fix:",
  source: (source: string) => `Required by ${source}.`,
  entry: (place: string) => `Message ${place}`,
  seq: (seq: number) => `Entry #${seq}`,
  session: (id: string) => `Session ${id}`,
  examineSession: "Examine a stored session",
};
