/** What the comparison of two sessions says. */
import { numberText } from "@pagefault/react";

export const COMPARE = {
  cut: (shown: string, all: string) => `Shown are the first ${shown} of ${all} lines.`,
  title: "Compare",
  first: "First session",
  second: "Second session",
  chooseOne: "Choose a session",
  choose: "Choose two sessions",
  chooseHint: "Their entries are set side by side: what is the same, what differs, what only one has.",
  facts: "Facts",
  factNames: {
    entries: "Entries",
    calls: "Calls",
    failures: "Failures",
    images: "Images",
    tokens: "Tokens stored, about",
    bytes: "Bytes of entries",
    lasted: "From first to last",
  },
  loading: "both sessions",
  pairs: "Entries side by side",
  same: "The same",
  differs: "Differs",
  onlyFirst: "Only in the first",
  onlySecond: "Only in the second",
  summary: (same: number, differs: number, first: number, second: number) =>
    `${numberText(same)} the same, ${numberText(differs)} differ, ${numberText(first)} only in the first, ${numberText(second)} only in the second.`,
  show: "Show the difference",
  tooDifferent: "They differ too much to be shown line by line.",
  onlyDifferences: "Only differences",
  sameSessions: "These are two names of one session.",
};
