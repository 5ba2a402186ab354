/** A call of a tool: what it was asked, what it answered, how long it took, what was kept. */
import type { OutlineEntry } from "@pagefault/client";
import { type SessionEntry, fileSize, usePagefault, visibleName } from "@pagefault/react";
import { type CSSProperties, useContext, useId, useMemo } from "react";
import { Link } from "react-router";

import { AppCallContext, readInput } from "../../apps/appCall";
import { useIsStored } from "../../file/openedFile";
import { JsonDetails } from "../../json/JsonDetails";
import { CopyButton } from "../../reading/CopyButton";
import { HeadingLevel } from "../../reading/headingLevel";
import { TextContext, fileIn } from "../../reading/textContext";
import { momentText, numberText, spanText } from "../../shared/formats";
import { ENTRY, LINE, STEP } from "../../words/timeline";
import { textOfEntry } from "../entryText";
import { isToolResult } from "../history";
import type { ShownCall } from "../messageBlocks";
import type { Call } from "../rows";
import { SessionContext, modelPath } from "../sessionContext";
import { useToolColour } from "../toolColours";
import { CallArguments, unquoted } from "./CallArguments";
import { EntryAddress, UnseenLink } from "./EntryFrame";
import { PendingLabel } from "./PendingLabel";
import { ResultBody } from "./ResultBody";
import { useFolded } from "./useFolded";

interface CallCardProps {
  readonly call: Call;
  /** The call as its message has it; undefined where nobody recorded it. */
  readonly made: ShownCall | undefined;
  readonly calledAt: string | undefined;
  /** The entry that answers it, once it is loaded. */
  readonly body: SessionEntry | undefined;
  readonly isNamed: boolean;
  /** Whether it stands in the message that calls. */
  readonly isInside: boolean;
}

export function CallCard({ call, made, calledAt, body, isNamed, isInside }: CallCardProps) {
  const Heading = isInside ? "h3" : "h2";
  const sessionId = useContext(SessionContext);
  const isStored = useIsStored();
  const client = usePagefault();
  const { result, isApart } = call;
  const colour = useToolColour(call.name);
  const titleId = useId();
  const bodyId = useId();
  const [isFolded, fold] = useFolded(`${sessionId} ${result?.seq ?? call.id}`);
  const appCall = useMemo(
    () => ({ tool: call.name, input: readInput(made?.source) }),
    [call.name, made?.source],
  );
  const isFailed = result?.failed === true;
  const own = result === null || isApart ? undefined : result;
  const isFault = result?.entry === "page_fault";
  const name = visibleName(call.name === "" ? (result?.name ?? STEP.call) : call.name);
  return (
    <article
      className={`call-card ${isFailed ? "failed" : result === null ? "pending" : "done"}`}
      style={{ "--tool": colour } as CSSProperties}
      aria-labelledby={titleId}
      aria-current={isNamed ? "location" : undefined}
      data-seq={own?.seq}
      id={own === undefined ? undefined : `entry-${own.seq}`}
    >
      <header className="call-header">
        <button
          type="button"
          className="fold"
          aria-expanded={!isFolded}
          aria-controls={bodyId}
          aria-label={isFolded ? STEP.unfold(name) : STEP.fold(name)}
          onClick={() => fold(!isFolded)}
        >
          <span aria-hidden="true">{isFolded ? "▸" : "▾"}</span>
        </button>
        <Heading id={titleId}>
          {isFault ? (
            <>
              <span className="entry-kind">{ENTRY.pageFault} </span>
              <Link to={`/pages/${encodeURIComponent(result.name ?? "")}`}>
                {visibleName(result.name ?? "")}
              </Link>
            </>
          ) : (
            <code>{name}</code>
          )}
        </Heading>
        {isFailed && <span className="label bad">{STEP.failed}</span>}
        {result === null && <PendingLabel callId={call.id} />}
        {isApart && result !== null && <a href={`#${result.seq}`}>{STEP.apart(result.seq)}</a>}
        {own !== undefined && <EntryAddress seq={own.seq} at={own.createdAt} />}
      </header>
      {made !== undefined && <CallArguments source={made.source} />}
      <div id={bodyId} className="call-body" hidden={isFolded}>
        {own !== undefined &&
          (body === undefined ? (
            <p className="quiet small">{ENTRY.loading}</p>
          ) : (
            <HeadingLevel value={isInside ? 4 : 3}>
              <TextContext value={{ filename: fileIn(unquoted(made?.source ?? "{}")), isFailed }}>
                <AppCallContext value={appCall}>
                  <ResultBody shown={body} />
                </AppCallContext>
              </TextContext>
            </HeadingLevel>
          ))}
      </div>
      {isFolded && isFailed && <p className="call-error">{visibleName(result.title ?? "")}</p>}
      {own !== undefined && (
        <footer className="call-facts small quiet">
          <Facts result={own} body={body} calledAt={calledAt} />
          {isStored && (
            <Link to={`${modelPath(sessionId)}#entry-${own.seq}`}>{STEP.whatModelGets}</Link>
          )}
          <UnseenLink seq={own.seq} />
          {body !== undefined && (
            <>
              <CopyButton text={() => textOfEntry(body.source, client)} name={ENTRY.copy} />
              <JsonDetails title={ENTRY.json} source={body.source} />
            </>
          )}
        </footer>
      )}
    </article>
  );
}

interface FactsProps {
  readonly result: OutlineEntry;
  readonly body: SessionEntry | undefined;
  readonly calledAt: string | undefined;
}

function Facts({ result, body, calledAt }: FactsProps) {
  const took = calledAt === undefined ? NaN : Date.parse(result.createdAt) - Date.parse(calledAt);
  const entry = body?.entry;
  const kept = entry !== undefined && isToolResult(entry) ? entry.sanitized.resources : [];
  const hasOther = kept.some(({ kind }) => kind !== "image" && kind !== "text");
  const size = kept.reduce((sum, resource) => sum + resource.size, 0);
  return (
    <>
      {took > 0 && calledAt !== undefined && (
        <span title={`${momentText(calledAt)} – ${momentText(result.createdAt)}`}>
          {STEP.took(spanText(took))}
        </span>
      )}
      {/* What a recording or a document costs differs by model, and is not in the figure. */}
      {!hasOther && <span title={LINE.tokensHint}>{STEP.tokens(numberText(result.tokensEst))}</span>}
      {hasOther && result.tokensEst > 0 && <span title={LINE.tokensHint}>{STEP.tokensOfText(numberText(result.tokensEst))}</span>}
      {kept.length > 0 && <span>{STEP.kept(kept.length, fileSize(size))}</span>}
    </>
  );
}
