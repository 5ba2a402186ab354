/** A row of a timeline as lines: one for each entry and each call, which open it. */
import type { OutlineEntry } from "@pagefault/client";
import { type SessionEntry, visibleName } from "@pagefault/react";
import { type CSSProperties, type ReactNode, memo, useMemo } from "react";

import { numberText, spanText } from "../../shared/formats";
import { ENTRY, LINE, STEP } from "../../words/timeline";
import { type ShownCall, callsOf } from "../messageBlocks";
import type { Call } from "../rows";
import { useToolColour } from "../toolColours";
import { type DrawnRow, isSame } from "./RowView";
import { madeAs } from "./StepView";
import { FindingLabel } from "./FindingLabel";
import { PendingLabel } from "./PendingLabel";
import { Thumbnail } from "./Thumbnail";
import { firstArgument, imagesIn, causeLine } from "./lineTexts";
import "./lines.css";

interface LineRowProps {
  readonly row: DrawnRow;
  /** The entries of the row, in its order; undefined where one is not loaded yet. */
  readonly bodies: readonly (SessionEntry | undefined)[];
  /** The entry that the address names. */
  readonly named: number | undefined;
  readonly open: (row: number, seq: number) => void;
}

export const LineRow = memo(
  function LineRow({ row, bodies, named, open }: LineRowProps) {
    const made = useMemo(() => callsMadeIn(row, bodies), [row, bodies]);
    const bodyOf = (seq: number | undefined) => bodies.find((body) => body?.seq === seq);
    if (row.kind === "entry") {
      return (
        <EntryLine
          entry={row.entry}
          body={bodyOf(row.seq)}
          isNamed={row.seq === named}
          open={() => open(row.seq, row.seq)}
        />
      );
    }
    const { caller, calls } = row;
    return (
      <>
        {caller !== null && (
          <EntryLine
            entry={caller}
            body={bodyOf(caller.seq)}
            isNamed={caller.seq === named}
            open={() => open(row.seq, caller.seq)}
          />
        )}
        {calls.map((call, index) => (
          <CallLine
            key={`${index} ${call.id}`}
            call={call}
            made={madeAs(made, call, index)}
            calledAt={caller?.createdAt}
            body={bodyOf(call.result?.seq)}
            isInside={caller !== null}
            isNamed={!call.isApart && call.result?.seq === named && named !== undefined}
            open={() => open(row.seq, call.result?.seq ?? row.seq)}
          />
        ))}
      </>
    );
  },
  (before, after) =>
    before.named === after.named &&
    before.open === after.open &&
    before.bodies.length === after.bodies.length &&
    before.bodies.every((body, index) => body === after.bodies[index]) &&
    isSame(before.row, after.row),
);

function callsMadeIn(row: DrawnRow, bodies: LineRowProps["bodies"]): readonly ShownCall[] {
  if (row.kind !== "step" || row.caller === null) return [];
  const { seq } = row.caller;
  const body = bodies.find((each) => each?.seq === seq);
  return body === undefined ? [] : callsOf({ ...body.entry }, body.source);
}

interface EntryLineProps {
  readonly entry: OutlineEntry;
  readonly body: SessionEntry | undefined;
  readonly isNamed: boolean;
  readonly open: () => void;
}

function EntryLine({ entry, body, isNamed, open }: EntryLineProps) {
  const { seq, role, title, calls, images } = entry;
  const kind = kindOf(entry);
  return (
    <Line
      {...{ seq, isNamed, open }}
      className={`role-${role}`}
      mark={<span className="line-role">{kind.slice(0, 1)}</span>}
      name={kind}
      facts={
        <>
          {images > 0 && body !== undefined && <Thumbnails body={body} />}
          <Tokens entry={entry} />
        </>
      }
    >
      {title === null
        ? calls.length > 0
          ? STEP.callsOf(calls.length)
          : ENTRY.noContent
        : visibleName(title)}
    </Line>
  );
}

interface CallLineProps {
  readonly call: Call;
  readonly made: ShownCall | undefined;
  readonly calledAt: string | undefined;
  readonly body: SessionEntry | undefined;
  readonly isInside: boolean;
  readonly isNamed: boolean;
  readonly open: () => void;
}

function CallLine({ call, made, calledAt, body, isInside, isNamed, open }: CallLineProps) {
  const colour = useToolColour(call.name);
  const { result, isApart } = call;
  const isFailed = result?.failed === true;
  const took = Date.parse(result?.createdAt ?? "") - Date.parse(calledAt ?? "");
  const argument = useMemo(() => firstArgument(made?.source), [made]);
  const said = isFailed ? (causeLine(isApart ? undefined : body) ?? result.title) : result?.title;
  return (
    <Line
      seq={isApart ? undefined : result?.seq}
      {...{ isNamed, open }}
      className={`${isInside ? "line-call" : ""} ${isFailed ? "line-failed" : ""}`}
      colour={colour}
      mark={<span className="line-tool" />}
      name={<code>{visibleName(call.name === "" ? STEP.call : call.name)}</code>}
      facts={
        <>
          {result !== null && result.images > 0 && body !== undefined && <Thumbnails body={body} />}
          {result === null && <PendingLabel callId={call.id} />}
          {isFailed && <span className="label bad">{STEP.failed}</span>}
          {took > 0 && <span className="line-took">{spanText(took)}</span>}
          {result !== null && <Tokens entry={result} />}
        </>
      }
    >
      {isFailed && said != null && <span>{visibleName(said)} </span>}
      {argument !== "" && <span className="line-argument">{visibleName(argument)}</span>}{" "}
      {!isFailed && said != null && <span className="quiet">{visibleName(said)}</span>}
    </Line>
  );
}

interface LineProps {
  /** The entry; undefined where the line is of none. */
  readonly seq: number | undefined;
  readonly className: string;
  readonly colour?: string;
  readonly mark: ReactNode;
  readonly name: ReactNode;
  readonly facts: ReactNode;
  readonly isNamed: boolean;
  readonly open: () => void;
  readonly children: ReactNode;
}

function Line(props: LineProps) {
  const { seq, className, colour, mark, name, facts, isNamed, open, children } = props;
  return (
    <article
      className={`line ${className}`}
      style={colour === undefined ? undefined : ({ "--tool": colour } as CSSProperties)}
      aria-label={seq === undefined ? undefined : ENTRY.numbered(seq)}
      aria-current={isNamed ? "location" : undefined}
      data-seq={seq}
      id={seq === undefined ? undefined : `entry-${seq}`}
    >
      <button type="button" className="line-open" aria-expanded={false} onClick={open}>
        <span className="line-mark" aria-hidden="true">
          {mark}
        </span>
        <span className="line-name">{name}</span>
        <span className="line-text">{children}</span>
      </button>
      <span className="line-facts small quiet">
        {facts}
        {seq !== undefined && <FindingLabel seq={seq} />}
        {seq !== undefined && (
          <a className="line-number" href={`#${seq}`}>
            #{seq}
          </a>
        )}
      </span>
    </article>
  );
}

function Tokens({ entry }: { entry: OutlineEntry }) {
  return <span className="line-tokens" title={LINE.tokensHint}>{LINE.tokens(numberText(entry.tokensEst))}</span>;
}

const MOST_THUMBNAILS = 3;

function Thumbnails({ body }: { body: SessionEntry }) {
  return imagesIn(body)
    .slice(0, MOST_THUMBNAILS)
    .map((medium, index) => <Thumbnail key={index} medium={medium} />);
}

function kindOf({ entry, role }: OutlineEntry): string {
  if (entry === "interaction") return ENTRY.interaction;
  if (entry === "answer") return ENTRY.answer;
  return ENTRY.kinds[role] ?? ENTRY.message;
}
