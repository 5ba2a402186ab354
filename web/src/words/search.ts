/** What the search over everything says. */
import { counted } from "@pagefault/react";

export const SEARCH = {
  title: "Search",
  label: "Search everything",
  placeholder: "Words, a tool, a file, an id",
  kind: "Kind",
  all: "Everything",
  kinds: {
    page: "Pages",
    transcript: "Recordings",
    tool_result: "Tool results",
    message: "Messages",
    interaction: "Interactions",
    file: "Files",
  },
  unnamedTool: "Result of a tool",
  hits: (count: number, isAll: boolean) => `${isAll ? "" : "At least "}${counted(count, "hit")}`,
  pending: (count: number) => `${counted(count, "entry", "entries")} not in the index yet.`,
  found: "Hits, best first",
  none: "Nothing has these words",
  noneHint: "Fewer words find more. Names of tools and files, and ids, are found as well.",
  begin: "Search pages, tool results, messages, interactions and files",
  beginHint: "What has all the words comes first, then what has most of them; words in quotes stand together.",
  loading: "what has these words",
  more: "More hits",
  in: (session: string) => `in ${session}`,
};
