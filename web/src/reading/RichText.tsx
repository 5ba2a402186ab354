/**
 * A text as it is best read: JSON as a tree, Markdown laid out, a difference with its lines
 * coloured; and always, on demand, as it was written.
 */
import { FoldedText } from "@pagefault/react";
import { type ReactNode, useMemo, useState } from "react";

import { READING } from "../words/reading";
import { CodeText } from "./CodeText";
import { JsonTree } from "./JsonTree";
import { Markdown } from "./Markdown";
import { Folded } from "./Folded";
import { type TextKind, kindOf } from "./textKind";
import "./reading.css";

/** A longer one is laid out only when that is asked for. */
const LONGEST_AT_ONCE = 20_000;

interface RichTextProps {
  readonly text: string;
  /** What else can be done with the text. */
  readonly children?: ReactNode;
}

export function RichText({ text, children }: RichTextProps) {
  const kind = useMemo(() => kindOf(text), [text]);
  const [isRaw, setRaw] = useState(kind === "markdown" && text.length > LONGEST_AT_ONCE);
  if (kind === "plain") return <FoldedText text={text}>{children}</FoldedText>;
  const controls = (
    <>
      <button
        type="button"
        className="button plain small"
        aria-pressed={isRaw}
        onClick={() => setRaw(!isRaw)}
      >
        {isRaw ? READING.formatted : READING.asWritten}
      </button>
      {children}
    </>
  );
  if (isRaw) return <FoldedText text={text}>{controls}</FoldedText>;
  return (
    <Folded controls={controls}>
      <Formatted kind={kind} text={text} />
    </Folded>
  );
}

function Formatted({ kind, text }: { kind: Exclude<TextKind, "plain">; text: string }) {
  if (kind === "json") return <JsonTree source={text} />;
  if (kind === "diff") return <CodeText text={text} language="diff" />;
  return <Markdown text={text} />;
}
