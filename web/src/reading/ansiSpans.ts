/** The colours of a terminal in a text: its SGR codes become classes, other escapes stay as they are. */
export interface AnsiSpan {
  readonly text: string;
  /** Of reading.css; empty for text without colours. */
  readonly className: string;
}

interface Style {
  readonly ink: string;
  readonly ground: string;
  /** Bold, dim, italic, underlined, inverse, struck, by their codes. */
  readonly marks: ReadonlySet<number>;
}

const SGR = /\u001b\[([\d;]*)m/g;
const NONE: Style = { ink: "", ground: "", marks: new Set() };
const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const MARKS: Readonly<Record<number, string>> = {
  1: "bold",
  2: "dim",
  3: "italic",
  4: "underline",
  7: "inverse",
  9: "struck",
};

/** Return whether a text has colours of a terminal. */
export function hasColours(text: string): boolean {
  return text.search(SGR) !== -1;
}

export function withoutColours(text: string): string {
  return text.replaceAll(SGR, "");
}

export function ansiSpans(text: string): readonly AnsiSpan[] {
  const spans: AnsiSpan[] = [];
  let style = NONE;
  // Every second piece has the codes of an escape.
  text.split(SGR).forEach((piece, index) => {
    if (index % 2 === 1) style = styled(style, piece);
    else if (piece !== "") spans.push({ text: piece, className: classOf(style) });
  });
  return spans;
}

function styled(before: Style, codes: string): Style {
  const numbers = codes.split(";").map(Number);
  let style = before;
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] ?? 0;
    if (code === 38 || code === 48) {
      // One of 256 colours, of which the first sixteen have names, or one of all.
      const name = numbers[at + 1] === 5 ? colourOf(numbers[at + 2] ?? -1) : "";
      style = code === 38 ? { ...style, ink: name } : { ...style, ground: name };
      at += numbers[at + 1] === 5 ? 2 : 4;
    } else style = withCode(style, code);
  }
  return style;
}

function withCode(style: Style, code: number): Style {
  if (code === 0) return NONE;
  if (code in MARKS) return { ...style, marks: new Set([...style.marks, code]) };
  // 22 ends bold and dim, 23 italic, and so on.
  if (code === 22) return { ...style, marks: without(style.marks, 1, 2) };
  if (code > 22 && code < 30) return { ...style, marks: without(style.marks, code - 20) };
  if (code === 39) return { ...style, ink: "" };
  if (code === 49) return { ...style, ground: "" };
  const isBright = code >= 90;
  const number = (code % 10) + (isBright ? 8 : 0);
  if ((code >= 30 && code < 38) || (code >= 90 && code < 98)) return { ...style, ink: colourOf(number) };
  if ((code >= 40 && code < 48) || (code >= 100 && code < 108)) {
    return { ...style, ground: colourOf(number) };
  }
  return style;
}

function colourOf(number: number): string {
  return number < 0 || number > 15 ? "" : (COLOURS[number % 8] ?? "");
}

function without(marks: ReadonlySet<number>, ...ended: number[]): ReadonlySet<number> {
  return new Set([...marks].filter((mark) => !ended.includes(mark)));
}

function classOf({ ink, ground, marks }: Style): string {
  const names = [...marks].map((mark) => `ansi-${MARKS[mark]}`);
  if (ink !== "") names.push(`ansi-${ink}`);
  if (ground !== "") names.push("ansi-ground", `ansi-on-${ground}`);
  return names.join(" ");
}
