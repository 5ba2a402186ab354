/** Copies a text, and says so. */
import { useState } from "react";

import { READING } from "../words/reading";

interface CopyButtonProps {
  /** The text, or what reads it when it is wanted. */
  readonly text: string | (() => Promise<string>);
  readonly name: string;
}

export function CopyButton({ text, name }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  async function copy() {
    await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
    setCopied(true);
  }

  return (
    <button
      type="button"
      className="button plain small copy"
      onBlur={() => setCopied(false)}
      onClick={() => void copy()}
    >
      {isCopied ? <span role="status">{READING.copied}</span> : name}
    </button>
  );
}
