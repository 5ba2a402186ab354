/** Something at a foreign address: a link that tells that address as little as possible. */
import { visibleName } from "./visibleText.ts";
import { WORDS } from "./words.ts";

export function ForeignLink({ url, what }: { url: string; what?: string | null | undefined }) {
  return (
    <p className="foreign">
      {what && <span>{visibleName(what)}: </span>}
      <a href={url} target="_blank" rel="noreferrer noopener">
        {visibleName(url)}
      </a>{" "}
      <span className="quiet small">{WORDS.foreign}</span>
    </p>
  );
}
