/** Copies a text, and says so. */
import { useState } from "react";

import { READING } from "../words/reading";

export function CopyButton({ text, name }: { text: string; name: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <button
      type="button"
      className="button plain small copy"
      onBlur={() => setCopied(false)}
      onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
    >
      {isCopied ? <span role="status">{READING.copied}</span> : name}
    </button>
  );
}
