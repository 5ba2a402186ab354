/** The text of a resource in pieces, and a search in all of it, which the service does. */
import type { TextMatches, TextPiece } from "@pagefault/client";
import { Failure, StoredText, visibleText } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { pagefault } from "../api/client";
import { numberText } from "../shared/formats";
import { READING } from "../words/reading";

const MOST_MATCHES = 500;
const AROUND = 10;

export function SearchedText({ id }: { id: string }) {
  const [typed, setTyped] = useState("");
  const [asked, setAsked] = useState("");
  return (
    <div className="searched-text">
      <form
        className="row"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(typed);
        }}
      >
        <input
          type="search"
          aria-label={READING.find}
          placeholder={READING.find}
          maxLength={200}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
        <button type="submit" className="button">
          {READING.findButton}
        </button>
      </form>
      {asked !== "" && <Matches id={id} asked={asked} />}
      <StoredText id={id} />
    </div>
  );
}

type Matched = TextMatches["matches"];

function Matches({ id, asked }: { id: string; asked: string }) {
  const [opened, setOpened] = useState<number>();
  const found = useQuery({
    queryKey: ["grep", id, asked],
    queryFn: ({ signal }) => matchesOf(id, asked, signal),
  });
  if (found.isError) return <Failure failure={found.error} />;
  if (found.data === undefined) return null;
  const { matches, total } = found.data;
  return (
    <div className="matches">
      <p className="small quiet" role="status">
        {READING.matches(numberText(total), total)}
        {total > matches.length && ` ${READING.firstMatches(numberText(matches.length))}`}
      </p>
      <ol tabIndex={0} aria-label={READING.lines}>
        {matches.map(({ line, text }) => (
          <li key={line}>
            <button
              type="button"
              className="button plain small"
              aria-expanded={opened === line}
              onClick={() => setOpened(opened === line ? undefined : line)}
            >
              {READING.line(numberText(line))}
            </button>{" "}
            <code>{visibleText(text)}</code>
            {opened === line && <Around id={id} line={line} />}
          </li>
        ))}
      </ol>
    </div>
  );
}

/** The lines around a match. */
function Around({ id, line }: { id: string; line: number }) {
  const lines = `${Math.max(1, line - AROUND)}-${line + AROUND}`;
  const read = useQuery({
    queryKey: ["lines", id, lines],
    queryFn: async ({ signal }) => {
      const piece = await pagefault().resources.text(id, { lines }, { signal });
      return "text" in piece ? piece.text : "";
    },
  });
  if (read.isError) return <Failure failure={read.error} />;
  return <pre className="code">{visibleText(read.data ?? "")}</pre>;
}

async function matchesOf(id: string, asked: string, signal: AbortSignal) {
  const matches: Matched[number][] = [];
  let total = 0;
  let from: number | null = 1;
  while (from !== null && matches.length < MOST_MATCHES) {
    const lines: string = `${from}-`;
    const read: TextPiece = await pagefault().resources.text(
      id,
      { grep: asked, ignoreCase: true, lines },
      { signal },
    );
    if (!("matches" in read)) break;
    if (from === 1) total = read.totalMatches;
    matches.push(...read.matches);
    from = read.nextLine;
  }
  return { matches: matches.slice(0, MOST_MATCHES), total };
}
