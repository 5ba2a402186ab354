/** The prices of models, which each device keeps for itself; costs are shown only where somebody switched them on. */
import { useSyncExternalStore } from "react";

const STORED_AS = "pagefault.prices";
const MOST_MODELS = 200;

/** US dollars for a million tokens of every model whose id starts with `model`. */
export interface Price {
  readonly model: string;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

export interface Prices {
  readonly isShown: boolean;
  /** The day of the prices, such as `2026-11-29`. */
  readonly asOf: string;
  readonly list: readonly Price[];
  /** Sessions with messages that name no model, and the models that were named for them; the last is the newest. */
  readonly models?: readonly (readonly [sessionId: string, model: string])[];
}

/** Prices that Anthropic publishes; others are for the reader to add. */
export const PUBLISHED: Prices = {
  isShown: false,
  asOf: "2026-11-29",
  list: [
    { model: "claude-fable-5", input: 10, cached: 1, output: 50 },
    { model: "claude-opus-5", input: 5, cached: 0.5, output: 25 },
    { model: "claude-opus-4", input: 5, cached: 0.5, output: 25 },
    { model: "claude-sonnet-4", input: 3, cached: 0.3, output: 15 },
    { model: "claude-haiku-4", input: 1, cached: 0.1, output: 5 },
  ],
};

let prices = storedPrices();
const listeners = new Set<() => void>();

export function usePrices(): Prices {
  return useSyncExternalStore(subscribe, () => prices);
}

export function savePrices(changed: Prices): void {
  localStorage.setItem(STORED_AS, JSON.stringify(changed));
  prices = changed;
  for (const listener of listeners) listener();
}

/** The price of the longest start of a model's id. */
export function priceOf(model: string, { list }: Prices): Price | undefined {
  return list
    .filter((price) => price.model !== "" && model.startsWith(price.model))
    .toSorted((a, b) => b.model.length - a.model.length)[0];
}

/** The model of the messages of a session that name none, if somebody has named it. */
export function modelNamedFor(sessionId: string, { models = [] }: Prices): string | undefined {
  return models.find(([id]) => id === sessionId)?.[1];
}

/** Prices in which the messages of a session that name no model are those of this one; empty for none. */
export function withModelFor(sessionId: string, model: string, prices: Prices): Prices {
  const others = (prices.models ?? []).filter(([id]) => id !== sessionId);
  const models = model === "" ? others : [...others, [sessionId, model] as const];
  return { ...prices, models: models.slice(-MOST_MODELS) };
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function storedPrices(): Prices {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORED_AS) ?? "null");
    return isPrices(stored) ? stored : PUBLISHED;
  } catch {
    return PUBLISHED;
  }
}

function isPrices(value: unknown): value is Prices {
  const { isShown, asOf, list, models = [] } = (value ?? {}) as Partial<Prices>;
  return (
    typeof isShown === "boolean" &&
    typeof asOf === "string" &&
    Array.isArray(list) &&
    list.every(
      (price: Partial<Price> | null) =>
        typeof price?.model === "string" &&
        [price.input, price.cached, price.output].every((each) => Number.isFinite(each)),
    ) &&
    Array.isArray(models) &&
    models.every((pair: unknown) => Array.isArray(pair) && pair.every((each) => typeof each === "string"))
  );
}
