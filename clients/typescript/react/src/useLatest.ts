/** A function that effects call as it was last rendered, without running again for it. */
import { useCallback, useInsertionEffect, useRef } from "react";

export function useLatest<Arguments extends unknown[]>(
  call: (...args: Arguments) => void,
): (...args: Arguments) => void {
  const latest = useRef(call);
  useInsertionEffect(() => {
    latest.current = call;
  });
  return useCallback((...args) => latest.current(...args), []);
}
