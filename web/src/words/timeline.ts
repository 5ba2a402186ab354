/** What the timeline of a session says. */
import { counted, numberText } from "@pagefault/react";

export const TIMELINE = {
  title: (name: string) => `${name} · Sessions`,
  session: (name: string) => `Session ${name}`,
  allSessions: "All sessions",
  deleted: "Deleted",
  absentTitle: (name: string) => `There is no session ${name}`,
  absent: "Nothing was written under this id. What is written from now on is shown here.",
  emptyTitle: "This session has no entries",
  empty: "It may hold pages: they are not part of its history.",
  history: "the history",
  entries: "Entries",
  newEntries: (count: number) => counted(count, "new entry", "new entries"),
  news: (title: string, seq: number) => `New: ${title}, number ${seq}`,
  loadingEarlier: (lower: number) => `Loading ${counted(lower, "earlier number", "earlier numbers")} …`,
  nothingFits: "No entry fits the filter.",
  showAll: "Show all entries",
  map: "Where in the session",
  mapPlace: (seq: number, last: number) => `Entry ${seq} of ${last}`,
  mapTitle: "From left to right: tokens by tool, images (blue), errors (red).",
};

export const HEADER = {
  tools: "Find",
  refused: (count: number) => `Anthropic would refuse this (${count})`,
  tooLong: "Not examined, and evictions not marked: above 10,000 entries",
  unexamined: "Could not be examined for Anthropic",
  noEvictions: "Evictions could not be read",
  copyId: "Copy id",
  wholeTitle: "Whole title",
  lasted: (time: string) => `took ${time}`,
  entries: (count: number) => counted(count, "entry", "entries"),
  tokens: (count: string) => `≈ ${count} tokens stored`,
  tokensHint:
    "All entries, estimated by the lengths of their texts and the sizes of their images, for no model. What the model gets counts those that are sent, by that model's rules.",
  failures: (count: number) => counted(count, "error"),
  toolsUsed: (count: number) => counted(count, "tool"),
  showFailures: "Show the errors alone",
};

export const STRIP = {
  name: "Calls over time",
  title: "Calls by tool; below them errors (red), images (blue), and what a model no longer gets in full (amber). Pauses are shortened.",
  tools: "Tools",
  otherTool: "other tool",
  evicted: (count: number) => `${numberText(count)} evicted`,
  evictedHint: "Entries that the model no longer gets in full (amber)",
  unseenAt: "No longer seen at #",
  here: "here",
  showUnseen: "Show",
};

export const FILMSTRIP = {
  name: "Images in their order",
  show: (count: number) => counted(count, "image"),
  frame: (seq: number, count: number) => `${counted(count, "image")} of entry ${seq}`,
};

export const INSPECTOR = {
  name: "The chosen entry",
  shown: "Shown of it",
  tabs: { entry: "Entry", model: "What the model gets", json: "JSON" },
};

export const ENTRY = {
  kinds: {
    user: "User",
    assistant: "Assistant",
    model: "Assistant",
    system: "System",
    developer: "Developer",
    tool: "Tool",
    function: "Tool",
  } as Readonly<Record<string, string>>,
  message: "Message",
  interaction: "Interaction",
  answer: "Answer",
  toolResult: "Tool result",
  pageFault: "Page fault",
  messageOf: (role: string) => `Message of ${role}`,
  noContent: "No content.",
  json: "JSON",
  copy: "Copy",
  block: "Block",
  numbered: (seq: number) => `Entry ${seq}`,
  cannotDraw: (seq: number) =>
    `Entry #${seq} has a form that the viewer cannot draw. This is what it is:`,
  loading: "Loading …",
  system: "Instructions",
};

export const LINE = {
  close: "Show as a line",
  findings: (count: number) => counted(count, "finding"),
  reason: (demands: string, fix: string) => `${demands} Fix: ${fix}.`,
  images: (count: number) => counted(count, "image"),
  tokens: (count: string) => `${count} tok`,
  tokensHint: "Tokens stored: estimated by the lengths of its texts and the sizes of its images, for no model.",
  lines: "As lines",
  cards: "As cards",
};

export const STEP = {
  call: "Call",
  failed: "Failed",
  pending: "No answer yet",
  unanswered: "Never answered",
  arguments: "Arguments",
  noArguments: "no arguments",
  result: "Result",
  structured: "Structured content",
  tokens: (count: string) => `≈ ${count} tokens stored`,
  tokensOfText: (count: string) => `≈ ${count} tokens of text stored`,
  took: (time: string) => `answered after ${time}`,
  kept: (count: number, size: string) => `${counted(count, "file")} kept, ${size}`,
  whatModelGets: "What the model gets",
  unseenAt: (seq: number) => `What the model no longer saw at #${seq}`,
  unseenAtHint: "The entries that the model no longer had in full when this one was the newest.",
  apart: (seq: number) => `Answered in #${seq}`,
  page: "Open the page",
  fold: (name: string) => `Fold ${name}`,
  unfold: (name: string) => `Unfold ${name}`,
  reasoning: "Reasoning",
  resultOf: "Result of a tool",
  callsOf: (count: number) => counted(count, "call"),
};
