/** Views, keys and sessions by their names, opened by Ctrl-K or Command-K. */
import { visibleName } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { useNavigate } from "react-router";

import { pagefault } from "../api/client";
import { KEYS } from "../words/keys";
import { useKnownKeys } from "./useKeys";

interface Command {
  readonly name: string;
  readonly key?: string | null;
  readonly run: () => void;
}

interface CommandListProps {
  readonly views: readonly { readonly to: string; readonly name: string }[];
}

const MOST_SESSIONS = 8;

export function CommandList({ views }: CommandListProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const navigate = useNavigate();
  const keys = useKnownKeys();
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState(0);
  const id = useId();
  const sessions = useQuery({
    queryKey: ["sessions", "commands", typed],
    queryFn: async ({ signal }) => {
      const list = pagefault().sessions.list({ limit: MOST_SESSIONS, q: typed || undefined, signal });
      return (await list.slice(null)).items;
    },
    enabled: isOpen,
  });
  const go = (to: string) => () => void navigate(to);
  const commands: readonly Command[] = [
    ...views.map(({ to, name }) => ({ name, run: go(to) })),
    ...keys.map(({ key, said, run }) => ({ name: said, key, run })),
  ].filter(({ name }) => name.toLowerCase().includes(typed.trim().toLowerCase()));
  const found: readonly Command[] = (sessions.data ?? []).map((session) => ({
    name: visibleName(session.title ?? session.id),
    run: go(`/sessions/${encodeURIComponent(session.id)}`),
  }));
  const all = [...commands, ...found];

  useEffect(() => {
    const pressed = (event: globalThis.KeyboardEvent) => {
      if (event.key !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      if (document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      setTyped("");
      setActive(0);
      setOpen(true);
      dialog.current?.showModal();
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);

  function choose(command: Command | undefined) {
    dialog.current?.close();
    command?.run();
  }

  function move(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") choose(all[active]);
    else if (step !== undefined && all.length > 0) setActive((active + step + all.length) % all.length);
    else return;
    event.preventDefault();
  }

  return (
    <dialog
      ref={dialog}
      className="keys-dialog commands"
      aria-label={KEYS.commands}
      // The event comes in a task of its own: the dialog may be open again by then.
      onClose={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      {isOpen && (
        <>
          <input
            type="search"
            role="combobox"
            autoFocus
            autoComplete="off"
            aria-label={KEYS.commands}
            aria-expanded={true}
            aria-controls={`${id}-list`}
            aria-activedescendant={all.length > 0 ? `${id}-${active}` : undefined}
            placeholder={KEYS.commandsHint}
            value={typed}
            onChange={({ target }) => {
              setTyped(target.value);
              setActive(0);
            }}
            onKeyDown={move}
          />
          <ul id={`${id}-list`} role="listbox" aria-label={KEYS.commands}>
            {all.map((command, index) => (
              <li
                key={index}
                id={`${id}-${index}`}
                ref={index === active ? scrollTo : undefined}
                role="option"
                aria-selected={index === active}
                onMouseDown={(event) => event.preventDefault()}
                onMouseMove={() => setActive(index)}
                onClick={() => choose(command)}
              >
                {command.name} {command.key != null && <kbd>{command.key}</kbd>}
              </li>
            ))}
          </ul>
          {all.length === 0 && <p className="quiet">{KEYS.noCommand}</p>}
        </>
      )}
    </dialog>
  );
}

function scrollTo(row: HTMLElement | null): void {
  row?.scrollIntoView({ block: "nearest" });
}
