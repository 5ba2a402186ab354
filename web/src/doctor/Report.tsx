/** What the doctor has found: each finding beside the message it is about, and the healed history. */
import type { Diagnosis } from "@pagefault/client";
import { itemsOf, laidOut, memberOf, membersOf } from "@pagefault/client/json";
import { Failure, visibleText } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link } from "react-router";

import { pagefault } from "../api/client";
import { JsonTree } from "../reading/JsonTree";
import { numberText } from "../shared/formats";
import { useSkipTarget } from "../shell/skipTargets";
import { DOCTOR } from "../words/doctor";
import { READING } from "../words/reading";
import { SHELL } from "../words/shell";
import "../reading/reading.css";

type Finding = Diagnosis["findings"][number];

interface ReportProps {
  readonly report: Diagnosis;
  /** The report as the service wrote it. */
  readonly source: string;
  /** The history that was examined, as text; null for a session that is stored. */
  readonly given: string | null;
  readonly name: string;
  /** The session that was examined. */
  readonly session: string | null;
}

const PIECE = 50;

export function Report({ report, source, given, name, session }: ReportProps) {
  const { findings, dialect, profile, tokensEst } = report;
  const [shown, setShown] = useState(PIECE);
  useSkipTarget("findings", SHELL.skipTo.findings, findings.length > 0);
  const held = useMemo(() => heldIn(given ?? "{}"), [given]);
  const groups = useMemo(() => groupsOf(findings), [findings]);
  return (
    <section className="doctor-report" aria-label={DOCTOR.messages}>
      <div role="status">
        <h2>{findings.length === 0 ? DOCTOR.healthy : DOCTOR.findings(findings.length)}</h2>
      </div>
      <p className="quiet">
        {DOCTOR.summary(dialect ?? DOCTOR.noDialect, profile, numberText(tokensEst))}
      </p>
      <button type="button" className="button" onClick={() => save(source, name)}>
        {DOCTOR.download}
      </button>
      <ol id="findings" className="doctor-messages" aria-label={DOCTOR.found}>
        {groups.slice(0, shown).map(([place, ofPlace]) => (
          <li key={place}>
            <h3>
              {session !== null && seqOf(ofPlace) !== undefined ? (
                <Link to={`/sessions/${encodeURIComponent(session)}#${seqOf(ofPlace)}`}>
                  {titleOf(place, ofPlace)}
                </Link>
              ) : (
                titleOf(place, ofPlace)
              )}
            </h3>
            <div className="doctor-sides">
              <ul>
                {ofPlace.map((finding, index) => (
                  <li key={index}>
                    <FindingView finding={finding} />
                  </li>
                ))}
              </ul>
              {session === null ? (
                <GivenMessage source={held.get(place)} place={place} findings={ofPlace} />
              ) : (
                <StoredMessage {...{ session }} findings={ofPlace} />
              )}
            </div>
          </li>
        ))}
      </ol>
      {groups.length > shown && (
        <button type="button" className="button" onClick={() => setShown(shown + PIECE)}>
          {READING.more(numberText(Math.min(PIECE, groups.length - shown)))}
        </button>
      )}
    </section>
  );
}

function FindingView({ finding }: { finding: Finding }) {
  const { rule, demands, limit, actual, fix, source, pointer } = finding;
  return (
    <div className="doctor-finding">
      <p>
        <strong>{DOCTOR.problem}</strong> {DOCTOR.rule(visibleText(demands))} <code>{rule}</code>
      </p>
      {limit != null && actual != null && (
        <p className="small">{DOCTOR.limit(valueText(limit), valueText(actual))}</p>
      )}
      <p className="small">
        <strong>{DOCTOR.fix}</strong> {visibleText(fix)}
      </p>
      <p className="small quiet">
        {DOCTOR.source(visibleText(source))} <code>{visibleText(pointer)}</code>
      </p>
    </div>
  );
}

function valueText(value: NonNullable<Finding["limit"]>): string {
  return typeof value === "number" ? numberText(value) : `${value}`;
}

interface GivenMessageProps {
  readonly source: string | undefined;
  readonly place: string;
  readonly findings: readonly Finding[];
}

/** The message that findings are about, as it was given; the members they point at are marked. */
function GivenMessage({ source, place, findings }: GivenMessageProps) {
  if (source === undefined) return null;
  const marks = new Set(findings.map(({ pointer }) => pointer.slice(place.length)));
  marks.delete("");
  return <JsonTree source={source} marks={marks} />;
}

/** The entry of a session that findings are about. */
function StoredMessage({ session, findings }: { session: string; findings: readonly Finding[] }) {
  const seq = seqOf(findings);
  const read = useQuery({
    queryKey: ["entry-source", session, seq],
    queryFn: async ({ signal }) => {
      const path = `/api/sessions/${encodeURIComponent(session)}/messages/${seq}`;
      return (await pagefault().request(path, { signal })).text();
    },
    enabled: seq !== undefined,
    staleTime: Infinity,
  });
  if (read.isError) return <Failure failure={read.error} />;
  return <GivenMessage source={read.data} place="" findings={findings} />;
}

function seqOf([first]: readonly Finding[]): number | undefined {
  return first?.seq ?? undefined;
}

const LISTS = ["messages", "input", "contents", "history"];
const SYSTEMS = [
  ...["system", "instructions", "systemInstruction", "system_instruction"],
  ...["systemPrompt", "system_prompt", "systemMessages", "taggedSystemMessages"],
];
const PLACE = new RegExp(`^/(?:(?:${LISTS.join("|")})/\\d+|(?:${SYSTEMS.join("|")})(?=/|$))`);

/** The text of each message of a history, and of what the system says, by its pointer. */
function heldIn(given: string): ReadonlyMap<string, string> {
  const held = new Map<string, string>();
  for (const [name, value] of membersOf(given)) {
    if (SYSTEMS.includes(name)) held.set(`/${name}`, value);
    if (!LISTS.includes(name)) continue;
    itemsOf(value).forEach((item, index) => held.set(`/${name}/${index}`, item));
  }
  return held;
}

/** Findings by the message they are about, in the order in which they came. */
function groupsOf(findings: readonly Finding[]): readonly (readonly [string, Finding[]])[] {
  const groups = new Map<string, Finding[]>();
  for (const finding of findings) {
    const place = finding.seq == null ? placeOf(finding.pointer) : `#${finding.seq}`;
    const ofPlace = groups.get(place);
    if (ofPlace === undefined) groups.set(place, [finding]);
    else ofPlace.push(finding);
  }
  return [...groups];
}

/** The message that a pointer leads into, or what the system says; empty for neither. */
function placeOf(pointer: string): string {
  return PLACE.exec(pointer)?.[0] ?? "";
}

function titleOf(place: string, [first]: readonly Finding[]): string {
  if (first?.seq != null) return DOCTOR.seq(first.seq);
  if (place === "") return DOCTOR.whole;
  const number = /\d+$/.exec(place)?.[0];
  return number === undefined ? DOCTOR.system : DOCTOR.entry(`${Number(number) + 1}`);
}

/** Save the healed history out of the text of the report: parsed, long numbers would lose digits. */
function save(source: string, name: string): void {
  const members = ["system", "messages"].flatMap((member) => {
    const value = memberOf(source, member) ?? "null";
    return value === "null" ? [] : [`${JSON.stringify(member)}:${value}`];
  });
  const url = URL.createObjectURL(
    new Blob([laidOut(`{${members.join(",")}}`)], { type: "application/json" }),
  );
  const link = document.createElement("a");
  link.href = url;
  link.download = `${name.replace(/\.[^.]*$/, "") || "history"}.healed.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
