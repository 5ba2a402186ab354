/** What fills the window of a model: a bar of what takes its tokens, and what is left of the budget. */
import type { WorkingSetEntry } from "@pagefault/client";
import { numberText, shareText } from "@pagefault/react";
import { type CSSProperties, useMemo } from "react";

import { MODEL } from "../words/model";

const PARTS = ["system", "people", "assistant", "tools", "images", "pages", "folded"] as const;
type Part = (typeof PARTS)[number];

interface WindowBarProps {
  readonly entries: readonly WorkingSetEntry[];
  /** The tokens of the rendering. */
  readonly tokens: number;
  readonly budget: number | undefined;
}

export function WindowBar({ entries, tokens, budget }: WindowBarProps) {
  const parts = useMemo(() => partsOf(entries), [entries]);
  // A rendering has some tokens that are of no entry.
  const whole = Math.max(1, budget ?? 0, tokens, parts.reduce((sum, [, count]) => sum + count, 0));
  const shares = parts.map(([part, count]) => ({ part, count, share: count / whole }));
  return (
    <figure className="window-bar">
      <div className="window-picture" role="img" aria-label={MODEL.window}>
        {shares.map(({ part, count, share }) => (
          <span
            key={part}
            className={`window-part part-${part}`}
            style={{ "--share": `${100 * share}%` } as CSSProperties}
            title={MODEL.part(MODEL.parts[part], numberText(count))}
          />
        ))}
      </div>
      <figcaption className="window-parts small">
        {shares.map(({ part, count, share }) => (
          <span key={part} className={`window-key part-${part}`}>
            {MODEL.parts[part]} <strong>{numberText(count)}</strong>{" "}
            <span className="quiet">{shareText(share)}</span>
          </span>
        ))}
        {budget !== undefined && (
          <span className="quiet">{MODEL.free(numberText(Math.max(0, budget - tokens)))}</span>
        )}
      </figcaption>
    </figure>
  );
}

function partsOf(entries: readonly WorkingSetEntry[]): readonly (readonly [Part, number])[] {
  const counts = new Map<Part, number>(PARTS.map((part) => [part, 0]));
  const add = (part: Part, count: number) => counts.set(part, (counts.get(part) ?? 0) + count);
  for (const entry of entries) {
    const media = entry.mediaTokens ?? 0;
    add("images", media);
    add(partOf(entry), entry.tokens - media);
  }
  return [...counts].filter(([, count]) => count > 0);
}

function partOf({ role, pageId, stepLevel }: WorkingSetEntry): Part {
  if (stepLevel === "folded") return "folded";
  if (pageId != null) return "pages";
  if (role === "system" || role === "assistant") return role;
  return role === "tool" ? "tools" : "people";
}
