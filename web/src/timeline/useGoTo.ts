/** Goes to an entry of the open session by its address, so that Back, a reload and a link find it. */
import { useNavigate } from "react-router";

export interface GoToOptions {
  /** Whether Back leads to what was before the place that is left now. */
  readonly replace?: boolean;
}

export function useGoTo(): (seq: number, options?: GoToOptions) => void {
  const navigate = useNavigate();
  return (seq, { replace = false } = {}) => {
    const search = new URLSearchParams(window.location.search);
    search.delete("seq");
    void navigate({ search: `${search}`, hash: `#${seq}` }, { replace, preventScrollReset: true });
  };
}
