/**
 * Call a function when the colours of the page may have changed, to redraw a canvas. Returns a function
 * that stops watching.
 */
export function watchColours(changed: () => void): () => void {
  const watched = [
    window.matchMedia("(prefers-color-scheme: dark)"),
    window.matchMedia("(forced-colors: active)"),
    window.matchMedia("(prefers-contrast: more)"),
  ];
  for (const each of watched) each.addEventListener("change", changed);
  return () => {
    for (const each of watched) each.removeEventListener("change", changed);
  };
}
