/** The list of keys, opened by `?` or its button. */
import { useEffect, useRef } from "react";

import { KEYS } from "../words/keys";
import { listenToKeys, useKeys, useKeysAreOn, useKnownKeys } from "./useKeys";
import "./keys.css";

export function KeyList() {
  const dialog = useRef<HTMLDialogElement>(null);
  const known = useKnownKeys();
  const [isOn, setOn] = useKeysAreOn();
  const open = () => dialog.current?.showModal();
  useKeys([{ key: "?", said: KEYS.list, run: open }]);
  useEffect(listenToKeys, []);
  return (
    <>
      <button type="button" className="button keys-button" aria-label={KEYS.title} onClick={open}>
        <span aria-hidden="true">?</span>
      </button>
      <dialog ref={dialog} className="keys-dialog" aria-labelledby="keys-title">
        <form method="dialog">
          <h2 id="keys-title">{KEYS.title}</h2>
          <table>
            <tbody>
              {known.map(({ key, said }) => (
                key !== null && (
                  <tr key={key}>
                    <th scope="row">
                      <kbd>{key}</kbd>
                    </th>
                    <td>{said}</td>
                  </tr>
                )
              ))}
              <tr>
                <th scope="row">
                  <kbd>{KEYS.commandsKey}</kbd>
                </th>
                <td>{KEYS.commands}</td>
              </tr>
              <tr>
                <th scope="row">
                  <kbd>Esc</kbd>
                </th>
                <td>{KEYS.leave}</td>
              </tr>
            </tbody>
          </table>
          <label className="row">
            <input
              type="checkbox"
              checked={isOn}
              onChange={({ target }) => setOn(target.checked)}
            />
            {KEYS.isOn}
          </label>
          <button type="submit" className="button">
            {KEYS.close}
          </button>
        </form>
      </dialog>
    </>
  );
}
