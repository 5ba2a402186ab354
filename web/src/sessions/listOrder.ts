/** Which of the listed sessions are shown, and in which order. What is chosen stands in the address. */
import type { SessionRecord } from "@pagefault/client";

import { entriesOf } from "./SessionActions";
import { LIVE_SECONDS } from "./live";

export const SORTS = ["time", "tokens", "errors", "entries", "size"] as const;
export type Sort = (typeof SORTS)[number];

export const CHIPS = ["failed", "live", "images", "pinned"] as const;
export type Chip = (typeof CHIPS)[number];

/** What of the address belongs to the list, and goes along to another session. */
const MEMBERS = ["q", "sort", "only", "tag", "called"];

const HAS: Readonly<Record<Chip, (session: SessionRecord) => boolean>> = {
  failed: ({ counts }) => counts.failures > 0,
  // The service lists no others, by its own clock.
  live: () => true,
  images: ({ counts }) => counts.images > 0,
  pinned: ({ pinned }) => pinned === true,
};

const SIZES: Readonly<Record<Sort, (session: SessionRecord) => number>> = {
  time: ({ updatedAt }) => Date.parse(updatedAt),
  tokens: ({ tokensEst }) => tokensEst,
  errors: ({ counts }) => counts.failures,
  entries: entriesOf,
  size: ({ bytesReferenced }) => bytesReferenced,
};

export interface ListOrder {
  readonly sort: Sort;
  readonly chips: readonly Chip[];
  /** Only sessions with this tag. */
  readonly tag: string | undefined;
  /** Only sessions that called this tool; `tool` is of the open session. */
  readonly called: string | undefined;
}

/** The filters that the service applies, to all sessions. */
export interface ListFilters {
  readonly pinned?: true | undefined;
  readonly tag?: string | undefined;
  readonly tool?: string | undefined;
  readonly writtenWithin?: number | undefined;
}

export function orderIn(search: URLSearchParams): ListOrder {
  const only = (search.get("only") ?? "").split(",");
  return {
    sort: SORTS.find((sort) => sort === search.get("sort")) ?? "time",
    chips: CHIPS.filter((chip) => only.includes(chip)),
    tag: search.get("tag") || undefined,
    called: search.get("called") || undefined,
  };
}

export function filtersOf({ chips, tag, called }: ListOrder): ListFilters {
  return {
    pinned: chips.includes("pinned") || undefined,
    tag,
    tool: called,
    writtenWithin: chips.includes("live") ? LIVE_SECONDS : undefined,
  };
}

/** Whether any filter is set. */
export function areFilters(filters: ListFilters): boolean {
  return Object.values(filters).some((each) => each !== undefined);
}

/** The search of an address with another order in it. */
export function withOrder(
  search: URLSearchParams,
  { sort, chips, tag = "", called = "" }: ListOrder,
): URLSearchParams {
  const changed = new URLSearchParams(search);
  const members = { sort: sort === "time" ? "" : sort, only: chips.join(","), tag, called };
  for (const [name, value] of Object.entries(members)) {
    if (value === "") changed.delete(name);
    else changed.set(name, value);
  }
  return changed;
}

export function searchOfList(search: URLSearchParams): string {
  return `${new URLSearchParams([...search].filter(([name]) => MEMBERS.includes(name)))}`;
}

/** The sessions that fit, in their order: the largest first, and of equal ones the newest. */
export function ordered(
  sessions: readonly SessionRecord[],
  { sort, chips }: ListOrder,
): readonly SessionRecord[] {
  const shown = sessions.filter((session) => chips.every((chip) => HAS[chip](session)));
  return shown.toSorted((one, other) => SIZES[sort](other) - SIZES[sort](one));
}
