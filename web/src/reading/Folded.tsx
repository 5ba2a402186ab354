/** Something that folds where it is high. All of it is in the document, folded or not. */
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from "react";

import { READING } from "../words/reading";

const HIGH_PX = 480;

interface FoldedProps {
  readonly controls?: ReactNode;
  /** Whether its end is what is seen while it is folded. */
  readonly isFromEnd?: boolean;
  readonly children: ReactNode;
}

export function Folded({ controls, isFromEnd = false, children }: FoldedProps) {
  const [isOpen, setOpen] = useState(false);
  const [isHigh, setHigh] = useState(false);
  const content = useRef<HTMLDivElement>(null);
  const id = useId();

  useLayoutEffect(() => {
    const box = content.current;
    if (box === null) return undefined;
    const observer = new ResizeObserver(() => setHigh(box.scrollHeight > HIGH_PX));
    observer.observe(box);
    return () => observer.disconnect();
  }, []);

  return (
    <div className="text-block">
      <div id={id} className={`formatted ${isHigh && !isOpen ? `folded ${isFromEnd ? "from-end" : ""}` : ""}`}>
        <div ref={content}>{children}</div>
      </div>
      <div className="row">
        {isHigh && (
          <button
            type="button"
            className="button plain small"
            aria-expanded={isOpen}
            aria-controls={id}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? READING.fold : READING.unfold}
          </button>
        )}
        {controls}
      </div>
    </div>
  );
}
