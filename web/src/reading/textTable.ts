/** A table in a text: values with commas, semicolons or tabs between them (RFC 4180). */
export interface TextTable {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A text that nothing says to be a table is one with as many columns and lines. */
const LEAST_COLUMNS = 3;
const LEAST_LINES = 3;

/** Return the table of a text; `isNamed` if its type or its file says that it is one. */
export function tableIn(text: string, isNamed: boolean): TextTable | undefined {
  const firstLine = text.slice(0, Math.max(0, text.indexOf("\n")));
  const separator = [",", ";", "\t"]
    .toSorted((one, other) => firstLine.split(other).length - firstLine.split(one).length)[0] ?? ",";
  // What looks like a sentence or code is none.
  const mayBe = isNamed || (firstLine.split(separator).length >= LEAST_COLUMNS && !/[.:{}()] ?$|, /.test(firstLine));
  if (!mayBe) return undefined;
  const [header = [], ...rows] = rowsIn(text, separator);
  const areEven = rows.every((row) => row.length === header.length);
  const isTable = areEven && header.length >= LEAST_COLUMNS && rows.length + 1 >= LEAST_LINES;
  return isTable || (isNamed && rows.length > 0) ? { header, rows } : undefined;
}

function rowsIn(text: string, separator: string): readonly (readonly string[])[] {
  // A value in quotes, in which a quote stands twice, or one without; and what ends it.
  const value = new RegExp(`(?:"((?:[^"]|"")*)"|([^${separator}\\n]*))(${separator}|\\n|$)`, "gy");
  const rows: string[][] = [];
  let row: string[] = [];
  const source = text.replaceAll("\r\n", "\n").trimEnd();
  for (let found = value.exec(source); found !== null; found = value.exec(source)) {
    const [, quoted, plain = "", end] = found;
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end !== separator) {
      rows.push(row);
      row = [];
    }
    if (end === "" || value.lastIndex > source.length) break;
  }
  return rows;
}
