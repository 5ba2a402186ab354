/**
 * Keys for the visits of the tab's history.
 *
 * The router gives one to each that it makes, but none to the first of a tab, nor to those that the
 * browser makes for a link to a part of the same view: all of these would share one.
 */
export function keyEachVisit(): void {
  giveKey();
  window.addEventListener("popstate", giveKey);
}

function giveKey(): void {
  const state: unknown = window.history.state;
  const known = typeof state === "object" ? state : null;
  if (known !== null && "key" in known) return;
  const key = crypto.getRandomValues(new Uint32Array(2)).join("");
  window.history.replaceState({ ...known, key }, "");
}
