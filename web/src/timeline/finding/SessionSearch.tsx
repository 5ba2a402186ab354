/** Searches a session: words of its entries, pages and files, the number of an entry, a time. */
import type { SearchResult } from "@pagefault/client";
import { visibleName, visibleText, withoutColours } from "@pagefault/react";
import { type KeyboardEvent, type RefObject, useContext, useEffect, useId, useRef, useState } from "react";
import { useNavigate } from "react-router";

import { nameOf } from "../../search/hitNames";
import { marked } from "../../search/marked";
import { Failure } from "../../shared/states";
import { FINDING } from "../../words/finding";
import { STEP } from "../../words/timeline";
import { SessionContext, modelPathAt } from "../sessionContext";
import { HasEvictionsContext } from "../useEvictions";
import type { GoToOptions } from "../useGoTo";
import type { SessionFind } from "./useSessionFind";
import "../../search/search.css";

interface SessionSearchProps {
  readonly find: SessionFind;
  readonly field: RefObject<HTMLInputElement | null>;
  /** The entry of a number or a time. */
  readonly seqOf: (text: string) => number | undefined;
  /** Whether the filter lets an entry be seen. */
  readonly isShown: (seq: number) => boolean;
  readonly goTo: (seq: number, options: GoToOptions) => void;
}

type Option =
  | { readonly kind: "place" | "model"; readonly seq: number }
  | { readonly kind: "hit"; readonly hit: SearchResult };

export function SessionSearch({ find, field, seqOf, isShown, goTo }: SessionSearchProps) {
  const { asked, typed, setTyped, hits, others, isFresh, failure } = find;
  const navigate = useNavigate();
  const sessionId = useContext(SessionContext);
  const hasEvictions = useContext(HasEvictionsContext);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const isDue = useRef(false);
  const id = useId();
  const place = seqOf(typed.trim());
  const options: readonly Option[] = [
    ...(place === undefined ? [] : [{ kind: "place" as const, seq: place }]),
    ...(place === undefined || !hasEvictions ? [] : [{ kind: "model" as const, seq: place }]),
    ...hits.map((hit) => ({ kind: "hit" as const, hit })),
  ];
  const isShownNow = isOpen && typed !== "";

  function choose(option: Option | undefined) {
    if (option === undefined) return;
    if (option.kind === "model") return void navigate(modelPathAt(sessionId, option.seq));
    const seq = option.kind === "hit" ? option.hit.seq : option.seq;
    const page = option.kind === "hit" ? option.hit.pageId : null;
    if (seq !== null) {
      setOpen(false);
      field.current?.blur();
      if (option.kind === "place") setTyped("");
      goTo(seq, { unfiltered: !isShown(seq) });
    } else if (page !== null) void navigate(`/pages/${encodeURIComponent(page)}`);
  }

  // Who presses Enter while the hits are on their way means the first of them.
  useEffect(() => {
    if (!isDue.current || !isFresh) return;
    isDue.current = false;
    choose(options[0]);
  });

  function pressed(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      setOpen(false);
      field.current?.blur();
    } else if (event.key === "Enter") {
      if (isFresh || place !== undefined) choose(options[active]);
      else isDue.current = true;
    } else if (step !== undefined && options.length > 0) {
      setOpen(true);
      setActive((active + step + options.length) % options.length);
    } else return;
    event.preventDefault();
  }

  return (
    <div className="find-search">
      <input
        ref={field}
        type="search"
        role="combobox"
        autoComplete="off"
        spellCheck={false}
        maxLength={1_000}
        aria-label={FINDING.search}
        aria-expanded={isShownNow}
        aria-controls={`${id}-hits`}
        aria-activedescendant={isShownNow && options.length > 0 ? `${id}-${active}` : undefined}
        placeholder={FINDING.searchHint}
        value={typed}
        onFocus={() => setOpen(true)}
        onKeyDown={pressed}
        onChange={({ target }) => {
          setTyped(target.value);
          setActive(0);
          setOpen(true);
        }}
      />
      {isShownNow && (
        <div className="find-hits">
          {failure !== null && <Failure failure={failure} />}
          {asked !== "" && failure === null && isFresh && (
            <p className="small quiet" role="status">
              {FINDING.hits(hits.length)}
              {others > 0 && ` ${FINDING.others(others)}`}
            </p>
          )}
          <ul id={`${id}-hits`} role="listbox" aria-label={FINDING.found}>
            {options.map((option, index) => (
              <OptionView
                key={index}
                id={`${id}-${index}`}
                isActive={index === active}
                isHidden={option.kind === "hit" && option.hit.seq !== null && !isShown(option.hit.seq)}
                onChosen={() => choose(option)}
                {...{ option, asked }}
              />
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

interface OptionViewProps {
  readonly id: string;
  readonly option: Option;
  readonly asked: string;
  readonly isActive: boolean;
  /** Whether the filter hides it; it is taken away then. */
  readonly isHidden: boolean;
  readonly onChosen: () => void;
}

function OptionView({ id, option, asked, isActive, isHidden, onChosen }: OptionViewProps) {
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isActive) row.current?.scrollIntoView({ block: "nearest" });
  }, [isActive]);
  return (
    <li
      ref={row}
      id={id}
      role="option"
      aria-selected={isActive}
      className="find-hit"
      // The field keeps the focus.
      onMouseDown={(event) => event.preventDefault()}
      onClick={onChosen}
    >
      {option.kind !== "hit" ? (
        <span className="find-hit-title">
          {(option.kind === "place" ? FINDING.place : STEP.unseenAt)(option.seq)}
        </span>
      ) : (
        <Hit hit={option.hit} {...{ asked, isHidden }} />
      )}
    </li>
  );
}

function Hit({ hit, asked, isHidden }: { hit: SearchResult } & Pick<OptionViewProps, "asked" | "isHidden">) {
  const { seq, title, kind, snippet, pageId } = hit;
  const name = title === null ? kind : nameOf(hit);
  return (
    <>
      <span className="find-hit-title">
        {seq !== null && <code>#{seq}</code>} {visibleName(name)}{" "}
        {isHidden && <span className="label">{FINDING.hidden}</span>}
        {seq === null && pageId !== null && <span className="label">{FINDING.page}</span>}
      </span>
      {snippet !== null && (
        <span className="small">{marked(visibleText(withoutColours(snippet)), asked)}</span>
      )}
    </>
  );
}
