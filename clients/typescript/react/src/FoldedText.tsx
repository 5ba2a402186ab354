/** Text that folds where it is long. All of it is in the document, folded or not. */
import { useId, useState, type ReactNode } from "react";

import { visibleText } from "./visibleText.ts";
import { WORDS } from "./words.ts";

const LONG_CHARS = 1_200;
const LONG_LINES = 24;

interface FoldedTextProps {
  readonly text: string;
  /** Whether its end is what is seen while it is folded, as of a command that failed. */
  readonly isFromEnd?: boolean;
  /** What else can be done with the text, shown behind the button that unfolds it. */
  readonly children?: ReactNode;
}

export function FoldedText({ text, isFromEnd = false, children }: FoldedTextProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const isLong = text.length > LONG_CHARS || text.split("\n", LONG_LINES + 1).length > LONG_LINES;
  return (
    <div className="text-block">
      <pre id={id} dir="auto" className={`text ${isLong && !isOpen ? `folded ${isFromEnd ? "from-end" : ""}` : ""}`}>
        {visibleText(text)}
      </pre>
      <div className="row">
        {isLong && (
          <button
            type="button"
            className="button plain small"
            aria-expanded={isOpen}
            aria-controls={id}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? WORDS.fold : WORDS.unfold}
          </button>
        )}
        {children}
      </div>
    </div>
  );
}
