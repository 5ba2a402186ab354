/** What every entry of a timeline has: its number, what it is, when it was written, its JSON. */
import { usePagefault, visibleName } from "@pagefault/react";
import { type ReactNode, useContext, useId } from "react";
import { Link } from "react-router";

import { useIsStored } from "../../file/openedFile";
import { JsonDetails } from "../../json/JsonDetails";
import { CopyButton } from "../../reading/CopyButton";
import { TimeText } from "../../shared/TimeText";
import { ENTRY, STEP } from "../../words/timeline";
import { textOfEntry } from "../entryText";
import { SessionContext, modelPath, modelPathAt } from "../sessionContext";
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
        <ModelLinks seq={seq} />
        <CopyButton text={() => textOfEntry(source, client)} name={ENTRY.copy} />
        <JsonDetails title={ENTRY.json} source={source} />
      </footer>
    </article>
  );
}

/** The links to what a model gets of an entry, and to what it no longer saw when that was the newest. */
export function ModelLinks({ seq }: { seq: number }) {
  const sessionId = useContext(SessionContext);
  if (!useIsStored()) return null;
  return (
    <>
      <Link to={`${modelPath(sessionId)}#entry-${seq}`}>{STEP.whatModelGets}</Link>
      <Link to={modelPathAt(sessionId, seq)} title={STEP.unseenAtHint}>
        {STEP.unseenAt(seq)}
      </Link>
    </>
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
