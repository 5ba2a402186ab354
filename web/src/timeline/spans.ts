/**
 * Where entries and calls stand on a line of time.
 *
 * Time in which a call runs counts in full, a pause at most as much as a twentieth of that: a session
 * that rested over night is still seen. Entries of one moment stand beside each other.
 */
import type { OutlineEntry } from "@pagefault/client";

import type { Row } from "./rows";

/** A call, from the message that makes it to what answers it; both are shares of the line. */
export interface Span {
  readonly seq: number;
  readonly tool: string;
  readonly start: number;
  readonly end: number;
  /** Calls that run at the same time have different lanes, as far as there are any. */
  readonly lane: number;
  readonly isFailed: boolean;
}

export interface TimeLine {
  /** For each entry its share of the line, in their order. */
  readonly places: readonly number[];
  readonly spans: readonly Span[];
  readonly lanes: number;
}

const MOST_LANES = 4;
const SHORTEST_PAUSE_MS = 1_000;
const PAUSE_SHARE = 1 / 20;
/** The share of the line that is the same for all entries. */
const EVEN_SHARE = 1 / 4;

export function timeLineOf(entries: readonly OutlineEntry[], rows: readonly Row[]): TimeLine {
  const indexes = new Map(entries.map(({ seq }, index) => [seq, index]));
  const calls = callsIn(rows).flatMap((call) => {
    const [start, end] = [indexes.get(call.from), indexes.get(call.seq)];
    return start === undefined || end === undefined ? [] : [{ ...call, start, end }];
  });
  const places = placesOf(entries, calls);
  const lanes = new Array<number>(MOST_LANES).fill(-1);
  const spans = calls
    .sort((one, other) => one.start - other.start)
    .map(({ seq, tool, start, end, isFailed }) => {
      const free = lanes.findIndex((until) => until <= start);
      const lane = free === -1 ? MOST_LANES - 1 : free;
      lanes[lane] = Math.max(end, lanes[lane] ?? 0);
      // Without its call, a result has only its own moment.
      const begins = places[start === end ? start - 1 : start] ?? 0;
      return { seq, tool, start: begins, end: places[end] ?? 1, lane, isFailed };
    });
  return { places, spans, lanes: lanes.filter((until) => until >= 0).length };
}

/** The index of the last entry that is not behind a number. */
export function indexAt(entries: readonly OutlineEntry[], seq: number): number {
  return lastIndex(entries.length, (index) => (entries[index]?.seq ?? 0) <= seq);
}

/** The index of the entry that stands at a share of the line, or last before it. */
export function indexAtShare({ places }: TimeLine, share: number): number {
  return lastIndex(places.length, (index) => (places[index] ?? 0) <= share);
}

interface ShownCall {
  /** The entry that answers it, else the one that makes it. */
  readonly seq: number;
  readonly from: number;
  readonly tool: string;
  readonly isFailed: boolean;
}

function callsIn(rows: readonly Row[]): readonly ShownCall[] {
  return rows.flatMap((row) => {
    if (row.kind !== "step") return [];
    return row.calls.map(({ name, result }) => {
      const seq = result?.seq ?? row.seq;
      const from = row.caller?.seq ?? seq;
      return { seq, from, tool: name, isFailed: result?.failed === true };
    });
  });
}

function placesOf(
  entries: readonly OutlineEntry[],
  calls: readonly { readonly start: number; readonly end: number }[],
): readonly number[] {
  const changes = new Array<number>(entries.length + 1).fill(0);
  for (const { start, end } of calls) {
    changes[start + 1] = (changes[start + 1] ?? 0) + 1;
    changes[end + 1] = (changes[end + 1] ?? 0) - 1;
  }
  let running = 0;
  let busy = 0;
  const gaps = entries.map(({ createdAt }, index) => {
    running += changes[index] ?? 0;
    const before = Date.parse(entries[index - 1]?.createdAt ?? createdAt);
    const span = Math.max(0, Date.parse(createdAt) - before) || 0;
    if (running > 0) busy += span;
    return { span, isPause: running === 0 };
  });
  const longest = Math.max(SHORTEST_PAUSE_MS, busy * PAUSE_SHARE);
  const widths = gaps.map(({ span, isPause }) => (isPause ? Math.min(span, longest) : span));
  const total = widths.reduce((sum, width) => sum + width, 0);
  const even = total === 0 ? 1 : (total * EVEN_SHARE) / entries.length;
  const whole = total + even * entries.length;
  let place = -even / 2;
  return widths.map((width) => {
    place += width + even;
    return place / whole;
  });
}

/** The tool of each entry that answers a call. */
export function toolsBySeq(rows: readonly Row[]): ReadonlyMap<number, string> {
  return new Map(
    rows.flatMap((row) =>
      row.kind !== "step"
        ? []
        : row.calls.flatMap(({ name, result }) =>
            result === null ? [] : [[result.seq, name] as const],
          ),
    ),
  );
}

function lastIndex(count: number, isBefore: (index: number) => boolean): number {
  let [low, high] = [0, count - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (isBefore(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
