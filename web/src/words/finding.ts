/** What the means to find something in a session say. */
import { counted } from "@pagefault/react";

import { numberText } from "../shared/formats";
import type { Kind } from "../timeline/finding/filter";

function of(shown: number, all: number): string {
  return shown === all ? numberText(all) : `${numberText(shown)} of ${numberText(all)}`;
}

export const FINDING = {
  more: "Filter",
  remove: (filter: string) => `Take away: ${filter}`,
  toolbar: "Find in the session",
  search: "Search in this session",
  searchHint: "Words, a number, a time",
  found: "Hits",
  hits: (count: number) => (count === 0 ? "Nothing found" : counted(count, "hit")),
  others: (count: number) => `with all words, and ${numberText(count)} with some or similar ones`,
  page: "Leads to its page",
  place: (seq: number) => `Go to entry #${seq}`,
  copiedAddress: (hash: string) => `The address of ${hash} was copied`,
  goTo: "Go to number",
  goToLabel: "Number of an entry, or a time",
  go: "Go",
  noTime: "Write the number of an entry, a time such as 14:05, or a day such as 2026-11-21.",
  start: "Beginning",
  end: "End",
  previousError: "Previous error",
  nextError: "Next error",
  previousImage: "Previous image",
  nextImage: "Next image",
  errors: (shown: number, all: number) => `Errors ${of(shown, all)}`,
  images: (shown: number, all: number) => `With images ${of(shown, all)}`,
  filters: "Filters",
  tool: "Tool",
  allTools: "All tools",
  kind: "Kind",
  allKinds: "All kinds",
  kinds: {
    tool: "Tool results, with their calls",
    user: "User",
    assistant: "Assistant, with results of its calls",
    fault: "Page faults",
    system: "System",
  } satisfies Record<Kind, string>,
  failed: "Errors only",
  clear: "Clear",
  shown: (shown: number, all: number) =>
    shown === all
      ? counted(all, "entry", "entries")
      : `${numberText(shown)} of ${counted(all, "entry", "entries")} shown`,
  hidden: "Hidden by the filter",
  notShown: (asked: string) => `Entry ${asked} is not shown; this is the nearest one that is.`,
};
