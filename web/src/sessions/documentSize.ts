/** The size of a session as one HTML file, estimated: the service knows it only once it has written the file. */
import type { OutlineEntry } from "@pagefault/client";

/** The largest document that the service writes. */
export const MOST_DOCUMENT_BYTES = 50 * 1024 * 1024;

const FRAME_BYTES = 11_000;
const ENTRY_BYTES = 330;
/** JSON is laid out in lines, and characters of HTML are escaped. */
const TEXT_GROWTH = 1.2;
const BASE64_GROWTH = 4 / 3;

/**
 * Estimate the bytes of the document, to two digits: within a sixth for texts, calls and media, as measured.
 *
 * `filesBytes` are the bytes of all distinct files of the session.
 */
export function documentSizeOf(entries: readonly OutlineEntry[], filesBytes: number): number {
  const text = entries.reduce((sum, { bytes }) => sum + ENTRY_BYTES + TEXT_GROWTH * bytes, FRAME_BYTES);
  return Number((text + BASE64_GROWTH * filesBytes).toPrecision(2));
}
