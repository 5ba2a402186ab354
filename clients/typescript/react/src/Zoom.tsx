/** An image in a dialog of its own: fitted, or enlarged and moved, with what else is to be seen of it. */
import {
  type KeyboardEvent,
  type ReactNode,
  type Ref,
  useImperativeHandle,
  useRef,
  useState,
} from "react";

import { useZoom } from "./useZoom.ts";
import { WORDS } from "./words.ts";

export interface ZoomHandle {
  readonly open: () => void;
}

interface ZoomProps {
  /** Opens it; a name of its own, since React 18 gives no `ref` to components. */
  readonly handle: Ref<ZoomHandle>;
  readonly url: string | undefined;
  readonly crossOrigin?: "anonymous" | undefined;
  readonly alt: string;
  /** Stands beside the image, as long as the dialog is open. */
  readonly children?: ReactNode;
}

const STEP = 1.25;
const MOVE_PX = 60;

export function Zoom({ handle, url, crossOrigin, alt, children }: ZoomProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const image = useRef<HTMLImageElement>(null);
  const [isOpen, setOpen] = useState(false);
  const { view, scaled, moved, fit, toWhole, field, pointers } = useZoom(image);

  useImperativeHandle(handle, () => ({
    open: () => {
      fit();
      setOpen(true);
      dialog.current?.showModal();
    },
  }));

  function onKeyDown(event: KeyboardEvent) {
    const does: Record<string, () => void> = {
      "+": () => scaled(STEP),
      "=": () => scaled(STEP),
      "-": () => scaled(1 / STEP),
      "0": fit,
      "1": toWhole,
      ArrowLeft: () => moved(MOVE_PX, 0),
      ArrowRight: () => moved(-MOVE_PX, 0),
      ArrowUp: () => moved(0, MOVE_PX),
      ArrowDown: () => moved(0, -MOVE_PX),
    };
    const isModified = event.altKey || event.ctrlKey || event.metaKey;
    const act = does[event.key];
    if (isModified || act === undefined || !(event.target instanceof HTMLElement)) return;
    if (event.target.matches("select, input")) return;
    event.preventDefault();
    act();
  }

  return (
    <dialog
      ref={dialog}
      className="pf-zoom"
      aria-label={alt}
      // The event comes in a task of its own: the dialog may be open again by then.
      onClose={({ currentTarget }) => setOpen(currentTarget.open)}
      onKeyDown={onKeyDown}
    >
      {isOpen && (
        <>
          <div className="pf-zoom-bar">
            <button type="button" className="button" onClick={() => scaled(1 / STEP)}>
              {WORDS.smaller}
            </button>
            <button type="button" className="button" onClick={() => scaled(STEP)}>
              {WORDS.larger}
            </button>
            <button type="button" className="button" onClick={fit}>
              {WORDS.fit}
            </button>
            <button type="button" className="button" onClick={toWhole}>
              {WORDS.whole}
            </button>
            <span className="quiet small">{WORDS.zoomHint}</span>
            <button
              type="button"
              className="button"
              onClick={() => dialog.current?.close()}
            >
              {WORDS.close}
            </button>
          </div>
          <div className="pf-zoom-sides">
            <div ref={field} className="pf-zoom-field" {...pointers}>
              <img
                ref={image}
                crossOrigin={crossOrigin}
                src={url}
                alt={alt}
                draggable={false}
                onLoad={fit}
                style={{ transform: `translate(${view.x}px, ${view.y}px) scale(${view.scale})` }}
              />
            </div>
            {children}
          </div>
        </>
      )}
    </dialog>
  );
}
