/** The arguments of a call in a line, and all of them when that is opened. */
import { visibleName } from "@pagefault/react";

import { JsonText } from "../../json/JsonDetails";
import { STEP } from "../../words/timeline";

const MOST_IN_A_LINE = 160;

export function CallArguments({ source }: { source: string | undefined }) {
  const json = source === undefined ? undefined : unquoted(source);
  const compact = json?.replaceAll(/\s*\n\s*/g, " ") ?? "{}";
  if (json === undefined || compact === "{}") {
    return <p className="call-arguments small quiet">{STEP.noArguments}</p>;
  }
  const line = visibleName(compact.slice(0, MOST_IN_A_LINE));
  return (
    <details className="call-arguments">
      <summary>
        <span className="unseen">{STEP.arguments} </span>
        <code>{compact.length > MOST_IN_A_LINE ? `${line}…` : line}</code>
      </summary>
      <JsonText source={json} />
    </details>
  );
}

/** Arguments that are JSON in a string, as the JSON that they are. */
export function unquoted(source: string): string {
  if (!source.startsWith('"')) return source;
  const text = String(JSON.parse(source));
  try {
    JSON.parse(text);
    return text;
  } catch {
    return source;
  }
}
