/** Names for what Swagger UI leaves without one, for those who do not see what stands beside it. */

const FIELDS = "select, textarea, input:not([type=hidden])";

/** Name each field by the row or the section it stands in, now and whenever more are shown. */
export function nameFields(within: HTMLElement): void {
  const name = () => {
    for (const field of within.querySelectorAll<HTMLElement>(FIELDS)) {
      // An id is no name.
      if (field.ariaLabel === null || field.ariaLabel === field.id) field.ariaLabel = nameOf(field);
    }
    for (const button of within.querySelectorAll<HTMLElement>(".close-modal")) {
      button.ariaLabel = "Close";
    }
    // These have names that their texts contradict.
    for (const button of within.querySelectorAll<HTMLElement>(".modal-btn")) {
      button.ariaLabel = null;
    }
    // What scrolls is reached with the keyboard as well.
    for (const text of within.querySelectorAll<HTMLElement>("pre.microlight, .highlight-code > pre")) {
      text.tabIndex = 0;
    }
  };
  new MutationObserver(name).observe(within, { childList: true, subtree: true });
  name();
}

function nameOf(field: HTMLElement): string {
  const parameter = field.closest("tr")?.getAttribute("data-param-name");
  if (parameter) return parameter;
  if (field.closest(".filter")) return "Filter by tag";
  if (field.closest(".auth-container")) return "API key";
  if (field.closest(".opblock-section-request-body")) {
    return field.tagName === "SELECT" ? "Type of the body" : "Body";
  }
  return field.closest(".responses-wrapper") ? "Type of the answer" : "Value";
}
