/** What to list: words and a session, asked for together; a modality and the pinned, at once. */
import { useEffect, useState, type FormEvent } from "react";

import { MODALITIES } from "./pageWords";
import type { PageFilter } from "./usePages";

interface Props {
  asked: PageFilter;
  onAsk: (filter: PageFilter) => void;
}

export function PageFilters({ asked, onAsk }: Props) {
  const [chosen, setChosen] = useState(asked);
  const { words, modality, session, isPinned } = asked;

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
      <form className="page-filters" onSubmit={submit}>
        <label className="page-words">
          Words
          <input
            type="search"
            value={chosen.words}
            maxLength={1000}
            placeholder='budget "a phrase" begin*'
            onChange={(event) => setChosen({ ...chosen, words: event.target.value })}
          />
        </label>
        <label>
          Session
          <input
            type="text"
            value={chosen.session}
            maxLength={128}
            autoComplete="off"
            spellCheck={false}
            placeholder="any"
            onChange={(event) => setChosen({ ...chosen, session: event.target.value })}
          />
        </label>
        <label>
          Modality
          <select
            value={chosen.modality ?? ""}
            onChange={(event) => {
              const modality = MODALITIES.find((each) => each === event.target.value) ?? null;
              ask({ ...chosen, modality });
            }}
          >
            <option value="">any</option>
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
            title={words === "" ? undefined : "A search does not know what is pinned"}
            onChange={(event) => ask({ ...chosen, isPinned: event.target.checked })}
          />
          pinned only
        </label>
        <button type="submit" className="button">
          Search
        </button>
      </form>
    </search>
  );
}
