/**
 * Call a function when the colours of the page may have changed, to redraw a canvas: by a setting of the
 * system, or by the attributes of the root element. Returns a function that stops watching.
 */
export function watchColours(changed: () => void): () => void {
  const watched = [
    window.matchMedia("(prefers-color-scheme: dark)"),
    window.matchMedia("(forced-colors: active)"),
    window.matchMedia("(prefers-contrast: more)"),
  ];
  for (const each of watched) each.addEventListener("change", changed);
  const root = new MutationObserver(changed);
  root.observe(document.documentElement, { attributes: true });
  return () => {
    root.disconnect();
    for (const each of watched) each.removeEventListener("change", changed);
  };
}
