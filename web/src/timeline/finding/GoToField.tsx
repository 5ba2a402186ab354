/** Goes to an entry by its number, or to the first one at or behind a time. */
import type { OutlineEntry } from "@pagefault/client";
import { type RefObject, useState } from "react";

import { FINDING } from "../../words/finding";

interface GoToFieldProps {
  /** Those that are shown. */
  readonly entries: readonly OutlineEntry[];
  /** The highest number of the session. */
  readonly newest: number;
  /** All entries above this number are there. */
  readonly lower: number;
  /** The number of the entry that is read. */
  readonly current: number;
  readonly field: RefObject<HTMLInputElement | null>;
  readonly goTo: (seq: number) => void;
  /** Says why another entry, or none, was gone to; undefined if there is nothing to say. */
  readonly say: (note: string | undefined) => void;
}

export function GoToField(props: GoToFieldProps) {
  const { field, goTo, say } = props;
  const [text, setText] = useState("");

  function go() {
    const asked = /^#?([0-9]{1,15})$/.exec(text.trim())?.[1];
    const seq = asked === undefined ? seqAt(text.trim(), props) : shownSeq(Number(asked), props);
    const isAnother = seq !== undefined && asked !== undefined && seq !== Number(asked);
    say(seq === undefined ? FINDING.noTime : isAnother ? FINDING.notShown(asked) : undefined);
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
        placeholder={FINDING.goTo}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={({ key }) => key === "Escape" && field.current?.blur()}
      />
      <button type="submit" className="button">
        {FINDING.go}
      </button>
    </form>
  );
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}[T ]\d{1,2}:\d{2}(?::\d{2})?$/;
const CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/;

type Where = Pick<GoToFieldProps, "entries" | "newest" | "lower" | "current">;

/** The entry that `640`, `#640`, `14:05` or a day means. */
export function placeIn(text: string, where: Where): number | undefined {
  const number = /^#?([0-9]{1,15})$/.exec(text)?.[1];
  return number === undefined ? seqAt(text, where) : shownSeq(Number(number), where);
}

/** The entry of a number, or, where the filter hides it, the next that is shown. */
function shownSeq(number: number, { entries, newest, lower }: Where): number | undefined {
  if (number < 1 || number > newest) return undefined;
  // What is not there yet is waited for.
  if (number <= lower) return number;
  return (entries.find(({ seq }) => seq >= number) ?? entries.at(-1))?.seq;
}

/** The entry that `14:05`, `2026-11-21` or `2026-11-21 14:05` means. */
function seqAt(text: string, { entries, current }: Where): number | undefined {
  const last = entries.at(-1);
  if (last === undefined) return undefined;
  const wanted = momentIn(text, entries.find(({ seq }) => seq >= current) ?? last);
  if (wanted === undefined) return undefined;
  return (entries.find(({ createdAt }) => Date.parse(createdAt) >= wanted) ?? last).seq;
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
