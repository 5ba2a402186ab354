/**
 * A text as it is best read: JSON as a tree, Markdown laid out, code, differences and terminals with their colours,
 * values as a table; and always, on demand, as it was written.
 */
import { FoldedText, type ShownTextProps } from "@pagefault/react";
import { useContext, useMemo, useState } from "react";

import { READING } from "../words/reading";
import { AnsiText } from "./AnsiText";
import { CodeText } from "./CodeText";
import { Folded } from "./Folded";
import { JsonTree } from "./JsonTree";
import { Markdown } from "./Markdown";
import { TableText } from "./TableText";
import { TextContext } from "./textContext";
import { type TextForm, type TextHints, formOf } from "./textForm";
import "./reading.css";

/** A longer one is laid out only when that is asked for. */
const LONGEST_AT_ONCE = 20_000;

export function RichText({ text, filename, mimeType, children }: ShownTextProps & TextHints) {
  const { filename: ofCall, isFailed } = useContext(TextContext);
  const named = filename ?? (isFailed ? undefined : ofCall);
  const form = useMemo(() => formOf(text, { mimeType, filename: named }), [text, mimeType, named]);
  const [isRaw, setRaw] = useState(form.kind === "markdown" && text.length > LONGEST_AT_ONCE);
  if (form.kind === "plain") {
    return (
      <FoldedText text={text} isFromEnd={isFailed}>
        {children}
      </FoldedText>
    );
  }
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
  if (isRaw) {
    return (
      <FoldedText text={text} isFromEnd={isFailed}>
        {controls}
      </FoldedText>
    );
  }
  return (
    <Folded controls={controls} isFromEnd={isFailed && form.kind === "ansi"}>
      <Formatted form={form} text={text} />
    </Folded>
  );
}

function Formatted({ form, text }: { form: TextForm; text: string }) {
  switch (form.kind) {
    case "json":
      return <JsonTree source={form.source} />;
    case "mixed":
      return (
        <div className="part">
          <FoldedText text={form.before} />
          <JsonTree source={form.source} />
          {form.after !== "" && <FoldedText text={form.after} />}
        </div>
      );
    case "table":
      return <TableText table={form.table} />;
    case "ansi":
      return <AnsiText text={text} />;
    case "code":
      return <CodeText text={text} language={form.language} />;
    case "diff":
      return <CodeText text={text} language="diff" />;
    default:
      return <Markdown text={text} />;
  }
}
