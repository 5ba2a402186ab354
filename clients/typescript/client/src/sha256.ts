/**
 * SHA-256 of bytes that come piece by piece, which Web Crypto does not offer.
 *
 * Source: FIPS 180-4, sections 4.1.2, 5.3.3 and 6.2.
 */
import { DigestMismatchError } from "./errors.ts";

const PRIMES = primes(64);
const ROUND_CONSTANTS = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));
const BLOCK_BYTES = 64;

export class Sha256 {
  private readonly state = Int32Array.from(PRIMES.slice(0, 8), (prime) =>
    fraction(Math.sqrt(prime)),
  );
  private readonly words = new Int32Array(64);
  private readonly rest = new Uint8Array(BLOCK_BYTES);
  private restLength = 0;
  private length = 0;

  update(bytes: Uint8Array): this {
    this.length += bytes.length;
    let start = 0;
    if (this.restLength > 0) {
      start = Math.min(BLOCK_BYTES - this.restLength, bytes.length);
      this.rest.set(bytes.subarray(0, start), this.restLength);
      this.restLength += start;
      if (this.restLength < BLOCK_BYTES) return this;
      this.block(this.rest, 0);
    }
    for (; start + BLOCK_BYTES <= bytes.length; start += BLOCK_BYTES) this.block(bytes, start);
    this.rest.set(bytes.subarray(start));
    this.restLength = bytes.length - start;
    return this;
  }

  /** The digest of all bytes, in hex. Nothing can be added afterwards. */
  hex(): string {
    const { length } = this;
    const padding = new Uint8Array(((119 - (length % BLOCK_BYTES)) % BLOCK_BYTES) + 9);
    padding[0] = 0x80;
    new DataView(padding.buffer).setBigUint64(padding.length - 8, BigInt(length) * 8n);
    this.update(padding);
    return Array.from(this.state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  private block(bytes: Uint8Array, start: number): void {
    const { words, state } = this;
    for (let t = 0; t < 16; t += 1) {
      const at = start + t * 4;
      words[t] =
        (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
    }
    for (let t = 16; t < 64; t += 1) {
      const early = words[t - 15]!;
      const late = words[t - 2]!;
      const sigma0 = right(early, 7) ^ right(early, 18) ^ (early >>> 3);
      const sigma1 = right(late, 17) ^ right(late, 19) ^ (late >>> 10);
      words[t] = words[t - 16]! + sigma0 + words[t - 7]! + sigma1;
    }
    let a = state[0]!,
      b = state[1]!,
      c = state[2]!,
      d = state[3]!;
    let e = state[4]!,
      f = state[5]!,
      g = state[6]!,
      h = state[7]!;
    for (let t = 0; t < 64; t += 1) {
      const sum1 = right(e, 6) ^ right(e, 11) ^ right(e, 25);
      const one = (h + sum1 + ((e & f) ^ (~e & g)) + ROUND_CONSTANTS[t]! + words[t]!) | 0;
      const sum0 = right(a, 2) ^ right(a, 13) ^ right(a, 22);
      const two = (sum0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + two) | 0;
    }
    const added = [a, b, c, d, e, f, g, h];
    for (let index = 0; index < 8; index += 1) state[index]! += added[index]!;
  }
}

/** Content with an expected digest, which is checked after a sequential read of all bytes. */
export class Expected {
  private readonly size: number;
  private readonly digest: string;
  private hash = new Sha256();
  private end = 0;

  /** @param digest As descriptors spell it: `sha-256:` and hex. */
  constructor(size: number, digest: string) {
    this.size = size;
    this.digest = digest;
  }

  /** Note bytes that were read; throws with the last ones if all of them are not the content. */
  note(position: number, bytes: Uint8Array): void {
    if (position === 0) {
      this.hash = new Sha256();
      this.end = 0;
    }
    if (position !== this.end || bytes.length === 0) return;
    this.hash.update(bytes);
    this.end += bytes.length;
    if (this.end === this.size) expectDigest(this.hash, this.digest, "The content that came");
  }
}

/** Compare the digest of bytes with one as descriptors spell it. */
export function expectDigest(hash: Sha256, digest: string, subject: string): void {
  const found = `sha-256:${hash.hex()}`;
  if (found !== digest)
    throw new DigestMismatchError(`${subject} has the digest ${found}, and not ${digest}`);
}

function right(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

/** The first 32 bits of what stands behind the point. */
function fraction(root: number): number {
  return ((root % 1) * 2 ** 32) | 0;
}

function primes(count: number): number[] {
  const found: number[] = [];
  for (let each = 2; found.length < count; each += 1) {
    if (found.every((prime) => each % prime)) found.push(each);
  }
  return found;
}
