/**
 * The text of a part of which the record has a preview only. JSON is read whole when it comes near, since a preview of
 * it is none; other texts when that is asked for.
 */
import { type PreviewedTextProps, fileSize, useNearViewport } from "@pagefault/react";
import { useRef, useState } from "react";

import { READING } from "../words/reading";
import { ReadableText, useWholeText } from "./ReadableText";
import { RichText } from "./RichText";
import { LONGEST_JSON, beginsAsJson, formOf } from "./textForm";

export function PreviewedText({ text, whole, filename }: PreviewedTextProps) {
  const box = useRef<HTMLDivElement>(null);
  const isNear = useNearViewport(box);
  const mayBeJson = whole.size <= LONGEST_JSON && beginsAsJson(text);
  const read = useWholeText(whole.id, isNear && mayBeJson);
  const [isOpen, setOpen] = useState(false);
  if (mayBeJson && read.data !== undefined && formOf(read.data).kind === "json") {
    return <RichText text={read.data} filename={filename} />;
  }
  const button = (
    <button
      type="button"
      className="button plain small"
      aria-expanded={isOpen}
      onClick={() => setOpen(!isOpen)}
    >
      {isOpen ? READING.preview : READING.loadAll(fileSize(whole.size))}
    </button>
  );
  return (
    <div ref={box} className="part">
      {isOpen ? (
        <>
          <ReadableText {...whole} preview={text} filename={filename} />
          <div className="row">{button}</div>
        </>
      ) : (
        <RichText text={text} filename={filename}>
          {button}
        </RichText>
      )}
    </div>
  );
}
