/** What a text is, from how it looks. Where that is not sure, it is plain. */
export type TextKind = "plain" | "json" | "diff" | "markdown";

/** A longer text is shown as it was written. */
const LONGEST_JSON = 2_000_000;
const LONGEST_MARKDOWN = 200_000;

/** It begins so: a report may have a difference in it, and is none. */
const DIFF = /^\s*(?:diff --git |Index: |--- [^\n]+\n\+\+\+ |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)/;
/** Headings, fences, lists, tables, quotes, links, strong words. */
const BLOCKS = /^(?:#{1,6} \S|```|~~~|\s{0,3}[-*+] \S|\s{0,3}\d{1,3}[.)] \S|> \S|\|[^\n]+\|\s*$)/m;
const INLINE = /\*\*[^*\s][^*\n]*\*\*|\[[^[\]\n]+\]\(https?:[^)\s]+\)|`[^`\n]+`/;

export function kindOf(text: string): TextKind {
  const first = text.trimStart().charAt(0);
  if ((first === "{" || first === "[") && text.length <= LONGEST_JSON && isJson(text)) return "json";
  if (text.length > LONGEST_MARKDOWN) return "plain";
  if (DIFF.test(text.slice(0, 2_000))) return "diff";
  const start = text.slice(0, 20_000);
  return BLOCKS.test(start) || INLINE.test(start) ? "markdown" : "plain";
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
