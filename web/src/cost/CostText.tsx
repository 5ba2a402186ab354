/** The cost of a session in its header, where this device shows it. */
import type { OutlineEntry } from "@pagefault/client";
import { visibleName } from "@pagefault/react";
import { useMemo } from "react";

import { COST } from "../words/cost";
import { modelNamedFor, usePrices } from "./prices";
import { sessionCost } from "./sessionCost";

interface CostTextProps {
  readonly sessionId: string;
  readonly entries: readonly OutlineEntry[];
}

export function CostText({ sessionId, entries }: CostTextProps) {
  const prices = usePrices();
  const cost = useMemo(
    () =>
      prices.isShown ? sessionCost(entries, prices, modelNamedFor(sessionId, prices)) : undefined,
    [sessionId, entries, prices],
  );
  if (cost === undefined) return null;
  const unpriced = [...cost.unpriced].map((model) => (model === null ? COST.unnamed : visibleName(model)));
  return (
    <span title={COST.estimated(prices.asOf)}>
      {[
        ...(cost.dollars > 0 || unpriced.length === 0 ? [COST.about(cost.dollars)] : [COST.unknown]),
        ...(unpriced.length > 0 ? [COST.unpriced(unpriced)] : []),
      ].join(", ")}
    </span>
  );
}
