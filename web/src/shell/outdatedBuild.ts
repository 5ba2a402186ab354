/** Reloads the page when the service has a newer build, whose parts have other names than those of this one. */

const RELOADED = "pagefault-reloaded";
const missing = new WeakSet<object>();

/** Collects the errors of parts that cannot be loaded; Vite announces them before a view fails. */
export function watchParts(): void {
  window.addEventListener("vite:preloadError", ({ payload }) => missing.add(payload));
}

/** Reload the page if a part of it was missing, once for each build; false if it has to stay. */
export function reloadIfOutdated(failure: unknown): boolean {
  if (!(failure instanceof Error && missing.has(failure))) return false;
  const build = import.meta.url;
  if (sessionStorage.getItem(RELOADED) === build) return false;
  sessionStorage.setItem(RELOADED, build);
  window.location.reload();
  return true;
}
