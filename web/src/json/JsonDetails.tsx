/** JSON on demand: written out only when it is opened. */
import { laidOut } from "@pagefault/client/json";
import { visibleText } from "@pagefault/react";
import { useState } from "react";

import { JsonTree } from "../reading/JsonTree";
import { numberText } from "../shared/formats";
import { READING } from "../words/reading";
import { ENTRY } from "../words/timeline";
import "../reading/reading.css";

interface JsonDetailsProps {
  readonly title: string;
  /** The JSON as it was received. */
  readonly source: string;
}

const MOST_SHOWN = 500_000;

export function JsonDetails({ title, source }: JsonDetailsProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="json" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && <JsonText source={source} />}
    </details>
  );
}

export function JsonText({ source }: { source: string }) {
  const [isRaw, setRaw] = useState(false);
  return (
    <div className="text-block">
      {isRaw ? <RawJson source={source} /> : <JsonTree source={source} />}
      <button
        type="button"
        className="button plain small"
        aria-pressed={isRaw}
        onClick={() => setRaw(!isRaw)}
      >
        {isRaw ? READING.formatted : READING.asWritten}
      </button>
    </div>
  );
}

function RawJson({ source }: { source: string }) {
  const text = visibleText(laidOut(source));
  return (
    <>
      <pre className="json-text" tabIndex={0} aria-label={ENTRY.json}>
        {text.slice(0, MOST_SHOWN)}
      </pre>
      {text.length > MOST_SHOWN && (
        <p className="quiet small">
          {READING.cut(numberText(MOST_SHOWN), numberText(text.length))}
        </p>
      )}
    </>
  );
}
