/**
 * Random access to content, with a cache of blocks, and reading ahead for sequential reads.
 *
 * The digest is of the whole content. It is checked after a sequential read from the beginning to the
 * end, in any number of pieces; other reads cannot be checked.
 */
import { APIConnectionError } from "./errors.ts";
import type { ResourceDescriptor } from "./generated/types.gen.ts";
import type { ByteRange } from "./content.ts";
import { Expected } from "./sha256.ts";

const BLOCK_BYTES = 256 * 1024;
const MOST_AHEAD = 16;
const MOST_KEPT = 64;

export class ResourceReader {
  readonly descriptor: ResourceDescriptor;
  private readonly fetchRange: (range: ByteRange) => Promise<Uint8Array>;
  /** By number, the one that was used last at the end. */
  private readonly blocks = new Map<number, Promise<Uint8Array>>();
  private readonly inOrder: Expected;
  private ahead = 1;
  private next = 0;

  constructor(
    descriptor: ResourceDescriptor,
    fetchRange: (range: ByteRange) => Promise<Uint8Array>,
  ) {
    this.descriptor = descriptor;
    this.fetchRange = fetchRange;
    this.inOrder = this.expected();
  }

  get size(): number {
    return this.descriptor.size;
  }

  /**
   * Up to `length` bytes from `position` on; fewer only where the content ends. Rejects with a
   * `DigestMismatchError` if all was read in order up to here, and is not the content.
   */
  read(position: number, length: number): Promise<Uint8Array> {
    return this.compared(this.inOrder, position, length);
  }

  private expected(): Expected {
    return new Expected(this.size, this.descriptor.digest);
  }

  private async compared(
    expected: Expected,
    position: number,
    length: number,
  ): Promise<Uint8Array> {
    const bytes = await this.bytes(position, length);
    try {
      expected.note(position, bytes);
    } catch (failure) {
      // One of them is damaged; the next reading asks for all.
      this.blocks.clear();
      throw failure;
    }
    return bytes;
  }

  private async bytes(position: number, length: number): Promise<Uint8Array> {
    const end = Math.min(position + length, this.size);
    if (!(position >= 0)) throw new RangeError(`There is no position ${position}`);
    if (end <= position) return new Uint8Array();
    this.ahead = position === this.next ? Math.min(this.ahead * 2, MOST_AHEAD) : 1;
    this.next = end;
    const first = Math.floor(position / BLOCK_BYTES);
    const last = Math.floor((end - 1) / BLOCK_BYTES);
    // Keep the block here, because the cache may drop it meanwhile.
    const wanted = this.load(first, last);
    const bytes = new Uint8Array(end - position);
    for (const [index, block] of (await Promise.all(wanted)).entries()) {
      const start = (first + index) * BLOCK_BYTES;
      const from = Math.max(position - start, 0);
      bytes.set(block.subarray(from, end - start), Math.max(start - position, 0));
    }
    return bytes;
  }

  /** The content from a position on, as a stream; that from the beginning is compared at its end. */
  stream(position = 0): ReadableStream<Uint8Array> {
    const expected = this.expected();
    let at = position;
    return new ReadableStream(
      {
        pull: async (controller) => {
          const length = BLOCK_BYTES - (at % BLOCK_BYTES);
          const bytes = await this.compared(expected, at, length);
          at += bytes.length;
          if (bytes.length === 0) controller.close();
          else controller.enqueue(bytes);
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** The blocks from `first` to `last`; those behind are asked for along with the last missing one. */
  private load(first: number, last: number): Promise<Uint8Array>[] {
    const wanted: Promise<Uint8Array>[] = [];
    for (let number = first; number <= last; number += 1) {
      const kept = this.blocks.get(number);
      if (kept === undefined) this.request(number, last);
      else {
        this.blocks.delete(number);
        this.blocks.set(number, kept);
      }
      wanted.push(this.blocks.get(number)!);
    }
    const coming = last + 1;
    if (this.ahead > 1 && coming * BLOCK_BYTES < this.size && !this.blocks.has(coming))
      this.request(coming, coming);
    for (const number of this.blocks.keys()) {
      if (this.blocks.size <= Math.max(MOST_KEPT, last - first + MOST_AHEAD)) break;
      this.blocks.delete(number);
    }
    return wanted;
  }

  /** Ask for a missing block, and with it for those behind it that are missing as well. */
  private request(first: number, last: number): void {
    const blocks = Math.ceil(this.size / BLOCK_BYTES);
    const until = Math.min(Math.max(last + 1, first + this.ahead), blocks);
    let count = 1;
    while (first + count < until && !this.blocks.has(first + count)) count += 1;
    const start = first * BLOCK_BYTES;
    const end = Math.min(start + count * BLOCK_BYTES, this.size);
    const coming = this.fetchRange({ start, end }).then((bytes) => {
      if (bytes.length !== end - start)
        throw new APIConnectionError(`${bytes.length} bytes came instead of ${end - start}`);
      return bytes;
    });
    for (let index = 0; index < count; index += 1) {
      const block = coming.then((bytes) =>
        bytes.subarray(index * BLOCK_BYTES, (index + 1) * BLOCK_BYTES),
      );
      this.blocks.set(first + index, block);
      // The reader of the block gets the error; the next read requests it again.
      block.catch(
        () => this.blocks.get(first + index) === block && this.blocks.delete(first + index),
      );
    }
  }
}
