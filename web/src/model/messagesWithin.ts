/** Which messages of a rendering are of one entry: those that are lost where it is left out. */
import { itemsOf, memberOf } from "@pagefault/client/json";

const BLOCKS = ["content", "parts"];

/**
 * The messages of `all` that `others` lacks. Where a provider has each side speak once, a message may
 * have blocks of several entries; of such a one, only the blocks that `others` lacks.
 */
export function messagesWithin(
  all: readonly string[],
  others: readonly string[],
): readonly string[] {
  const [own, rest] = withoutCommon(all, others);
  const [message, other] = [own[0], rest[0]];
  if (own.length !== 1 || rest.length !== 1 || message === undefined || other === undefined) {
    return own;
  }
  const [blocks, otherBlocks] = [blocksOf(message), blocksOf(other)];
  const [ownBlocks] = withoutCommon(blocks, otherBlocks);
  return ownBlocks.length > 0 ? ownBlocks : own;
}

/** What two lists have beside what they begin with and end with in common. */
function withoutCommon(
  one: readonly string[],
  other: readonly string[],
): readonly [readonly string[], readonly string[]] {
  const most = Math.min(one.length, other.length);
  let start = 0;
  while (start < most && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < most - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  return [one.slice(start, one.length - end), other.slice(start, other.length - end)];
}

export function blocksOf(message: string): readonly string[] {
  for (const name of BLOCKS) {
    const blocks = memberOf(message, name);
    if (blocks?.startsWith("[") === true) return itemsOf(blocks);
  }
  return [];
}
