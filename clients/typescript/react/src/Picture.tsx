/** An image, in a box of its shape that stands there before it is loaded. */
import { visibleText } from "./visibleText.ts";
import { alternative, factsText, reserved, type MediumFacts } from "./facts.ts";
import { DownloadLink } from "./DownloadLink.tsx";
import { useSteadyUrl } from "./useSteadyUrl.ts";

interface PictureProps {
  readonly url: string | undefined;
  readonly facts: MediumFacts;
  readonly reference?: string;
  readonly caption?: string | null | undefined;
  readonly renew?: () => Promise<string | undefined>;
}

const TALLEST_REM = 26;

async function noOther(): Promise<undefined> {
  return undefined;
}

export function Picture({ url, facts, reference, caption, renew = noOther }: PictureProps) {
  const steady = useSteadyUrl(url, renew);
  const size = facts.width && facts.height ? { width: facts.width, height: facts.height } : {};
  return (
    <figure className="picture">
      {steady.hasFailed ? (
        <p className="medium-broken">This image cannot be shown here.</p>
      ) : (
        <img
          className={size.width === undefined && reference !== undefined ? "shapeless" : "shaped"}
          src={steady.url}
          alt={alternative("Image", facts, caption)}
          loading="lazy"
          decoding="async"
          style={reserved(facts, TALLEST_REM)}
          onError={() => void steady.retry()}
          {...size}
        />
      )}
      <figcaption className="medium-facts">
        {caption && <span className="medium-caption">{visibleText(caption)}</span>}
        <span>{factsText(facts)}</span>
        {reference !== undefined && <DownloadLink reference={reference} name={facts.filename} />}
      </figcaption>
    </figure>
  );
}
