/** Asks for the key, once a request was answered 401. */
import { useEffect, useRef, useState, type FormEvent } from "react";

import { giveKey, useAccess } from "./key";
import { ACCESS } from "../words/access";

export function KeyDialog() {
  const { isAsked, wasRefused } = useAccess();
  const dialog = useRef<HTMLDialogElement>(null);
  const [key, setKey] = useState("");
  const [isRemembered, setRemembered] = useState(false);

  useEffect(() => {
    if (isAsked) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isAsked]);

  function submit(event: FormEvent) {
    event.preventDefault();
    if (key.trim() === "") return;
    giveKey(key.trim(), isRemembered);
    setKey("");
  }

  return (
    <dialog
      ref={dialog}
      className="key-dialog"
      aria-labelledby="key-title"
      // A browser closes it at the second Escape, whatever the page says; nothing can be read then.
      onCancel={(event) => event.preventDefault()}
      onClose={() => isAsked && dialog.current?.showModal()}
    >
      <form onSubmit={submit}>
        <h2 id="key-title">{ACCESS.title}</h2>
        {wasRefused && <p role="alert">{ACCESS.refused}</p>}
        <p id="key-note" className="quiet">
          {ACCESS.note} {ACCESS.wayToOne} <code>{ACCESS.command}</code>
        </p>
        {/* A password manager keeps a password under a name. */}
        <input
          type="text"
          className="unseen"
          autoComplete="username"
          value={window.location.host}
          tabIndex={-1}
          aria-hidden="true"
          readOnly
        />
        <label htmlFor="key">{ACCESS.key}</label>
        <input
          id="key"
          type="password"
          autoComplete="current-password"
          spellCheck={false}
          aria-describedby="key-note"
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
        <label className="row">
          <input
            type="checkbox"
            checked={isRemembered}
            onChange={({ target }) => setRemembered(target.checked)}
          />
          {ACCESS.remember}
        </label>
        <button type="submit" className="button primary">
          {ACCESS.open}
        </button>
      </form>
    </dialog>
  );
}
