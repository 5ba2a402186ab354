/**
 * JSON as it was written: its members cut out and laid out without being parsed, so that no number
 * loses a digit, whatever its size.
 */

/** The texts of an array's items; empty if it is no array. */
export function itemsOf(source: string): string[] {
  return children(source, "[").map(([start, end]) => source.slice(start, end));
}

/** The text of an object's member; undefined if there is none. */
export function memberOf(source: string, name: string): string | undefined {
  for (const [start, end] of children(source, "{")) {
    const nameEnd = endOfString(source, start);
    if (JSON.parse(source.slice(start, nameEnd)) === name) {
      return source.slice(source.indexOf(":", nameEnd) + 1, end).trim();
    }
  }
  return undefined;
}

/** The members of an object, each with its name and its text; empty if it is no object. */
export function membersOf(source: string): [string, string][] {
  return children(source, "{").map(([start, end]) => {
    const nameEnd = endOfString(source, start);
    const name = JSON.parse(source.slice(start, nameEnd)) as string;
    return [name, source.slice(source.indexOf(":", nameEnd) + 1, end).trim()];
  });
}

/** The text of a member's member, and so on. */
export function memberAt(source: string, ...names: readonly string[]): string | undefined {
  let found: string | undefined = source;
  for (const name of names) found = found === undefined ? undefined : memberOf(found, name);
  return found;
}

/** The same JSON with a line for each value, indented by two spaces. */
export function laidOut(source: string): string {
  const out: string[] = [];
  let depth = 0;
  for (let at = 0; at < source.length;) {
    const character = source.charAt(at);
    if (character === '"') {
      const end = endOfString(source, at);
      out.push(source.slice(at, end));
      at = end;
      continue;
    }
    at += 1;
    if (/\s/.test(character)) continue;
    if (character === "{" || character === "[") {
      const close = nextSolid(source, at);
      if ("}]".includes(source.charAt(close))) {
        out.push(character, source.charAt(close));
        at = close + 1;
      } else {
        depth += 1;
        out.push(character, line(depth));
      }
    } else if (character === "}" || character === "]") {
      depth -= 1;
      out.push(line(depth), character);
    } else if (character === ",") out.push(",", line(depth));
    else out.push(character === ":" ? ": " : character);
  }
  return out.join("");
}

// Deep nesting is allowed; indenting it all would write more blanks than JSON.
const DEEPEST_INDENT = 40;

function line(depth: number): string {
  return `\n${"  ".repeat(Math.min(depth, DEEPEST_INDENT))}`;
}

/** Yield the bounds of each item of an array, or of each `"name": value` of an object. */
function children(source: string, opening: "[" | "{"): [number, number][] {
  const found: [number, number][] = [];
  let at = nextSolid(source, 0);
  if (source.charAt(at) !== opening) return found;
  let depth = 0;
  let start = at + 1;
  for (; at < source.length; at += 1) {
    const character = source.charAt(at);
    if (character === '"') at = endOfString(source, at) - 1;
    else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    const isEnd = depth === 0;
    if (isEnd || (depth === 1 && character === ",")) {
      const first = nextSolid(source, start);
      if (first < at) found.push([first, at]);
      start = at + 1;
    }
    if (isEnd) break;
  }
  return found;
}

function nextSolid(source: string, from: number): number {
  let at = from;
  while (at < source.length && " \n\r\t".includes(source.charAt(at))) at += 1;
  return at;
}

/** The place behind the string that begins at a quotation mark. */
function endOfString(source: string, start: number): number {
  for (let at = source.indexOf('"', start + 1); at !== -1; at = source.indexOf('"', at + 1)) {
    let slashes = 0;
    while (source.charAt(at - 1 - slashes) === "\\") slashes += 1;
    if (slashes % 2 === 0) return at + 1;
  }
  return source.length;
}
