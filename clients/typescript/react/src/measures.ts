/** Sizes, durations and counts in words, with numbers as the reader writes them. */

const NUMBER = new Intl.NumberFormat();
const TENTHS = new Intl.NumberFormat(undefined, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});
const SHARE = new Intl.NumberFormat(undefined, { style: "percent" });
const UNITS = ["kB", "MB", "GB", "TB"];

/** `12,800`, or `12.800`, as the reader writes it. */
export function numberText(value: number): string {
  return NUMBER.format(value);
}

/** `42%`, or `42 %`: a whole number of percents that is never more than there is. */
export function shareText(share: number): string {
  return SHARE.format(Math.floor(100 * share + 1e-9) / 100);
}

/** `1,920 × 1,080` */
export function dimensionsText(width: number, height: number): string {
  return `${NUMBER.format(width)} × ${NUMBER.format(height)}`;
}

/** A size in decimal units, as the service says it in its renderings: `1.8 kB`. */
export function fileSize(bytes: number): string {
  if (bytes < 1000) return `${NUMBER.format(bytes)} B`;
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.95 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${TENTHS.format(value)} ${UNITS[unit] ?? ""}`;
}

/** A place in a recording, as the service writes it for models: `0:12`, `1:02:03`. */
export function clock(seconds: number): string {
  const whole = Math.floor(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown
    .map((part, index) => (index === 0 ? `${part}` : `${part}`.padStart(2, "0")))
    .join(":");
}

/** A duration as a player shows it: `1:35`, `1:02:03`; below ten seconds with a tenth. */
export function duration(seconds: number): string {
  if (seconds < 10) return `${TENTHS.format(seconds)} s`;
  const whole = Math.round(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown
    .map((part, index) => (index === 0 ? `${part}` : `${part}`.padStart(2, "0")))
    .join(":");
}

/** `1 page`, `2,000 pages`, as the reader writes numbers. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${NUMBER.format(count)} ${count === 1 ? one : many}`;
}
