/** Reads Markdown and colours code away from the page, which goes on meanwhile. */
import { parseCode } from "./codeTree";
import { parseMarkdown } from "./markdownTree";
import type { Reading } from "./textReader";
import type { TextNode } from "./textTree";

// What it says first: that it can be given texts.
postMessage(null);

addEventListener("message", ({ data }: MessageEvent<Reading>) => postMessage(treeOf(data)));

function treeOf({ text, language }: Reading): readonly TextNode[] | null {
  try {
    return language === undefined ? parseMarkdown(text) : parseCode(text, language);
  } catch {
    // Nested too deep, or of too many parts.
    return null;
  }
}
