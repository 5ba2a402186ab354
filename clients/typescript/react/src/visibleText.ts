/**
 * Escaping of characters in the output of tools that hide, reorder or move other text. All other
 * characters are kept, in any script.
 */

// C0 but tab and line feed, DEL, C1, and what forces a direction on the text that follows.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
// In names beside: line breaks, tabs, and characters without a width.
const CONTROLS_IN_NAMES =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

const SGR_CODES = /\u001b\[[\d;]*m/g;

/** Several lines of text. CRLF is a line break; a lone CR is shown. */
export function visibleText(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(CONTROLS, pictured);
}

/** A name on one line: of a tool, a file, a session. Colours of a terminal are left out. */
export function visibleName(name: string): string {
  return withoutColours(name).replace(CONTROLS_IN_NAMES, pictured);
}

/** A text without the codes that give it colours in a terminal; other escapes stay. */
export function withoutColours(text: string): string {
  return text.replace(SGR_CODES, "");
}

function pictured(character: string): string {
  return `⟨U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
