/** What every entry of a timeline has: its number, what it is, when it was written, its JSON. */
import { usePagefault, visibleName } from "@pagefault/react";
import { type ReactNode, useContext, useId } from "react";
import { Link } from "react-router";

import { JsonDetails } from "../../json/JsonDetails";
import { CopyButton } from "../../reading/CopyButton";
import { TimeText } from "../../shared/TimeText";
import { ENTRY, STEP } from "../../words/timeline";
import { textOfEntry } from "../entryText";
import { SessionContext, modelPathAt } from "../sessionContext";
import { HasEvictionsContext } from "../useEvictions";
import { FindingLabel } from "./FindingLabel";

interface EntryFrameProps {
  readonly seq: number;
  readonly kind: string;
  /** The name of a tool, a page, a speaker. */
  readonly name?: string | null | undefined;
  readonly at: string;
  readonly source: string;
  /** Whether the address names it. */
  readonly isNamed: boolean;
  readonly tone?: "said" | "answered" | "aside";
  /** Labels behind the name. */
  readonly labels?: ReactNode;
  readonly children: ReactNode;
}

export function EntryFrame(props: EntryFrameProps) {
  const { seq, kind, name, at, source, isNamed, tone, labels, children } = props;
  const titleId = useId();
  const client = usePagefault();
  return (
    <article
      className={`entry ${tone ?? ""}`}
      aria-labelledby={titleId}
      aria-current={isNamed ? "location" : undefined}
      data-seq={seq}
      id={`entry-${seq}`}
    >
      <header className="entry-header">
        <h2 id={titleId}>
          <span className="entry-kind">{kind}</span>
          {name && <span className="entry-name"> {visibleName(name)}</span>}
        </h2>
        {labels}
        <EntryAddress seq={seq} at={at} />
      </header>
      <div className="entry-body">{children}</div>
      <footer className="entry-tools small quiet">
        <UnseenLink seq={seq} />
        <CopyButton text={() => textOfEntry(source, client)} name={ENTRY.copy} />
        <JsonDetails title={ENTRY.json} source={source} />
      </footer>
    </article>
  );
}

/** The link to what a model no longer saw when an entry was the newest. */
export function UnseenLink({ seq }: { seq: number }) {
  const sessionId = useContext(SessionContext);
  if (!useContext(HasEvictionsContext)) return null;
  return (
    <Link className="small" to={modelPathAt(sessionId, seq)} title={STEP.unseenAtHint}>
      {STEP.unseenAt(seq)}
    </Link>
  );
}

/** When an entry was written, and the link to it. */
export function EntryAddress({ seq, at }: { seq: number; at: string }) {
  return (
    <span className="entry-address quiet small">
      <FindingLabel seq={seq} />
      <TimeText at={at} isShort /> <a href={`#${seq}`}>#{seq}</a>
    </span>
  );
}
