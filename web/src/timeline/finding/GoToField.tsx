/** Goes to an entry by its number, or to the first one at or behind a time. */
import type { OutlineEntry } from "@pagefault/client";
import { type RefObject, useId, useState } from "react";

import { FINDING } from "../../words/finding";
import { useGoTo } from "../useGoTo";

interface GoToFieldProps {
  readonly outline: readonly OutlineEntry[];
  readonly field: RefObject<HTMLInputElement | null>;
}

export function GoToField({ outline, field }: GoToFieldProps) {
  const [text, setText] = useState("");
  const [isRefused, setRefused] = useState(false);
  const noteId = useId();
  const goTo = useGoTo();

  function go() {
    const seq = seqAt(text.trim(), outline);
    setRefused(seq === undefined);
    if (seq === undefined) return;
    setText("");
    field.current?.blur();
    goTo(seq);
  }

  return (
    <form
      className="find-go"
      onSubmit={(event) => {
        event.preventDefault();
        go();
      }}
    >
      <input
        ref={field}
        type="text"
        autoComplete="off"
        spellCheck={false}
        aria-label={FINDING.goToLabel}
        aria-describedby={isRefused ? noteId : undefined}
        placeholder={FINDING.goTo}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={({ key }) => key === "Escape" && field.current?.blur()}
      />
      <button type="submit" className="button">
        {FINDING.go}
      </button>
      {isRefused && (
        <span id={noteId} role="alert" className="small find-note">
          {FINDING.noTime}
        </span>
      )}
    </form>
  );
}

/** The entry that `16`, `#16`, `14:05`, `2026-11-21` or `2026-11-21 14:05` means. */
function seqAt(text: string, outline: readonly OutlineEntry[]): number | undefined {
  const number = /^#?([0-9]{1,15})$/.exec(text)?.[1];
  if (number !== undefined) return Number(number);
  const first = outline[0];
  if (first === undefined || text === "") return undefined;
  if (/^[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?$/.test(text)) {
    return outline.find(({ createdAt }) => clockOf(new Date(createdAt)) >= padded(text))?.seq;
  }
  const wanted = Date.parse(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text) ? `${text}T00:00` : text);
  if (Number.isNaN(wanted)) return undefined;
  return outline.find(({ createdAt }) => Date.parse(createdAt) >= wanted)?.seq ?? outline.at(-1)?.seq;
}

function clockOf(moment: Date): string {
  return [moment.getHours(), moment.getMinutes(), moment.getSeconds()]
    .map((part) => `${part}`.padStart(2, "0"))
    .join(":");
}

function padded(text: string): string {
  return text.padStart(text.indexOf(":") === 1 ? text.length + 1 : text.length, "0");
}
