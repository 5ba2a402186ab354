/** JSON on demand: written out only when it is opened. */
import { laidOut } from "@pagefault/client/json";
import { visibleText } from "@pagefault/react";
import { useState } from "react";

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
  const text = visibleText(laidOut(source));
  return (
    <>
      <pre className="json-text" tabIndex={0} aria-label="JSON">
        {text.slice(0, MOST_SHOWN)}
      </pre>
      {text.length > MOST_SHOWN && (
        <p className="quiet small">
          Shown: the first {MOST_SHOWN} of {text.length} characters.
        </p>
      )}
    </>
  );
}
