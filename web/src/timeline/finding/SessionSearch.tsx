/** Searches what the service has of a session: words of entries, pages and files. */
import type { SearchResult } from "@pagefault/client";
import { visibleName, visibleText } from "@pagefault/react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type RefObject, useState } from "react";
import { Link, useLocation, useNavigate } from "react-router";

import { pagefault } from "../../api/client";
import { Failure } from "../../shared/states";
import { useTyped } from "../../shared/useTyped";
import { FINDING } from "../../words/finding";
import type { GoToOptions } from "../useGoTo";

const MOST_HITS = 30;

interface SessionSearchProps {
  readonly sessionId: string;
  readonly field: RefObject<HTMLInputElement | null>;
  /** Whether the filter lets an entry be seen. */
  readonly isShown: (seq: number) => boolean;
  readonly goTo: (seq: number, options: GoToOptions) => void;
}

export function SessionSearch({ sessionId, field, isShown, goTo }: SessionSearchProps) {
  const navigate = useNavigate();
  const { search, hash } = useLocation();
  const asked = new URLSearchParams(search).get("find") ?? "";
  const [typed, setTyped] = useTyped(asked, (text) => {
    const changed = new URLSearchParams(search);
    if (text === "") changed.delete("find");
    else changed.set("find", text);
    void navigate({ search: `${changed}`, hash }, { replace: true, preventScrollReset: true });
  });
  const [isOpen, setOpen] = useState(false);

  return (
    <div
      className="find-search"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        setOpen(false);
        field.current?.blur();
      }}
    >
      <input
        ref={field}
        type="search"
        autoComplete="off"
        spellCheck={false}
        maxLength={1_000}
        aria-label={FINDING.search}
        placeholder={FINDING.search}
        value={typed}
        onFocus={() => setOpen(true)}
        onChange={({ target }) => {
          setTyped(target.value);
          setOpen(true);
        }}
      />
      {isOpen && asked !== "" && (
        <Hits
          sessionId={sessionId}
          asked={asked}
          isShown={isShown}
          onChosen={(seq) => {
            setOpen(false);
            goTo(seq, { unfiltered: !isShown(seq) });
          }}
        />
      )}
    </div>
  );
}

interface HitsProps {
  readonly sessionId: string;
  readonly asked: string;
  readonly isShown: (seq: number) => boolean;
  readonly onChosen: (seq: number) => void;
}

function Hits({ sessionId, asked, isShown, onChosen }: HitsProps) {
  const found = useQuery({
    queryKey: ["session-search", sessionId, asked],
    queryFn: async ({ signal }) => {
      const query = { q: asked, sessionId, limit: MOST_HITS };
      const answer = await pagefault().request("/api/search", { query, signal });
      return ((await answer.json()) as { items: SearchResult[] }).items;
    },
    placeholderData: keepPreviousData,
  });
  return (
    <div className="find-hits">
      {found.isError && <Failure failure={found.error} />}
      {found.data !== undefined && (
        <p className="small quiet" role="status">
          {FINDING.hits(found.data.length)}
        </p>
      )}
      <ol>
        {(found.data ?? []).map((hit) => (
          <li key={`${hit.kind} ${hit.id}`}>
            <HitView
              hit={hit}
              isHidden={hit.seq !== null && !isShown(hit.seq)}
              onChosen={onChosen}
            />
          </li>
        ))}
      </ol>
    </div>
  );
}

interface HitViewProps {
  readonly hit: SearchResult;
  /** Whether the filter hides it; it is taken away then. */
  readonly isHidden: boolean;
  readonly onChosen: (seq: number) => void;
}

function HitView({ hit, isHidden, onChosen }: HitViewProps) {
  const { seq } = hit;
  const said = (
    <>
      <span className="find-hit-title">
        {seq !== null && <code>#{seq}</code>} {visibleName(hit.title ?? hit.kind)}{" "}
        {isHidden && <span className="label">{FINDING.hidden}</span>}
      </span>
      {hit.snippet !== null && <span className="small">{visibleText(hit.snippet)}</span>}
    </>
  );
  if (seq === null) {
    return hit.pageId === null ? (
      <span className="find-hit">{said}</span>
    ) : (
      <Link className="find-hit" to={`/pages/${encodeURIComponent(hit.pageId)}`}>
        {said}
      </Link>
    );
  }
  return (
    <button
      type="button"
      className="find-hit"
      onClick={() => onChosen(seq)}
    >
      {said}
    </button>
  );
}
