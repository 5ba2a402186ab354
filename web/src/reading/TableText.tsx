/** A table of values, the first rows of it until more are asked for. */
import { usePieces, visibleText } from "@pagefault/react";

import type { TextTable } from "./textTable";

const MOST_AT_FIRST = 100;

export function TableText({ table: { header, rows } }: { table: TextTable }) {
  const [shown, more] = usePieces(rows, MOST_AT_FIRST);
  return (
    <div className="markdown-table text-table">
      <div tabIndex={0}>
        <table>
          <thead>
            <tr>
              {header.map((name, index) => (
                <th key={index} scope="col">
                  {visibleText(name)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, index) => (
              <tr key={index}>
                {row.map((value, place) => (
                  <td key={place}>{visibleText(value)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more}
    </div>
  );
}
