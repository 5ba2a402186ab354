/** The text of an entry, to be copied: all that it says, and its JSON where it has no words. */
import type { HistoryEntry, Pagefault } from "@pagefault/client";
import { laidOut } from "@pagefault/client/json";
import { wholeTextOf } from "@pagefault/react";

import { isToolResult } from "./history";
import { blocksOfMessage } from "./messageBlocks";

export async function textOfEntry(source: string, client: Pagefault): Promise<string> {
  const entry = JSON.parse(source) as HistoryEntry;
  const texts = isToolResult(entry)
    ? await Promise.all(
        entry.sanitized.parts.flatMap((part) =>
          part.type === "text" ? [wholeText(part.text, entry.sanitized.resources, client)] : [],
        ),
      )
    : blocksOfMessage({ ...entry }, source).flatMap((block) => ("text" in block ? [block.text] : []));
  const text = texts.join("\n\n");
  return text === "" ? laidOut(source) : text;
}

/** A text of which the record has a preview only is read from its resource. */
async function wholeText(
  text: string,
  resources: Parameters<typeof wholeTextOf>[1],
  client: Pagefault,
): Promise<string> {
  const whole = wholeTextOf(text, resources);
  if (whole === undefined) return text;
  return (await client.request(`/api/resources/${whole.id}/content`)).text();
}
