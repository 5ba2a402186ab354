/** Chips that filter the list of sessions, and its order. */
import { useLocation, useNavigate } from "react-router";

import { SESSIONS } from "../words/sessions";
import { CHIPS, type ListOrder, SORTS, type Sort, orderIn, withOrder } from "./listOrder";

export function ListOrderBar() {
  const navigate = useNavigate();
  const { search, hash } = useLocation();
  const order = orderIn(new URLSearchParams(search));
  const { sort, chips } = order;

  function choose(changed: ListOrder) {
    const wanted = withOrder(new URLSearchParams(search), changed);
    void navigate({ search: `${wanted}`, hash }, { replace: true, flushSync: true });
  }

  return (
    <div className="session-order row" role="group" aria-label={SESSIONS.order}>
      {CHIPS.map((chip) => (
        <button
          key={chip}
          type="button"
          className="chip-button small"
          aria-pressed={chips.includes(chip)}
          onClick={() => {
            const others = chips.filter((each) => each !== chip);
            choose({ sort, chips: chips.includes(chip) ? others : [...chips, chip] });
          }}
        >
          {SESSIONS.chips[chip]}
        </button>
      ))}
      <select
        className="small"
        aria-label={SESSIONS.sort}
        value={sort}
        onChange={({ target }) => choose({ chips, sort: target.value as Sort })}
      >
        {SORTS.map((each) => (
          <option key={each} value={each}>
            {SESSIONS.sorts[each]}
          </option>
        ))}
      </select>
    </div>
  );
}
