/** Chips that filter the list of sessions, and its order. */
import type { CalledTool } from "@pagefault/client";
import { visibleName } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";
import { useLocation, useNavigate } from "react-router";

import { pagefault } from "../api/client";
import { SESSIONS } from "../words/sessions";
import { CHIPS, type ListOrder, SORTS, type Sort, orderIn, withOrder } from "./listOrder";

const MOST_TOOLS = 1_000;

export function ListChips() {
  const [order, choose] = useListOrder();
  const { chips, tag } = order;
  return (
    <div className="session-order row" role="group" aria-label={SESSIONS.filter}>
      {CHIPS.map((chip) => (
        <button
          key={chip}
          type="button"
          className="chip-button small"
          title={SESSIONS.chipHints[chip]}
          aria-pressed={chips.includes(chip)}
          onClick={() => {
            const others = chips.filter((each) => each !== chip);
            choose({ ...order, chips: chips.includes(chip) ? others : [...chips, chip] });
          }}
        >
          {SESSIONS.chips[chip]}
        </button>
      ))}
      <ToolChip tool={order.called} choose={(called) => choose({ ...order, called })} />
      {tag !== undefined && (
        <button
          type="button"
          className="chip-button small"
          aria-label={SESSIONS.clearTag(visibleName(tag))}
          aria-pressed={true}
          onClick={() => choose({ ...order, tag: undefined })}
        >
          #{visibleName(tag)} <span aria-hidden="true">×</span>
        </button>
      )}
    </div>
  );
}

interface ToolChipProps {
  readonly tool: string | undefined;
  readonly choose: (tool: string | undefined) => void;
}

/** Chooses one of the tools that sessions called. */
function ToolChip({ tool, choose }: ToolChipProps) {
  const found = useQuery({
    queryKey: ["called-tools"],
    queryFn: async ({ signal }) => {
      const tools: CalledTool[] = [];
      for await (const { items } of pagefault().sessions.calledTools({ limit: 200, signal }).slices()) {
        tools.push(...items);
        if (tools.length >= MOST_TOOLS) break;
      }
      return tools;
    },
  });
  const tools = found.data ?? [];
  if (tools.length === 0 && tool === undefined) return null;
  return (
    <select
      className={tool === undefined ? "chip-button small" : "chip-button small chosen"}
      aria-label={SESSIONS.tool}
      value={tool ?? ""}
      onFocus={() => void found.refetch()}
      onChange={({ target }) => choose(target.value || undefined)}
    >
      <option value="">{SESSIONS.anyTool}</option>
      {tool !== undefined && !tools.some(({ name }) => name === tool) && (
        <option value={tool}>{visibleName(tool)}</option>
      )}
      {tools.map(({ name, sessions }) => (
        <option key={name} value={name}>
          {SESSIONS.calledIn(visibleName(name), sessions)}
        </option>
      ))}
    </select>
  );
}

export function ListSort() {
  const [order, choose] = useListOrder();
  return (
    <select
      className="session-sort small"
      aria-label={SESSIONS.sort}
      value={order.sort}
      onChange={({ target }) => choose({ ...order, sort: target.value as Sort })}
    >
      {SORTS.map((each) => (
        <option key={each} value={each}>
          {SESSIONS.sorts[each]}
        </option>
      ))}
    </select>
  );
}

function useListOrder(): readonly [ListOrder, (order: ListOrder) => void] {
  const navigate = useNavigate();
  const { search, hash } = useLocation();
  return [
    orderIn(new URLSearchParams(search)),
    (changed) => {
      const wanted = withOrder(new URLSearchParams(search), changed);
      void navigate({ search: `${wanted}`, hash }, { replace: true, flushSync: true });
    },
  ];
}
