/** Goes to an entry of the open session by its address, so that Back, a reload and a link find it. */
import { useNavigate } from "react-router";

import { withFilter } from "./finding/filter";

export interface GoToOptions {
  /** Whether Back leads to what was before the place that is left now. */
  readonly replace?: boolean;
  /** Whether the filter is taken away, since it hides the entry. */
  readonly unfiltered?: boolean;
}

export function useGoTo(): (seq: number, options?: GoToOptions) => void {
  const navigate = useNavigate();
  return (seq, { replace = false, unfiltered = false } = {}) => {
    const asked = new URLSearchParams(window.location.search);
    const search = unfiltered ? withFilter(asked, {}) : asked;
    search.delete("seq");
    // At once, or a key that is pressed meanwhile would be undone.
    const how = { replace, preventScrollReset: true, flushSync: true };
    void navigate({ search: `${search}`, hash: `#${seq}` }, how);
  };
}
