/** The tags and the note of the open session, to be read and changed in place. */
import type { SessionRecord } from "@pagefault/client";
import { visibleName, visibleText } from "@pagefault/react";
import { type FormEvent, type KeyboardEvent, useState } from "react";
import { flushSync } from "react-dom";

import { MARKS } from "../words/sessions";
import { PinButton } from "./PinButton";
import { TagLink } from "./TagLink";
import { type useMarking } from "./marks";

interface SessionMarksProps {
  readonly session: SessionRecord;
  readonly marking: ReturnType<typeof useMarking>;
}

// As the service takes them.
const TAG = "[a-z0-9][a-z0-9._:\\/\\-]{0,63}";
const LONGEST_NOTE = 4_000;

export function SessionMarks({ session, marking }: SessionMarksProps) {
  const [edited, setEdited] = useState<"tag" | "note">();
  const { tags = [], note, pinned = false } = session;
  const isNoted = typeof note === "string";

  /** Close what is edited; what opened it has the focus again. */
  function close(opener: string) {
    flushSync(() => setEdited(undefined));
    document.getElementById(opener)?.focus();
  }

  async function save(change: Parameters<typeof marking.mutateAsync>[0], opener: string) {
    // The failure is shown below, and what was written stays in its field.
    await marking.mutateAsync(change).then(
      () => close(opener),
      () => undefined,
    );
  }

  function addTag(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const tag = `${new FormData(event.currentTarget).get("tag")}`.trim();
    void save(({ tags: known = [] }) => ({ tags: [...known, tag] }), "add-tag");
  }

  function saveNote(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const text = `${new FormData(event.currentTarget).get("note")}`.trim();
    void save({ note: text === "" ? null : text }, "edit-note");
  }

  const cancelOnEscape = (opener: string) => (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close(opener);
  };

  return (
    <div className="session-marks small">
      <PinButton
        name={visibleName(session.title ?? session.id)}
        isPinned={pinned}
        isBusy={marking.isPending}
        onPin={(isPinned) => marking.mutate({ pinned: isPinned })}
      />
      {tags.length > 0 && (
        <ul className="row" aria-label={MARKS.tags}>
          {tags.map((tag) => (
            <li key={tag} className="tag-chip">
              <TagLink tag={tag} />
              <button
                type="button"
                className="tag-remove"
                aria-label={MARKS.removeTag(visibleName(tag))}
                title={MARKS.removeTag(visibleName(tag))}
                onClick={() =>
                  marking.mutate(({ tags: known = [] }) => ({
                    tags: known.filter((each) => each !== tag),
                  }))
                }
              >
                <span aria-hidden="true">×</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {edited === "tag" ? (
        <form className="row" onSubmit={addTag} onKeyDown={cancelOnEscape("add-tag")}>
          <input
            autoFocus
            required
            type="text"
            name="tag"
            className="tag-field"
            aria-label={MARKS.newTag}
            placeholder={MARKS.newTag}
            pattern={TAG}
            title={MARKS.tagRule}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
          />
          <button type="submit" className="button plain small" disabled={marking.isPending}>
            {MARKS.add}
          </button>
        </form>
      ) : (
        <button
          type="button"
          id="add-tag"
          className="button plain small"
          onClick={() => setEdited("tag")}
        >
          {MARKS.addTag}
        </button>
      )}
      {edited === "note" ? (
        <form className="note-form" onSubmit={saveNote} onKeyDown={cancelOnEscape("edit-note")}>
          <textarea
            autoFocus
            name="note"
            rows={3}
            maxLength={LONGEST_NOTE}
            aria-label={MARKS.note}
            defaultValue={note ?? ""}
          />
          <span className="row">
            <button type="submit" className="button small" disabled={marking.isPending}>
              {MARKS.save}
            </button>
            <button
              type="button"
              className="button plain small"
              onClick={() => close("edit-note")}
            >
              {MARKS.cancel}
            </button>
          </span>
        </form>
      ) : (
        <button
          type="button"
          id="edit-note"
          className={isNoted ? "note" : "button plain small"}
          title={isNoted ? MARKS.editNote : undefined}
          onClick={() => setEdited("note")}
        >
          {isNoted ? visibleText(note) : MARKS.addNote}
        </button>
      )}
    </div>
  );
}
