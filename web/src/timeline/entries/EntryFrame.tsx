/** What every entry of a timeline has: its number, what it is, when it was written, its JSON. */
import { visibleName } from "@pagefault/react";
import { type ReactNode, useId } from "react";

import { JsonDetails } from "../../json/JsonDetails";
import { TimeText } from "../../shared/TimeText";

interface EntryFrameProps {
  readonly seq: number;
  readonly kind: string;
  /** The name of a tool, a page, a speaker. */
  readonly name?: string | null | undefined;
  readonly at: string;
  readonly source: string;
  readonly tone?: "tool" | "tool failed" | "said" | "answered";
  /** Labels behind the name. */
  readonly labels?: ReactNode;
  readonly children: ReactNode;
}

export function EntryFrame({ seq, kind, name, at, source, tone, labels, children }: EntryFrameProps) {
  const titleId = useId();
  return (
    <article className={`entry ${tone ?? ""}`} aria-labelledby={titleId}>
      <header className="entry-header">
        <h2 id={titleId}>
          <span className="entry-kind">{kind}</span>{" "}
          {name && <span className="entry-name">{visibleName(name)}</span>}
        </h2>
        {labels}
        <span className="entry-place quiet small">
          <TimeText at={at} /> <a href={`#${seq}`}>#{seq}</a>
        </span>
      </header>
      <div className="entry-body">{children}</div>
      <JsonDetails title="JSON" source={source} />
    </article>
  );
}
