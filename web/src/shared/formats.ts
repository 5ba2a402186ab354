/** Moments, days and spans as the reader writes them. */
import { numberText } from "@pagefault/react";

export { numberText };

const TIME = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const DAY = new Intl.DateTimeFormat(undefined, {
  weekday: "long",
  year: "numeric",
  month: "long",
  day: "numeric",
});
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const SHORT_SECONDS = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** The time of a moment, without its day. */
export function timeText(moment: string): string {
  return formatted(moment, TIME);
}

export function dayText(moment: string): string {
  return formatted(moment, DAY);
}

const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

/** A day as it is spoken of: today and yesterday by these words, other days by their dates. */
export function spokenDayText(moment: string, now = new Date()): string {
  const midnight = (date: Date) => new Date(date).setHours(0, 0, 0, 0);
  // Not by hours: a day on which clocks change has another number of them.
  const days = Math.round((midnight(new Date(moment)) - midnight(now)) / 86_400_000);
  if (days !== 0 && days !== -1) return dayText(moment);
  const [first = "", ...rest] = RELATIVE.format(days, "day");
  return first.toLocaleUpperCase() + rest.join("");
}

export function momentText(moment: string): string {
  return formatted(moment, MOMENT);
}

/** How long something took: `340 ms`, `2.5 s`, `3 min 4 s`, `2 h 5 min`. */
export function spanText(milliseconds: number): string {
  if (Math.round(milliseconds) < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${SHORT_SECONDS.format(milliseconds / 1_000)} s`;
  const seconds = Math.round(milliseconds / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${numberText(Math.floor(hours / 24))} d ${hours % 24} h`;
}

function formatted(moment: string, format: Intl.DateTimeFormat): string {
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? moment : format.format(date);
}
