/** Return whether an element has been near the viewport. */
import { useEffect, useState, type RefObject } from "react";

const MARGIN = "600px 0px";

export function useNearViewport(element: RefObject<Element | null>): boolean {
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const watched = element.current;
    if (isNear || watched === null) return;
    // The margin of the root does not reach into boxes that scroll; `scrollMargin` does.
    const options: IntersectionObserverInit & { scrollMargin: string } = {
      rootMargin: MARGIN,
      scrollMargin: MARGIN,
    };
    const observer = new IntersectionObserver((changes) => {
      if (changes.some((change) => change.isIntersecting)) setNear(true);
    }, options);
    observer.observe(watched);
    return () => observer.disconnect();
  }, [element, isNear]);
  return isNear;
}
