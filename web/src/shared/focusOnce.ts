/**
 * Focuses what takes no focus by itself, and lets it take none any more once it has lost it: a click
 * into it must not take the focus from elsewhere.
 */
export function focusOnce(element: HTMLElement, options?: FocusOptions): void {
  if (document.activeElement === element) return;
  if (!element.hasAttribute("tabindex")) {
    element.tabIndex = -1;
    element.addEventListener("blur", () => element.removeAttribute("tabindex"), { once: true });
  }
  element.focus(options);
}
