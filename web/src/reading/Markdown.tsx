/** Markdown laid out; as it was written until it has been read, and where that takes too long. */
import { visibleText } from "@pagefault/react";

import { READING } from "../words/reading";
import { TextTree } from "./TextTree";
import { useTextTree } from "./useTextTree";

export function Markdown({ text }: { text: string }) {
  const tree = useTextTree({ text });
  if (tree == null)
    return (
      <>
        {tree === null && <p className="small quiet">{READING.notLaidOut}</p>}
        <pre className="text">{visibleText(text)}</pre>
      </>
    );
  return (
    <div className="markdown" dir="auto">
      <TextTree nodes={tree} />
    </div>
  );
}
