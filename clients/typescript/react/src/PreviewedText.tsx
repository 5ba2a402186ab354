/** The text of a part. Where a record holds a preview only, the whole is read from its resource. */
import type { ResourceDescriptor } from "@pagefault/client";
import { useState } from "react";

import { useTextViews } from "./context.ts";
import { FoldedText } from "./FoldedText.tsx";
import { fileSize } from "./measures.ts";
import { StoredText } from "./StoredText.tsx";
import { WORDS } from "./words.ts";

/** The line with which the service replaces the omitted part of a long text. */
const LEFT_OUT = /\n\[… (\d+) characters left out; the whole text is blob:([0-9a-f]{32}) …\]\n/;

interface PreviewedTextProps {
  readonly text: string;
  readonly resources: readonly ResourceDescriptor[];
}

export function PreviewedText({ text, resources }: PreviewedTextProps) {
  const [isWhole, setWhole] = useState(false);
  const { Text = FoldedText, Stored = StoredText } = useTextViews();
  const whole = wholeOf(text, resources);
  if (whole === undefined) return text === "" ? null : <Text text={text} />;
  const button = (
    <button
      type="button"
      className="button plain small"
      aria-expanded={isWhole}
      onClick={() => setWhole(!isWhole)}
    >
      {isWhole ? WORDS.preview : WORDS.loadAll(fileSize(whole.size))}
    </button>
  );
  if (!isWhole) return <Text text={text}>{button}</Text>;
  return (
    <div className="text-block">
      <Stored id={whole.id} />
      {button}
    </div>
  );
}

function wholeOf(text: string, resources: readonly ResourceDescriptor[]) {
  const id = LEFT_OUT.exec(text)?.[2];
  // A tool may write such a line itself; then the record knows no text of that id.
  const whole = resources.find(({ uri, kind }) => kind === "text" && uri === `blob:${id}`);
  return id === undefined || whole === undefined ? undefined : { id, size: whole.size };
}
