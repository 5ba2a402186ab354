/** The table of prices, to edit, and whether costs are shown. */
import type { OutlineEntry } from "@pagefault/client";
import { useEffect, useRef, useState } from "react";

import { COST } from "../words/cost";
import {
  PUBLISHED,
  type Price,
  type Prices,
  modelNamedFor,
  savePrices,
  usePrices,
  withModelFor,
} from "./prices";
import "./cost.css";

const NUMBERS = ["input", "cached", "output"] as const;
const EMPTY: Price = { model: "", input: 0, cached: 0, output: 0 };

interface PriceDialogProps {
  readonly sessionId: string;
  /** All entries, as soon as all are there. */
  readonly entries: readonly OutlineEntry[] | undefined;
  readonly onClose: () => void;
}

export default function PriceDialog({ sessionId, entries = [], onClose }: PriceDialogProps) {
  const [draft, setDraft] = useState<Prices>(usePrices());
  const model = modelNamedFor(sessionId, draft) ?? "";
  const namesNone = entries.some(({ role, model: written }) => role === "assistant" && written == null);
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
        {namesNone && (
          <label className="row">
            {COST.modelOf}
            <input
              type="text"
              list="priced-models"
              autoComplete="off"
              spellCheck={false}
              placeholder={COST.modelHint}
              value={model}
              onChange={({ target }) => setDraft(withModelFor(sessionId, target.value.trim(), draft))}
            />
            <datalist id="priced-models">
              {draft.list.map((price, row) => (
                <option key={row} value={price.model} />
              ))}
            </datalist>
          </label>
        )}
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
            onClick={() => setDraft({ ...draft, ...PUBLISHED, isShown: draft.isShown })}
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
