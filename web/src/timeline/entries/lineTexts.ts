/** What an entry, a call and its result say and show in one line. */
import type { Medium, SessionEntry } from "@pagefault/react";

import { isToolResult } from "../history";
import { type ShownBlock, blocksOfMessage } from "../messageBlocks";
import { unquoted } from "./CallArguments";

const MOST_CHARACTERS = 200;
// As `ValueError: …` does, `Error: …`, and the lines of pytest that begin with E.
const NAMES_ERROR = /^E\s+\S|\b\w*(?:Error|Exception)\b/;

/** The value of the first argument of a call, as text; empty if there is none. */
export function firstArgument(source: string | undefined): string {
  if (source === undefined) return "";
  let value: unknown;
  try {
    value = JSON.parse(unquoted(source));
  } catch {
    return source.slice(0, MOST_CHARACTERS);
  }
  const first: unknown =
    typeof value === "object" && value !== null ? Object.values(value)[0] : value;
  if (first === undefined) return "";
  const text = typeof first === "string" ? first : JSON.stringify(first);
  return text.slice(0, MOST_CHARACTERS).replaceAll(/\s+/g, " ");
}

/** The line of a failed result that says why: the last one that names an error, or else its last line. */
export function causeLine(body: SessionEntry | undefined): string | undefined {
  const lines = body === undefined ? undefined : textsOf(body).at(-1)?.trimEnd().split("\n");
  const cause = (lines?.findLast((line) => NAMES_ERROR.test(line)) ?? lines?.at(-1))?.replace(/^E\s+/, "").trim();
  return cause === "" ? undefined : cause?.slice(0, MOST_CHARACTERS);
}

/** The texts of a result, or of the results in a message that are errors. */
function textsOf({ entry, source }: SessionEntry): readonly string[] {
  if (isToolResult(entry)) {
    return entry.sanitized.parts.flatMap((part) => (part.type === "text" ? part.text : []));
  }
  const blocks = blocksOfMessage({ ...entry }, source);
  const failed = blocks.flatMap((block) => (block.kind === "result" && block.isError ? block.blocks : []));
  return (failed.length > 0 ? failed : blocks).flatMap((block) => (block.kind === "text" ? block.text : []));
}

/** The images of an entry, in their order. */
export function imagesIn({ entry, source }: SessionEntry): readonly Medium[] {
  if (!isToolResult(entry)) return blocksOfMessage({ ...entry }, source).flatMap(imagesOfBlock);
  return entry.sanitized.parts.flatMap((part) =>
    part.type === "image" ? [{ reference: part.image, mimeType: part.mimeType }] : [],
  );
}

function imagesOfBlock(block: ShownBlock): readonly Medium[] {
  if (block.kind === "result") return block.blocks.flatMap(imagesOfBlock);
  if (block.kind !== "medium") return [];
  return block.medium.mimeType?.startsWith("image/") === false ? [] : [block.medium];
}
