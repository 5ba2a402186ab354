/** The words for what pages have: levels, origins, modalities, targets. */
import type { Level, Modality, PageSummary, RenderPageData } from "@pagefault/client";
import { dimensionsText, duration, fileSize } from "@pagefault/react";

import { PAGES } from "../words/pages";

export const LEVELS: readonly { level: Level; name: string; meaning: string }[] = [
  { level: 0, name: "FULL", meaning: PAGES.meanings.full },
  { level: 1, name: "REDUCED", meaning: PAGES.meanings.reduced },
  { level: 2, name: "ABSTRACT", meaning: PAGES.meanings.abstract },
  { level: 3, name: "REFERENCE", meaning: PAGES.meanings.reference },
];

// Records and not lists, so that what the service has more of is an error here.
const EVERY_MODALITY: Record<Modality, true> = {
  text: true,
  image: true,
  audio: true,
  video: true,
  structured: true,
};

export const MODALITIES = Object.keys(EVERY_MODALITY) as Modality[];

/** Whose dialect a page can be rendered in; `docs/targets.md` says what becomes of it. */
export type Target = NonNullable<NonNullable<RenderPageData["query"]>["target"]>;

const EVERY_TARGET: Record<Target, true> = {
  "openai-chat": true,
  "openai-responses": true,
  "openai-compat": true,
  anthropic: true,
  gemini: true,
  bedrock: true,
  mistral: true,
  ollama: true,
  mcp: true,
  langchain: true,
  vercel: true,
  "vercel-6": true,
  "pydantic-ai": true,
  "otel-genai": true,
  text: true,
};

export const TARGETS = Object.keys(EVERY_TARGET) as Target[];

export function levelName(level: Level): string {
  return LEVELS[level]?.name ?? `${level}`;
}

/** One line about a page's size: `1920 × 1080, 5.7 kB, 258 tokens`. */
export function measuresOf(page: PageSummary): string {
  const width = page.media?.width ?? page.dimensions?.[0];
  const height = page.media?.height ?? page.dimensions?.[1];
  const seconds = page.media?.duration_seconds ?? page.duration_seconds;
  const measures = [
    width != null && height != null ? dimensionsText(width, height) : null,
    seconds != null ? duration(seconds) : null,
    page.size_bytes !== null ? fileSize(page.size_bytes) : null,
    page.size_tokens > 0 ? PAGES.tokens(page.size_tokens) : null,
  ];
  return measures.filter((measure) => measure !== null).join(", ");
}
