/** The text of a part. Where a record holds a preview only, the whole is read from its resource. */
import type { ResourceDescriptor, TextPart } from "@pagefault/client";
import { useState } from "react";

import { type PreviewedTextProps, useTextViews } from "./context.ts";
import { FoldedText } from "./FoldedText.tsx";
import { fileSize } from "./measures.ts";
import { StoredText } from "./StoredText.tsx";
import { WORDS } from "./words.ts";

/** The line with which the service replaces the omitted part of a long text. */
const LEFT_OUT = /\n\[… (\d+) characters left out; the whole text is blob:([0-9a-f]{32}) …\]\n/;

interface PartTextProps {
  readonly part: TextPart;
  readonly resources: readonly ResourceDescriptor[];
}

/** Few lines, of which some are those of `Origin`, describe a link. */
const MOST_LINES_OF_A_LINK = 8;

export function PartText({ part: { text: whatItSays, name, uri }, resources }: PartTextProps) {
  const { Text = FoldedText, Previewed = PreviewedText } = useTextViews();
  const lines = whatItSays.split("\n", MOST_LINES_OF_A_LINK + 1);
  const isLink = uri != null && lines.length <= MOST_LINES_OF_A_LINK && lines.includes(uri);
  const text = isLink ? lines.filter((line) => line !== uri && line !== name).join("\n") : whatItSays;
  const whole = wholeTextOf(text, resources);
  const filename = name ?? uri ?? undefined;
  if (whole !== undefined) return <Previewed {...{ text, whole, filename }} />;
  return text === "" ? null : <Text {...{ text, filename }} />;
}

export function PreviewedText({ text, whole, filename }: PreviewedTextProps) {
  const [isWhole, setWhole] = useState(false);
  const { Text = FoldedText, Stored = StoredText } = useTextViews();
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
      <Stored {...whole} preview={text} filename={filename} />
      {button}
    </div>
  );
}

/** Return the resource of which a text is a preview; undefined for a text that is whole. */
export function wholeTextOf(text: string, resources: readonly ResourceDescriptor[]) {
  const id = LEFT_OUT.exec(text)?.[2];
  // A tool may write such a line itself; then the record knows no text of that id.
  const whole = resources.find(({ uri, kind }) => kind === "text" && uri === `blob:${id}`);
  return id === undefined || whole === undefined ? undefined : { id, size: whole.size };
}
