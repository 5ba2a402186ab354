/** What the view of what a model gets says. */
import { counted, numberText } from "@pagefault/react";

export const MODEL = {
  open: "What the model gets",
  title: (name: string) => `What the model gets of ${name}`,
  quoted: (title: string) => `“${title}”`,
  back: "Timeline",
  target: "Model",
  beside: "Beside it",
  noneBeside: "no other",
  budget: "Budget, tokens",
  budgetSlider: "Budget on a scale",
  noBudget: "no limit",
  asItWas: "as it was",
  budgetOfTurn: "An earlier rendering had the budget of its turn.",
  preset: (tokens: number) => (tokens < 1_000_000 ? `${tokens / 1_000}k` : `${tokens / 1_000_000}M`),
  floor: (tokens: string) => `At least ${tokens} tokens are needed: less than that is never left out.`,
  takeFloor: (tokens: string) => `Take ${tokens}`,
  window: "What fills the window",
  parts: {
    system: "System",
    people: "People",
    assistant: "Assistant",
    tools: "Tools",
    images: "Images, recordings",
    pages: "Pages",
    folded: "Folded steps",
  },
  part: (name: string, tokens: string) => `${name}: ${tokens} tokens sent`,
  free: (tokens: string) => `${tokens} free`,
  at: "As of entry",
  atNewest: "the newest",
  atHint: "What the model had when this entry was the newest, by the moves of the frontier.",
  /** By how an entry was cut. */
  cuts: {
    folded: "Folded into one line",
    arguments: "Long arguments cut",
    line: "Left as one line",
    preview: "Long text shortened, media left out",
    media: "Without its media",
    changed: "Changed by the model's limits, an option or a repair",
  } as Readonly<Record<string, string>>,
  unseen: (at: number | undefined, count: string, all: string) =>
    at === undefined
      ? `The model no longer sees ${count} of ${all} entries in full:`
      : `At entry ${at} the model no longer saw ${count} of ${all} entries in full:`,
  noneEvicted: (at: number | undefined) =>
    at === undefined ? "No entry was evicted." : `At entry ${at} no entry was evicted.`,
  moreEntries: (count: number) => `and ${numberText(count)} more`,
  cutAlone: "Only what was evicted or changed",
  staysEvicted: (frontier: string) =>
    `What the frontier ${frontier} has evicted stays evicted, whatever the budget.`,
  withoutFrontier: "Show it without the frontier",
  allSeen: (at: number | undefined) =>
    at === undefined
      ? "The model sees every entry in full."
      : `At entry ${at} the model saw every entry in full.`,
  seenAt: (at: number) => `What did it see at entry ${at}?`,
  images: "Images at most",
  frontier: "Eviction mark (frontier)",
  frontierHint: "A name under which turns keep how far they have evicted; it is read, and not moved.",
  loading: "what the model gets",
  badOption:
    "An option above is not possible here. Change or clear the budget, the number of images, the frontier, or the entry.",
  total: (tokens: string, messages: number) =>
    `≈ ${tokens} tokens sent in ${counted(messages, "message")}, with images and instructions`,
  entries: "Entries, as the model has them",
  entriesOf: (target: string) => `Entries, as ${target} has them`,
  tokens: (count: string) => `${count} tokens sent`,
  frontierHere: "The eviction mark: nothing below it was evicted",
  levels: { FULL: "full", REDUCED: "reduced", ABSTRACT: "abstract", REFERENCE: "one line" } as Readonly<
    Record<string, string>
  >,
  stepLevels: {
    media: "media as lines",
    preview: "long texts cut",
    line: "results as lines",
    arguments: "arguments cut",
    folded: "folded",
  } as Readonly<Record<string, string>>,
  folded: (count: number) => `one line for ${counted(count, "entry", "entries")}`,
  inserted: "inserted",
  insertedFor: "for",
  upTo: "to",
  recalls: (count: number) => `recalled ${counted(count, "time")}`,
  stays: "never evicted",
  raised: "evicted last",
  became: (from: string, to: string) => `${from} → ${to}`,
  wayBack: "To get it:",
  show: "Sent as",
  showBeside: "Sent as, beside the original",
  got: "What the model got",
  original: "Original",
  notTold: "What was sent of it cannot be told apart here. It is in the messages below the list.",
  noMessage: "It is empty: no message is sent for it.",
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
