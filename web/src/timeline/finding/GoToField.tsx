/** Goes to an entry by its number, or to the first one at or behind a time. */
import type { OutlineEntry } from "@pagefault/client";
import { type RefObject, useId, useState } from "react";

import { FINDING } from "../../words/finding";

interface GoToFieldProps {
  readonly outline: readonly OutlineEntry[];
  /** The number of the entry that is read. */
  readonly current: number;
  readonly field: RefObject<HTMLInputElement | null>;
  readonly goTo: (seq: number) => void;
}

export function GoToField({ outline, current, field, goTo }: GoToFieldProps) {
  const [text, setText] = useState("");
  const [isRefused, setRefused] = useState(false);
  const noteId = useId();

  function go() {
    const seq = seqAt(text.trim(), outline, current);
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

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}[T ]\d{1,2}:\d{2}(?::\d{2})?$/;
const CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/;

/** The entry that `16`, `#16`, `14:05`, `2026-11-21` or `2026-11-21 14:05` means. */
function seqAt(
  text: string,
  outline: readonly OutlineEntry[],
  current: number,
): number | undefined {
  const last = outline.at(-1);
  const number = /^#?([0-9]{1,15})$/.exec(text)?.[1];
  if (last === undefined) return undefined;
  if (number !== undefined) return Number(number) <= last.seq ? Number(number) : undefined;
  const wanted = momentIn(text, outline.find(({ seq }) => seq >= current) ?? last);
  if (wanted === undefined) return undefined;
  return (outline.find(({ createdAt }) => Date.parse(createdAt) >= wanted) ?? last).seq;
}

/** A time alone is one of the day that is read. */
function momentIn(text: string, present: OutlineEntry): number | undefined {
  const [isClock, hours, minutes, seconds] = CLOCK.exec(text) ?? [];
  if (isClock !== undefined) {
    const moment = new Date(present.createdAt);
    return moment.setHours(Number(hours), Number(minutes), Number(seconds ?? 0), 0);
  }
  if (!DAY.test(text) && !MOMENT.test(text)) return undefined;
  const moment = Date.parse(DAY.test(text) ? `${text}T00:00` : text.replace(" ", "T"));
  return Number.isNaN(moment) ? undefined : moment;
}
