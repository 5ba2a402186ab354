/** A text with the colours of a terminal; all other escapes in it are shown as what they are. */
import { visibleText } from "@pagefault/react";
import { useMemo } from "react";

import { ansiSpans } from "./ansiSpans";

export function AnsiText({ text }: { text: string }) {
  const spans = useMemo(() => ansiSpans(text), [text]);
  return (
    <pre className="text" dir="auto">
      {spans.map(({ text: words, className }, index) =>
        className === "" ? (
          visibleText(words)
        ) : (
          <span key={index} className={className}>
            {visibleText(words)}
          </span>
        ),
      )}
    </pre>
  );
}
