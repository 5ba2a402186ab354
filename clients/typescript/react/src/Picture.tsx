/** An image, in a box of its shape that stands there before it is loaded. A click enlarges it. */
import { useRef } from "react";

import { visibleText } from "./visibleText.ts";
import { alternative, factsText, reserved, type MediumFacts } from "./facts.ts";
import { DownloadLink } from "./DownloadLink.tsx";
import { useTextViews } from "./context.ts";
import { useSteadyUrl } from "./useSteadyUrl.ts";
import { TALL } from "./useZoom.ts";
import { WORDS } from "./words.ts";
import { Zoom, type ZoomHandle } from "./Zoom.tsx";

interface PictureProps {
  readonly url: string | undefined;
  readonly crossOrigin?: "anonymous" | undefined;
  readonly facts: MediumFacts;
  readonly reference?: string;
  readonly caption?: string | null | undefined;
  readonly renew?: () => Promise<string | undefined>;
}

const TALLEST_REM = 26;

async function noOther(): Promise<undefined> {
  return undefined;
}

export function Picture(props: PictureProps) {
  const { url, crossOrigin, facts, reference, caption, renew = noOther } = props;
  const steady = useSteadyUrl(url, renew);
  const zoom = useRef<ZoomHandle>(null);
  const { BesideImage } = useTextViews();
  const alt = alternative(WORDS.image, facts, caption);
  const size = facts.width && facts.height ? { width: facts.width, height: facts.height } : {};
  // A page as a whole: its width is what is read, and it scrolls.
  const isTall = (facts.height ?? 0) > TALL * (facts.width ?? Infinity);
  return (
    <figure className="picture">
      {steady.hasFailed ? (
        <p className="medium-broken">{WORDS.brokenImage}</p>
      ) : (
        <button
          type="button"
          className={`pf-enlarge ${isTall ? "pf-tall" : ""}`}
          aria-label={WORDS.zoom(alt)}
          onClick={() => zoom.current?.open()}
        >
          <img
            className={size.width === undefined && reference !== undefined ? "shapeless" : "shaped"}
            crossOrigin={crossOrigin}
            src={steady.url}
            alt={alt}
            loading="lazy"
            decoding="async"
            style={reserved(facts, isTall ? Infinity : TALLEST_REM)}
            onError={() => void steady.retry()}
            {...size}
          />
        </button>
      )}
      <Zoom handle={zoom} url={steady.url} crossOrigin={crossOrigin} alt={alt}>
        {BesideImage !== undefined && reference !== undefined && (
          <BesideImage reference={reference} />
        )}
      </Zoom>
      <figcaption className="medium-facts">
        {caption && <span className="medium-caption">{visibleText(caption)}</span>}
        <span>{factsText(facts)}</span>
        {reference !== undefined && <DownloadLink reference={reference} name={facts.filename} />}
      </figcaption>
    </figure>
  );
}
