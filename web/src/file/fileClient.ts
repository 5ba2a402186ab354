/**
 * A client whose service is a file that was read: the views of a stored session show it as they are.
 *
 * Media become addresses of this tab, until the file is closed. What the service only knows of stored
 * sessions is answered with a 404.
 */
import { type OutlineEntry, Pagefault, type ResourceRecord, resourceId } from "@pagefault/client";
import { itemsOf, memberOf } from "@pagefault/client/json";
import { shownAs } from "@pagefault/react";

import { searchIn } from "./fileSearch";

export interface FileSession {
  /** Another one for each file that was read in this tab. */
  readonly number: number;
  readonly file: File;
  readonly format: "json" | "lines" | "bundle";
  /** The id in a bundle. */
  readonly sessionId: string | null;
  readonly client: Pagefault;
  /** The numbers of the entries by the pointers to their messages in the file; empty for a bundle. */
  readonly places: ReadonlyMap<string, number>;
  /** Frees the media. */
  readonly close: () => void;
}

type Answer = (path: readonly string[], query: URLSearchParams) => Response | undefined;

const DAY_MS = 24 * 60 * 60 * 1_000;

let read = 0;

/** Read the JSON of a `SessionFile`. */
export function fileSession(file: File, source: string): FileSession {
  const pointers = JSON.parse(memberOf(source, "pointers") ?? "[]") as readonly string[];
  const member = <Value>(name: string) => JSON.parse(memberOf(source, name) ?? "null") as Value;
  const outline = member<readonly OutlineEntry[]>("outline");
  // As texts, in which no number loses a digit.
  const entries = itemsOf(memberOf(source, "entries") ?? "[]");
  const resources = new Map(
    member<readonly ResourceRecord[]>("resources").map((each) => [resourceId(each.uri) ?? "", each]),
  );
  const blobs = member<Readonly<Record<string, string>>>("blobs");
  const addresses = new Map<string, string>();

  function bytesOf({ digest }: ResourceRecord): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(atob(blobs[digest] ?? ""), (each) => each.charCodeAt(0));
  }

  function addressOf(resource: ResourceRecord): string {
    const { uri, mimeType, mediaKind } = resource;
    const known = addresses.get(uri);
    if (known !== undefined) return known;
    // A document would run in the origin of the viewer; it is saved only.
    const isShown = shownAs(mimeType, mediaKind) !== "file";
    const type = isShown ? mimeType : "application/octet-stream";
    const address = URL.createObjectURL(new Blob([bytesOf(resource)], { type }));
    addresses.set(uri, address);
    return address;
  }

  const answerResource: Answer = ([id, what]) => {
    const resource = resources.get(resourceId(id ?? "") ?? "");
    if (resource === undefined) return undefined;
    if (what === undefined) return Response.json(resource);
    if (what === "content") return new Response(bytesOf(resource));
    if (what === "poster") return new Response(null, { status: 204 });
    if (what !== "signed-url") return undefined;
    const expiresAt = new Date(Date.now() + DAY_MS).toISOString();
    return Response.json({ url: addressOf(resource), expiresAt });
  };

  const answerSession: Answer = ([, what], query) => {
    const after = Number(query.get("after") ?? 0);
    if (what === undefined) {
      const [first, last] = [outline[0], outline.at(-1)];
      return Response.json({ createdAt: first?.createdAt, lastSeq: last?.seq ?? 0 });
    }
    if (what === "outline") {
      return Response.json({ items: outline.filter(({ seq }) => seq > after), nextCursor: null });
    }
    if (what !== "messages") return undefined;
    const from = outline.findIndex(({ seq }) => seq > after);
    const asked = from < 0 ? [] : entries.slice(from, from + Number(query.get("limit") ?? 0));
    return new Response(`{"items":[${asked.join(",")}],"nextCursor":null}`);
  };

  const search = searchIn(outline, entries);

  const answers: Readonly<Record<string, Answer>> = {
    resources: answerResource,
    sessions: answerSession,
    // Nothing happens in a file.
    events: () => new Response(new ReadableStream()),
    search: (_, query) => {
      const items = search(query.get("q") ?? "", Number(query.get("limit") ?? 0));
      return Response.json({ items, nextCursor: null });
    },
  };

  const client = new Pagefault(window.location.origin, {
    fetch: async (address) => {
      const { pathname, searchParams } = new URL(address instanceof Request ? address.url : address);
      const [, , noun = "", ...rest] = pathname.split("/").map(decodeURIComponent);
      return answers[noun]?.(rest, searchParams) ?? new Response(null, { status: 404 });
    },
  });
  read += 1;
  return {
    number: read,
    file,
    format: member("format"),
    sessionId: member("sessionId"),
    client,
    places: new Map(pointers.map((pointer, index) => [pointer, outline[index]?.seq ?? 0])),
    close: () => addresses.forEach((address) => URL.revokeObjectURL(address)),
  };
}
