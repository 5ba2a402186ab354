/** Code with its words coloured, where its language is known. What colours it is loaded when it is needed. */
import { visibleText } from "@pagefault/react";
import { type ReactNode, useEffect, useState } from "react";

import type { Coloured } from "./colours";

const LONGEST_COLOURED = 100_000;

interface CodeTextProps {
  readonly text: string;
  readonly language?: string | undefined;
}

export function CodeText({ text, language }: CodeTextProps) {
  const [coloured, setColoured] = useState<readonly Coloured[]>();

  useEffect(() => {
    if (language === undefined || text.length > LONGEST_COLOURED) return undefined;
    let isOver = false;
    void import("./colours").then(({ colour }) => {
      if (!isOver) setColoured(colour(text, language));
    });
    return () => {
      isOver = true;
    };
  }, [text, language]);

  return (
    <pre className="code" dir="ltr" tabIndex={0} data-language={language}>
      <code>{coloured === undefined ? visibleText(text) : coloured.map(drawn)}</code>
    </pre>
  );
}

function drawn(piece: Coloured, index: number): ReactNode {
  if (typeof piece === "string") return visibleText(piece);
  return (
    <span key={index} className={piece.className}>
      {piece.children.map(drawn)}
    </span>
  );
}
