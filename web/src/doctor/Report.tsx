/** What the doctor has found: each finding beside the message it is about, and the healed history. */
import type { Diagnosis } from "@pagefault/client";
import { itemsOf, laidOut, memberOf } from "@pagefault/client/json";
import { visibleText } from "@pagefault/react";

import { JsonTree } from "../reading/JsonTree";
import { numberText } from "../shared/formats";
import { DOCTOR } from "../words/doctor";
import "../reading/reading.css";

type Finding = Diagnosis["findings"][number];

interface ReportProps {
  readonly report: Diagnosis;
  readonly given: string | null;
  readonly name: string;
}

export function Report({ report, given, name }: ReportProps) {
  const { findings, dialect, profile, tokensEst } = report;
  return (
    <section className="doctor-report" aria-label={DOCTOR.messages}>
      <div role="status">
        <h2>{findings.length === 0 ? DOCTOR.healthy : DOCTOR.findings(findings.length)}</h2>
      </div>
      <p className="quiet">
        {DOCTOR.summary(dialect ?? DOCTOR.noDialect, profile, numberText(tokensEst))}
      </p>
      <button type="button" className="button" onClick={() => save(report, name)}>
        {DOCTOR.download}
      </button>
      <ol className="doctor-messages">
        {groupsOf(findings).map(([place, ofPlace]) => (
          <li key={place}>
            <h3>{titleOf(place, ofPlace)}</h3>
            <div className="doctor-sides">
              <ul>
                {ofPlace.map((finding, index) => (
                  <li key={index}>
                    <FindingView finding={finding} />
                  </li>
                ))}
              </ul>
              {given !== null && place !== "" && <GivenMessage given={given} place={place} />}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

function FindingView({ finding }: { finding: Finding }) {
  const { rule, demands, limit, actual, fix, source, pointer } = finding;
  return (
    <div className="doctor-finding">
      <p>
        <code>{rule}</code> {visibleText(demands)}
      </p>
      {limit != null && actual != null && (
        <p className="small">{DOCTOR.limit(`${limit}`, `${actual}`)}</p>
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

/** The message that findings are about, as it was given. */
function GivenMessage({ given, place }: { given: string; place: string }) {
  const [, list = "messages", number = "0"] = /^\/([^/]+)\/(\d+)/.exec(place) ?? [];
  const message = itemsOf(memberOf(given, list) ?? "[]")[Number(number)];
  return message === undefined ? null : <JsonTree source={message} />;
}

/** Findings by the message they are about, in the order in which they came. */
function groupsOf(findings: readonly Finding[]): readonly (readonly [string, Finding[]])[] {
  const groups = new Map<string, Finding[]>();
  for (const finding of findings) {
    const place = finding.seq == null ? messageOf(finding.pointer) : `#${finding.seq}`;
    groups.set(place, [...(groups.get(place) ?? []), finding]);
  }
  return [...groups];
}

function messageOf(pointer: string): string {
  return /^\/[^/]+\/\d+/.exec(pointer)?.[0] ?? "";
}

function titleOf(place: string, [first]: readonly Finding[]): string {
  if (first?.seq != null) return DOCTOR.seq(first.seq);
  const number = /\d+$/.exec(place)?.[0];
  return number === undefined ? DOCTOR.whole : DOCTOR.entry(`${Number(number) + 1}`);
}

function save({ system, messages }: Diagnosis, name: string): void {
  const healed = system == null ? { messages } : { system, messages };
  const url = URL.createObjectURL(
    new Blob([laidOut(JSON.stringify(healed))], { type: "application/json" }),
  );
  const link = document.createElement("a");
  link.href = url;
  link.download = `${name.replace(/\.[^.]*$/, "") || "history"}.healed.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
