/** The origin of a part, as stated by the tool. */
import { visibleName } from "./visibleText.ts";

interface OriginProps {
  readonly name?: string | null | undefined;
  readonly uri?: string | null | undefined;
}

export function Origin({ name, uri }: OriginProps) {
  if (!name && !uri) return null;
  return (
    <p className="quiet small">
      {name && <span>{visibleName(name)} </span>}
      {uri &&
        (/^https?:\/\//i.test(uri) ? (
          <a href={uri} target="_blank" rel="noreferrer noopener">
            {visibleName(uri)}
          </a>
        ) : (
          <code>{visibleName(uri)}</code>
        ))}
    </p>
  );
}
