/** Code with its words coloured, where its language is known; long code only when that is asked for. */
import { visibleText } from "@pagefault/react";
import { useState } from "react";

import { READING } from "../words/reading";
import { ColouredText } from "./ColouredText";
import { useTextTree } from "./useTextTree";

const LONGEST_AT_ONCE = 10_000;
const LONGEST_COLOURED = 100_000;

interface CodeTextProps {
  readonly text: string;
  readonly language?: string | undefined;
}

export function CodeText({ text, language = "" }: CodeTextProps) {
  const [isAsked, setAsked] = useState(false);
  const canBeColoured = language !== "" && text.length <= LONGEST_COLOURED;
  const isWanted = canBeColoured && (isAsked || text.length <= LONGEST_AT_ONCE);
  const tree = useTextTree({ text, language }, isWanted);
  return (
    <>
      {canBeColoured && !isWanted && (
        <button type="button" className="button plain small" onClick={() => setAsked(true)}>
          {READING.colour}
        </button>
      )}
      <pre className="code" dir="ltr" tabIndex={0} data-language={language || undefined}>
        <code>{tree == null ? visibleText(text) : <ColouredText nodes={tree} />}</code>
      </pre>
    </>
  );
}
