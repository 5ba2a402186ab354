/** Text in full, or the beginning of a long one until the rest is asked for. */
import { numberText, visibleText } from "@pagefault/react";
import { useState } from "react";
import { PAGES } from "../words/pages";

const SHOWN_AT_FIRST = 20_000;

export function LongText({ text, isCode = false }: { text: string; isCode?: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > SHOWN_AT_FIRST * 1.1;
  return (
    <>
      {/* It scrolls, so it has to be reachable by keyboard. */}
      <pre dir="auto" className={isCode ? "page-text page-code" : "page-text"} tabIndex={0}>
        {visibleText(isCut ? text.slice(0, SHOWN_AT_FIRST) : text)}
        {isCut && "…"}
      </pre>
      {isCut && (
        <button type="button" className="button" onClick={() => setWhole(true)}>
          {PAGES.showAll(numberText(text.length))}
        </button>
      )}
    </>
  );
}
