/** The facts shown with a medium: its name, type, size and dimensions. */
import { duration, fileSize } from "./measures.ts";
import { visibleName } from "./visibleText.ts";
import { WORDS } from "./words.ts";

export interface MediumFacts {
  readonly mimeType?: string | undefined;
  readonly filename?: string | null | undefined;
  readonly size?: number | undefined;
  readonly width?: number | null | undefined;
  readonly height?: number | null | undefined;
  readonly durationSeconds?: number | null | undefined;
}

/** `chart.png, image/png, 640 × 360 pixels, 1.8 kB`, as far as it is known. */
export function factsText(facts: MediumFacts): string {
  const said = [
    facts.filename ? visibleName(facts.filename) : undefined,
    facts.mimeType === undefined ? undefined : visibleName(facts.mimeType),
    facts.width && facts.height ? WORDS.pixels(facts.width, facts.height) : undefined,
    facts.durationSeconds == null ? undefined : duration(facts.durationSeconds),
    facts.size === undefined ? undefined : fileSize(facts.size),
  ];
  return said.filter((each) => each !== undefined).join(", ");
}

/** The words for those who do not see it. */
export function alternative(what: string, facts: MediumFacts, caption?: string | null): string {
  if (caption) return visibleName(caption);
  return facts.filename ? `${what} ${visibleName(facts.filename)}` : what;
}

/** A box of the medium's shape, at most `tallest` rem high, before anything is loaded. */
export function reserved(facts: MediumFacts, tallest: number, usual?: [number, number]) {
  const [width, height] = facts.width && facts.height ? [facts.width, facts.height] : (usual ?? []);
  if (width === undefined || height === undefined) return undefined;
  const widest = tallest === Infinity ? "100" : ((tallest * width) / height).toFixed(3);
  return {
    width: usual && !facts.width ? `min(28rem, 100%)` : `min(${width}px, ${widest}rem, 100%)`,
    aspectRatio: `${width} / ${height}`,
  };
}
