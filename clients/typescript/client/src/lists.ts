/** Lists of the service, read part by part. */
import type { Query, RequestOptions, Transport } from "./transport.ts";

/** A part of a list, as the service answers it. */
export interface Slice<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | null;
}

/**
 * A list. `for await (const item of list)` reads all of it, and asks for the next part when that
 * is needed; `list.slice(cursor)` reads one part.
 */
export class List<Item, Part extends Slice<Item> = Slice<Item>> implements AsyncIterable<Item> {
  private readonly read: (cursor: string | undefined) => Promise<Part>;

  constructor(read: (cursor: string | undefined) => Promise<Part>) {
    this.read = read;
  }

  /** The first part, or the one that the `nextCursor` of another leads to. */
  slice(cursor?: string | null): Promise<Part> {
    return this.read(cursor ?? undefined);
  }

  async *slices(): AsyncGenerator<Part, void> {
    let cursor: string | null | undefined;
    do {
      const part: Part = await this.slice(cursor);
      yield part;
      cursor = part.nextCursor;
    } while (cursor);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    for await (const part of this.slices()) yield* part.items;
  }

  async all(): Promise<Item[]> {
    const items: Item[] = [];
    for await (const part of this.slices()) items.push(...part.items);
    return items;
  }
}

/** The list at a path; `once` are queries of its first part alone, where a cursor replaces them. */
export function listAt<Item, Part extends Slice<Item> = Slice<Item>>(
  transport: Transport,
  path: string,
  { query, once, ...options }: RequestOptions & { query?: Query | undefined; once?: Query },
): List<Item, Part> {
  return new List((cursor) =>
    transport.json<Part>({
      ...options,
      path,
      query: { ...query, ...(cursor === undefined ? once : { cursor }) },
    }),
  );
}
