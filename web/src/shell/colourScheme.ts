/** The colours of the page: those of the system, or light or dark as chosen on this device. */

export const SCHEMES = ["system", "light", "dark"] as const;
export type Scheme = (typeof SCHEMES)[number];

const STORED_AS = "colour-scheme";
const DARK = window.matchMedia("(prefers-color-scheme: dark)");

export function chosenScheme(): Scheme {
  const stored = localStorage.getItem(STORED_AS);
  return SCHEMES.find((each) => each === stored) ?? "system";
}

export function chooseScheme(scheme: Scheme): void {
  if (scheme === "system") localStorage.removeItem(STORED_AS);
  else localStorage.setItem(STORED_AS, scheme);
  applyScheme();
}

/** Colour the page as chosen: `tokens.css` has the scheme of each. */
export function applyScheme(): void {
  document.documentElement.dataset["scheme"] = chosenScheme();
}

export function isDark(): boolean {
  const scheme = chosenScheme();
  return scheme === "system" ? DARK.matches : scheme === "dark";
}
