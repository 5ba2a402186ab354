/** The conversion of JavaScript values to JSON, including bytes, files, maps and sets. */

/**
 * The JSON of a value. Bytes and files become data URIs, in which the service finds the medium that
 * they are; a `Map` an object; a `Set` and an array of other numbers than bytes a list.
 *
 * Rejects with a `TypeError` where there is no JSON: of a `BigInt`, or of what contains itself.
 */
export async function jsonOf(value: unknown): Promise<string> {
  const uris = new Map<Blob, string>();
  const unread = new Set<Blob>();
  const written = () =>
    JSON.stringify(value, function (this: Record<string, unknown>, name, given: unknown) {
      if (given instanceof Blob) {
        if (!uris.has(given)) unread.add(given);
        return uris.get(given);
      }
      if (given instanceof Map) return Object.fromEntries(given) as unknown;
      if (given instanceof Set) return [...given] as unknown;
      if (given instanceof ArrayBuffer) return dataUri(new Uint8Array(given));
      // Convert a `Buffer` here: its own `toJSON` returns a list of numbers.
      const member = this[name];
      if (!ArrayBuffer.isView(member)) return given;
      const { BYTES_PER_ELEMENT: width = 1 } = member as Partial<Float32Array>;
      if (width > 1) return Array.from(member as Float32Array);
      return dataUri(new Uint8Array(member.buffer, member.byteOffset, member.byteLength));
    });
  const text = written();
  if (unread.size === 0) return text;
  for (const blob of unread)
    uris.set(blob, dataUri(new Uint8Array(await blob.arrayBuffer()), blob.type));
  return written();
}

/** A text for a model, whatever the value is; it never throws. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null) return "";
  const around: unknown[] = [];
  try {
    const text = JSON.stringify(value, function (this: unknown, _, member: unknown) {
      if (typeof member === "bigint") return String(member);
      while (around.length > 0 && around.at(-1) !== this) around.pop();
      if (around.includes(member)) return "[circular]";
      if (typeof member === "object" && member !== null) around.push(member);
      return member;
    });
    return text ?? "";
  } catch {
    return Object.prototype.toString.call(value);
  }
}

export function base64Of(bytes: Uint8Array): string {
  let text = "";
  // A function does not take any number of arguments.
  for (let start = 0; start < bytes.length; start += 8_192)
    text += String.fromCharCode(...bytes.subarray(start, start + 8_192));
  return btoa(text);
}

function dataUri(bytes: Uint8Array, mimeType = ""): string {
  return `data:${mimeType || "application/octet-stream"};base64,${base64Of(bytes)}`;
}
