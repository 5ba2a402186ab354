/** Calls whenever the colours of the page may have become others, for what is drawn on a canvas. */
const QUERIES = ["(prefers-color-scheme: dark)", "(forced-colors: active)", "(prefers-contrast: more)"];

/** Returns what ends it. */
export function watchColours(changed: () => void): () => void {
  const watched = QUERIES.map((query) => window.matchMedia(query));
  for (const each of watched) each.addEventListener("change", changed);
  return () => {
    for (const each of watched) each.removeEventListener("change", changed);
  };
}
