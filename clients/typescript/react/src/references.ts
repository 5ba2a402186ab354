/** The targets of references in a record, and the elements for media types. */
import { resourceId, type FilePart } from "@pagefault/client";

/** The location of the bytes of a medium. */
export type Place =
  | { at: "store"; id: string }
  | { at: "page"; dataUri: string; mimeType: string; size: number }
  | { at: "elsewhere"; url: string }
  | { at: "nowhere" };

export type Shown = "image" | "audio" | "video" | "file";

const DATA_URI_HEAD = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+)(?:;[^,;]*)*;base64,/i;
const LONGEST_HEAD = 1_000;
const BASE64 = /^[A-Za-z0-9+/=\s]*$/;
// A browser's pattern matcher runs out of stack on texts of millions of characters.
const MATCHED_AT_ONCE = 65_536;

/** Images that run nothing and that browsers draw. SVG is not among them. */
const DRAWN = new Set(
  ["png", "apng", "jpeg", "gif", "webp", "avif", "bmp", "x-icon", "vnd.microsoft.icon"].map(
    (subtype) => `image/${subtype}`,
  ),
);

/** Locate a medium: stored, in the record itself, on another host, or missing. */
export function placeOf(reference: string, mimeType: string | undefined): Place {
  const id = resourceId(reference);
  if (id !== null) return { at: "store", id };
  if (/^https?:\/\//i.test(reference)) return { at: "elsewhere", url: reference };
  const head = DATA_URI_HEAD.exec(reference.slice(0, LONGEST_HEAD));
  const base64 = head === null ? reference : reference.slice(head[0].length);
  const type = head === null ? mimeType : head[1];
  if (type !== undefined && isBase64(base64)) return inline(type, base64);
  return { at: "nowhere" };
}

function isBase64(text: string): boolean {
  for (let start = 0; start < text.length; start += MATCHED_AT_ONCE) {
    if (!BASE64.test(text.slice(start, start + MATCHED_AT_ONCE))) return false;
  }
  return text !== "";
}

function inline(mimeType: string, base64: string): Place {
  const digits = base64.replace(/\s/g, "");
  return {
    at: "page",
    dataUri: `data:${essence(mimeType)};base64,${digits}`,
    mimeType: essence(mimeType),
    size: Math.floor((digits.replace(/=+$/, "").length * 3) / 4),
  };
}

/** Return the kind of element for a medium, by its `mediaKind`, else by its type. */
export function shownAs(
  mimeType: string | undefined,
  mediaKind?: FilePart["mediaKind"] | null,
): Shown {
  const type = essence(mimeType ?? "");
  if (DRAWN.has(type)) return "image";
  // A browser takes any type ending in +xml for a document, which may hold scripts.
  if (/(?:xml|html)$/.test(type)) return "file";
  if (mediaKind === "audio" || mediaKind === "video") return mediaKind;
  if (type.startsWith("audio/")) return "audio";
  return type.startsWith("video/") ? "video" : "file";
}

// Samples without a header, as the service stores their types (docs/content.md, "Raw sound").
const RAW_SOUND = /^audio\/(?:pcm[ua]?|x-pcm|basic|(?:x-)?(?:mulaw|ulaw|alaw)|(?:l8|l16|l24);rate=)/;

/** Return the query of content that browsers play: samples without a header get one. */
export function playedAs(mimeType: string | undefined): "" | "as=wav" {
  return RAW_SOUND.test(mimeType ?? "") ? "as=wav" : "";
}

/** Return whether content of a type is text. */
export function isText(mimeType: string | undefined): boolean {
  const type = essence(mimeType ?? "");
  return (
    type.startsWith("text/") ||
    /[/+](?:json|xml|yaml)$/.test(type) ||
    ["application/javascript", "application/x-ndjson", "application/sql"].includes(type)
  );
}

function essence(mimeType: string): string {
  return (mimeType.split(";")[0] ?? "").trim().toLowerCase();
}
