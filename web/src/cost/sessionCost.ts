/** The cost of a session, estimated from the tokens of its entries. */
import type { OutlineEntry } from "@pagefault/client";

import { type Prices, priceOf } from "./prices";

export interface SessionCost {
  readonly dollars: number;
  /** The models without a price; `null` is for messages that name no model. */
  readonly unpriced: ReadonlySet<string | null>;
}

/**
 * Add up what each message of a model costs: its own tokens as output, those since the message of the assistant
 * before as input, and all earlier ones as read from the provider's cache.
 *
 * Sub-agents have their own conversations. `named` is the model of messages that name none.
 */
export function sessionCost(
  entries: readonly OutlineEntry[],
  prices: Prices,
  named: string | undefined,
): SessionCost {
  let dollars = 0;
  const unpriced = new Set<string | null>();
  const conversations = new Map<string, { cached: number; fresh: number }>();
  for (const { role, model: written, tokensEst, parentCall, subagentRunId } of entries) {
    const model = written ?? named;
    const key = parentCall ?? subagentRunId ?? "";
    const read = conversations.get(key) ?? { cached: 0, fresh: 0 };
    conversations.set(key, read);
    if (role === "assistant") {
      const price = model === undefined ? undefined : priceOf(model, prices);
      if (price === undefined) unpriced.add(model ?? null);
      else {
        dollars +=
          (read.cached * price.cached + read.fresh * price.input + tokensEst * price.output) / 1e6;
      }
      read.cached += read.fresh;
      read.fresh = 0;
    }
    read.fresh += tokensEst;
  }
  return { dollars, unpriced };
}
