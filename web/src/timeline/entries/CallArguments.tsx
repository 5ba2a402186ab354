/** The arguments of a call in a line, and all of them when that is opened. */
import { memberOf } from "@pagefault/client/json";
import { visibleName } from "@pagefault/react";

import { JsonText } from "../../json/JsonDetails";
import { CodeText } from "../../reading/CodeText";
import { patchBetween } from "../../reading/patches";
import { fileIn } from "../../reading/textContext";
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
      <Edit source={json} />
      <JsonText source={json} />
    </details>
  );
}

const LONGEST_EDIT = 50_000;
const EDITS = [
  ["old_string", "new_string"],
  ["old_str", "new_str"],
  ["oldText", "newText"],
] as const;

/** What a call replaces in a file, as the difference. */
function Edit({ source }: { source: string }) {
  const edit = EDITS.find((names) => names.every((name) => memberOf(source, name)?.startsWith('"')));
  if (edit === undefined || source.length > LONGEST_EDIT) return null;
  const [before, after] = edit.map((name) => `${JSON.parse(memberOf(source, name) ?? '""')}\n`);
  const name = fileIn(source) ?? "";
  const patch = patchBetween({ name, text: before ?? "" }, { name, text: after ?? "" });
  return patch === undefined ? null : <CodeText text={patch} language="diff" />;
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
