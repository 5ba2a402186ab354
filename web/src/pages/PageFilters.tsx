/** What to list: words and a session, asked for together; a modality and the pinned, at once. */
import { useEffect, useState, type FormEvent } from "react";

import { MODALITIES } from "./pageWords";
import type { PageFilter } from "./usePages";
import { useSkipTarget } from "../shell/skipTargets";
import { PAGES } from "../words/pages";
import { SHELL } from "../words/shell";

interface Props {
  asked: PageFilter;
  onAsk: (filter: PageFilter) => void;
}

export function PageFilters({ asked, onAsk }: Props) {
  const [chosen, setChosen] = useState(asked);
  const { words, modality, session, isPinned } = asked;
  useSkipTarget("filters", SHELL.skipTo.filters);

  // What is typed and not yet asked for gives way when the address changes.
  useEffect(() => {
    setChosen({ words, modality, session, isPinned });
  }, [words, modality, session, isPinned]);

  function ask(next: PageFilter) {
    setChosen(next);
    onAsk({ ...next, words: next.words.trim(), session: next.session.trim() });
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    ask(chosen);
  }

  return (
    <search>
      <form id="filters" className="page-filters" aria-label={PAGES.filters} onSubmit={submit}>
        <label className="page-words">
          {PAGES.words}
          <input
            type="search"
            value={chosen.words}
            maxLength={1000}
            placeholder={PAGES.wordsHint}
            onChange={(event) => setChosen({ ...chosen, words: event.target.value })}
          />
        </label>
        <label>
          {PAGES.session}
          <input
            type="text"
            value={chosen.session}
            maxLength={128}
            autoComplete="off"
            spellCheck={false}
            placeholder={PAGES.any}
            onChange={(event) => setChosen({ ...chosen, session: event.target.value })}
          />
        </label>
        <label>
          {PAGES.modality}
          <select
            value={chosen.modality ?? ""}
            onChange={(event) => {
              const modality = MODALITIES.find((each) => each === event.target.value) ?? null;
              ask({ ...chosen, modality });
            }}
          >
            <option value="">{PAGES.any}</option>
            {MODALITIES.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <label className="page-pinned">
          <input
            type="checkbox"
            checked={chosen.isPinned}
            disabled={words !== ""}
            title={words === "" ? undefined : PAGES.noPinnedSearch}
            onChange={(event) => ask({ ...chosen, isPinned: event.target.checked })}
          />
          {PAGES.pinnedOnly}
        </label>
        <button type="submit" className="button">
          {PAGES.search}
        </button>
      </form>
    </search>
  );
}
