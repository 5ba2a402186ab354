/** Chips that filter the list of sessions, and its order. */
import { visibleName } from "@pagefault/react";
import { useLocation, useNavigate } from "react-router";

import { SESSIONS } from "../words/sessions";
import { CHIPS, type ListOrder, SORTS, type Sort, orderIn, withOrder } from "./listOrder";

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
          aria-pressed={chips.includes(chip)}
          onClick={() => {
            const others = chips.filter((each) => each !== chip);
            choose({ ...order, chips: chips.includes(chip) ? others : [...chips, chip] });
          }}
        >
          {SESSIONS.chips[chip]}
        </button>
      ))}
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
