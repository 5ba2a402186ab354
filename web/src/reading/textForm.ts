/**
 * The form in which a text is best read, from how it looks and from what is known of it. Where that is not sure, it is
 * plain.
 */
import { hasColours } from "./ansiSpans";
import { type TextTable, tableIn } from "./textTable";

export type TextForm =
  | { readonly kind: "plain" | "markdown" | "diff" | "ansi" }
  | { readonly kind: "json"; readonly source: string }
  /** JSON with words around it. */
  | { readonly kind: "mixed"; readonly before: string; readonly source: string; readonly after: string }
  | { readonly kind: "table"; readonly table: TextTable }
  | { readonly kind: "code"; readonly language: string };

/** What is known of a text beside its characters. */
export interface TextHints {
  readonly mimeType?: string | undefined;
  /** The file that it is the text of. */
  readonly filename?: string | undefined;
}

/** A longer text is shown as it was written. */
export const LONGEST_JSON = 2_000_000;
const LONGEST_MARKDOWN = 200_000;
const LONGEST_COLOURED = 500_000;
const MOST_TRIES = 5;
/** Shorter JSON within a text is as well read in its line. */
const LEAST_WITHIN = 40;

/** JSON of an object, or of a list that is no `[INFO]` and no `[2026-11-28]`. */
const JSON_START = /^\s*(?:\{\s*["}]|\[\s*(?:[[{"\]]|(?:-?\d[\d.eE+-]*|true|false|null)\s*[,\]]))/;
/** It begins so: a report may have a difference in it, and is none. */
const DIFF = /^\s*(?:diff --git |Index: |--- [^\n]+\n\+\+\+ |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)/;
/** Headings, fences, lists, tables, quotes, links, strong words. */
const BLOCKS = /^(?:#{1,6} \S|```|~~~|\s{0,3}[-*+] \S|\s{0,3}\d{1,3}[.)] \S|> \S|\|[^\n]+\|\s*$)/m;
const INLINE = /\*\*[^*\s][^*\n]*\*\*|\[[^[\]\n]+\]\(https?:[^)\s]+\)|`[^`\n]+`/;
/** Files whose texts have a form of their own, or none. */
const NO_CODE = /^(?:txt|text|log|out|md|markdown|json|jsonl|ndjson|csv|tsv|diff|patch)$/i;

export function formOf(text: string, hints: TextHints = {}): TextForm {
  const json = jsonIn(text);
  if (json !== undefined) return { kind: "json", source: json };
  if (hasColours(text)) return { kind: text.length <= LONGEST_COLOURED ? "ansi" : "plain" };
  if (text.length > LONGEST_MARKDOWN) return { kind: "plain" };
  if (DIFF.test(text.slice(0, 2_000))) return { kind: "diff" };
  const table = tableIn(text, isTable(hints));
  if (table !== undefined) return { kind: "table", table };
  const language = languageOf(hints);
  if (language !== undefined && text.includes("\n")) return { kind: "code", language };
  const start = text.slice(0, 20_000);
  const mixed = start.includes("```") ? undefined : jsonWithin(text);
  if (mixed !== undefined) return { kind: "mixed", ...mixed };
  return { kind: BLOCKS.test(start) || INLINE.test(start) ? "markdown" : "plain" };
}

/** Return whether a text may be JSON, by its first characters: the rest may not be there yet. */
export function beginsAsJson(text: string): boolean {
  return JSON_START.test(text.slice(0, 2_000));
}

function isTable({ mimeType = "", filename = "" }: TextHints): boolean {
  return /^text\/(?:csv|tab-separated-values)\b/i.test(mimeType) || /\.[ct]sv$/i.test(filename);
}

/** The language of a file, by the end of its name. */
export function languageOf({ filename }: TextHints): string | undefined {
  const end = /\.([A-Za-z0-9+]{1,10})$/.exec(filename ?? "")?.[1];
  return end === undefined || NO_CODE.test(end) ? undefined : end.toLowerCase();
}

/** The JSON of a text that is nothing else: one value, or a value in each line. */
function jsonIn(text: string): string | undefined {
  if (text.length > LONGEST_JSON || !beginsAsJson(text)) return undefined;
  if (isJson(text)) return text;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const list = `[${lines.join(",")}]`;
  const areObjects = lines.length > 1 && lines.every((line) => /^\s*\{.*\}\s*$/.test(line));
  return areObjects && isJson(list) ? list : undefined;
}

/** The first JSON that begins in a line of its own, and the words around it. */
function jsonWithin(text: string) {
  const end = Math.max(text.lastIndexOf("}"), text.lastIndexOf("]")) + 1;
  const starts = text.matchAll(/^[ \t]*[[{]/gm);
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const place: number = starts.next().value?.index ?? end;
    const source = text.slice(place, end);
    if (source.length < LEAST_WITHIN) return undefined;
    if (!beginsAsJson(source) || !isJson(source)) continue;
    return { before: text.slice(0, place).trimEnd(), source, after: text.slice(end).trim() };
  }
  return undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
