/** The table of prices, to edit, and whether costs are shown. */
import { useEffect, useRef, useState } from "react";

import { COST } from "../words/cost";
import { PUBLISHED, type Price, type Prices, savePrices, usePrices } from "./prices";
import "./cost.css";

const NUMBERS = ["input", "cached", "output"] as const;
const EMPTY: Price = { model: "", input: 0, cached: 0, output: 0 };

export default function PriceDialog({ onClose }: { readonly onClose: () => void }) {
  const [draft, setDraft] = useState<Prices>(usePrices());
  const dialog = useRef<HTMLDialogElement>(null);

  useEffect(() => dialog.current?.showModal(), []);

  function changeRow(row: number, changes: Partial<Price>) {
    setDraft({ ...draft, list: draft.list.map((price, at) => (at === row ? { ...price, ...changes } : price)) });
  }

  function save() {
    savePrices({ ...draft, list: draft.list.filter(({ model }) => model !== "") });
    dialog.current?.close();
  }

  return (
    <dialog
      ref={dialog}
      className="ask-dialog price-dialog"
      aria-labelledby="price-title"
      onClose={onClose}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <h2 id="price-title">{COST.title}</h2>
        <p className="small">{COST.what}</p>
        <label className="row">
          <input
            type="checkbox"
            checked={draft.isShown}
            onChange={({ target }) => setDraft({ ...draft, isShown: target.checked })}
          />
          {COST.show}
        </label>
        <label className="row">
          {COST.asOf}
          <input
            type="date"
            required
            value={draft.asOf}
            onChange={({ target }) => setDraft({ ...draft, asOf: target.value })}
          />
        </label>
        <table>
          <caption className="small quiet">{COST.prices}</caption>
          <thead>
            <tr>
              {Object.values(COST.columns).map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
              <td />
            </tr>
          </thead>
          <tbody>
            {draft.list.map((price, row) => (
              <tr key={row}>
                <td>
                  <input
                    type="text"
                    spellCheck={false}
                    aria-label={COST.cell(COST.columns.model, row + 1)}
                    value={price.model}
                    onChange={({ target }) => changeRow(row, { model: target.value.trim() })}
                  />
                </td>
                {NUMBERS.map((name) => (
                  <td key={name}>
                    <input
                      type="number"
                      min={0}
                      step="any"
                      required
                      aria-label={COST.cell(COST.columns[name], row + 1)}
                      defaultValue={price[name]}
                      onChange={({ target }) => changeRow(row, { [name]: target.valueAsNumber || 0 })}
                    />
                  </td>
                ))}
                <td>
                  <button
                    type="button"
                    className="button plain small"
                    aria-label={COST.remove(price.model)}
                    onClick={() => setDraft({ ...draft, list: draft.list.filter((_, at) => at !== row) })}
                  >
                    ×
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <div className="row">
          <button
            type="button"
            className="button small"
            onClick={() => setDraft({ ...draft, list: [...draft.list, EMPTY] })}
          >
            {COST.add}
          </button>
          <button
            type="button"
            className="button small"
            onClick={() => setDraft({ ...PUBLISHED, isShown: draft.isShown })}
          >
            {COST.published(PUBLISHED.asOf)}
          </button>
        </div>
        <div className="row">
          <button type="button" className="button" onClick={() => dialog.current?.close()}>
            {COST.cancel}
          </button>
          <button type="submit" className="button">
            {COST.save}
          </button>
        </div>
      </form>
    </dialog>
  );
}
