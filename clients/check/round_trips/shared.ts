/** What the round trips in TypeScript have in common. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

export const LARGE = 3_000_000_000;

/** A variable of the environment that the check has set. */
export function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

export const ADDRESS = given("PAGEFAULT_URL");
export const SESSION = given("SESSION");
export const HEADERS = { Authorization: `Bearer ${given("PAGEFAULT_KEY")}` };
export const picture = new Blob([readFileSync(given("PICTURE"))]);

export async function digestOf(content: Blob): Promise<string> {
  return createHash("sha256").update(new Uint8Array(await content.arrayBuffer())).digest("hex");
}

/** The id at the end of an address. */
export function lastOf(address: string | null | undefined): string {
  return (address ?? "").split("/").pop() ?? "";
}

/** A value that has to be there. */
export function there<T>(value: T | null | undefined, otherwise: unknown): T {
  if (value === null || value === undefined) throw new Error(JSON.stringify(otherwise));
  return value;
}

/** The first event of a stream, as `{event, id, data}`. */
export async function firstFrame(stream: ReadableStream<Uint8Array> | null): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of there(stream, "no stream")) {
    text += decoder.decode(chunk, { stream: true });
    const block = text.split("\n\n").find((each) => each.includes("data: "));
    if (block === undefined || !text.endsWith("\n\n")) continue;
    const fields = new Map<string, string>();
    for (const line of block.split("\n")) {
      const colon = line.indexOf(": ");
      fields.set(line.slice(0, colon), line.slice(colon + 2));
    }
    return {
      event: fields.get("event"),
      id: Number(fields.get("id")),
      data: JSON.parse(there(fields.get("data"), block)) as unknown,
    };
  }
  throw new Error("The stream has ended.");
}
