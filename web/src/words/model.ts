/** What the view of what a model gets says. */
import { counted, numberText } from "@pagefault/react";

export const MODEL = {
  title: (name: string) => `What a model gets of ${name}`,
  back: "Timeline",
  target: "Model",
  budget: "Budget, tokens",
  noBudget: "no limit",
  images: "Images at most",
  frontier: "Frontier",
  frontierHint: "A name under which turns keep how far they have evicted; it is read, and not moved.",
  loading: "what the model gets",
  total: (tokens: string, messages: number) => `≈ ${tokens} tokens in ${counted(messages, "message")}`,
  evicted: (count: number) => `${counted(count, "entry", "entries")} shown smaller`,
  lost: (count: number) => `${counted(count, "loss", "losses")}`,
  nothingLost: "Nothing was lost.",
  entries: "Entries, as the model has them",
  tokens: (count: string) => `${count} tokens`,
  frontierHere: "The frontier: nothing below it has given way to make room",
  levels: { FULL: "full", REDUCED: "reduced", ABSTRACT: "abstract", REFERENCE: "one line" } as Readonly<
    Record<string, string>
  >,
  recalls: (count: number) => `asked for again ${counted(count, "time")}`,
  stays: "never evicted",
  raised: "gives way last",
  became: (from: string, to: string) => `${from} → ${to}`,
  wayBack: "To get it:",
  show: "What it becomes",
  showBeside: "What it became, beside the original",
  got: "What the model got",
  original: "What it would be if it had not made room",
  noMessage: "It says nothing, and no message comes of it.",
  messages: "Messages, as they are sent",
  message: (number: number) => `Message ${numberText(number)}`,
  other: "Compare two turns",
  otherHint:
    "A provider keeps what it was sent in a cache and reads anew from the first message that has changed.",
  from: "Earlier turn, up to entry",
  to: "Later turn, up to entry",
  otherBudget: "Budget of the later turn",
  compare: "Compare",
  before: "earlier",
  after: "later",
  cached: (same: number, all: number, tokens: string) =>
    `${numberText(same)} of ${counted(all, "message")} (≈ ${tokens} tokens) are the same and stay cached.`,
  anew: (count: number, tokens: string) =>
    `${counted(count, "message")} (≈ ${tokens} tokens) are read anew.`,
  onlyAppends: "The later turn only appends: the provider's cache loses nothing.",
  firstChanged: (number: number) => `The first message that differs is number ${numberText(number)}:`,
  doctor: "Examine this session",
};
