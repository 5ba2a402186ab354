/** The doctor: a broken history in, what is wrong beside its messages, and a healed one out. */
import type { Diagnosis } from "@pagefault/client";
import { visibleName } from "@pagefault/react";
import { useEffect, useEffectEvent, useState } from "react";
import { Link, useSearchParams } from "react-router";

import { pagefault } from "../api/client";
import { useOpenedFile } from "../file/openedFile";
import { TARGETS } from "../pages/pageWords";
import { Refused } from "../shared/states";
import { usePageTitle } from "../shared/usePageTitle";
import { DOCTOR } from "../words/doctor";
import { Report } from "./Report";
import "./doctor.css";

interface Examined {
  readonly report: Diagnosis;
  readonly source: string;
  /** The history that was given, as text; null for a session that is stored. */
  readonly given: string | null;
}

export function DoctorView() {
  usePageTitle(DOCTOR.title);
  const [search, setSearch] = useSearchParams();
  const session = search.get("session");
  const opened = useOpenedFile()?.file;
  const given = search.has("file") ? opened : undefined;
  const target = search.get("target") ?? "";
  const [text, setText] = useState("");
  const [name, setName] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [refused, setRefused] = useState("");
  const [failure, setFailure] = useState<unknown>(null);
  const [examined, setExamined] = useState<Examined>();

  async function take(file: File | undefined) {
    if (file === undefined) return;
    setText(await file.text());
    setName(file.name);
  }

  async function examine(history = text) {
    setRefused("");
    setFailure(null);
    setExamined(undefined);
    const body = session === null ? historyIn(history) : JSON.stringify({ sessionId: session });
    if (typeof body !== "string") {
      setRefused(body.refused);
      return;
    }
    setBusy(true);
    try {
      const query = { apply: true, ...(target === "" ? {} : { target }) };
      const answer = await pagefault().request("/api/doctor", {
        method: "POST",
        query,
        body,
        headers: { "Content-Type": "application/json" },
      });
      const source = await answer.text();
      const report = JSON.parse(source) as Diagnosis;
      setExamined({ report, source, given: session === null ? body : null });
    } catch (problem) {
      setFailure(problem);
    }
    setBusy(false);
  }

  // Nothing is left to be given for a session that is stored, or a file that is open.
  const examineAtOnce = useEffectEvent(async () => {
    await take(given);
    await examine(await given?.text());
  });
  useEffect(() => {
    if (session !== null || given !== undefined) void examineAtOnce();
  }, [session, given, target]);

  return (
    <section
      className="view doctor-view"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void take(event.dataTransfer.files[0]);
      }}
    >
      <h1>{DOCTOR.title}</h1>
      <p>{DOCTOR.about}</p>
      <form
        className="doctor-form"
        onSubmit={(event) => {
          event.preventDefault();
          void examine();
        }}
      >
        {session === null ? (
          <>
            <div className="row">
              <span>{DOCTOR.drop}</span>
              <label className="button">
                {DOCTOR.choose}
                <input
                  type="file"
                  className="unseen"
                  accept=".json,.jsonl,.txt,application/json"
                  onChange={({ target: field }) => {
                    void take(field.files?.[0]);
                    // The same file may be chosen again when it has changed.
                    field.value = "";
                  }}
                />
              </label>
              <span className="quiet">{name}</span>
            </div>
            <textarea
              rows={8}
              spellCheck={false}
              aria-label={DOCTOR.paste}
              placeholder={DOCTOR.paste}
              value={text.length > MOST_SHOWN ? text.slice(0, MOST_SHOWN) : text}
              readOnly={text.length > MOST_SHOWN}
              onChange={({ target: field }) => setText(field.value)}
            />
          </>
        ) : (
          <p>
            <Link to={`/sessions/${encodeURIComponent(session)}`}>
              {DOCTOR.session(visibleName(session))}
            </Link>
          </p>
        )}
        <div className="row">
          <label className="row">
            {DOCTOR.target}
            <select
              value={target}
              onChange={({ target: field }) =>
                setSearch(
                  {
                    ...(session === null ? {} : { session }),
                    ...(given === undefined ? {} : { file: "1" }),
                    ...(field.value === "" ? {} : { target: field.value }),
                  },
                  { replace: true },
                )
              }
            >
              <option value="">{DOCTOR.ofHistory}</option>
              {TARGETS.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </label>
          <button type="submit" className="button primary" disabled={isBusy}>
            {isBusy ? DOCTOR.examining : DOCTOR.examine}
          </button>
        </div>
        {refused !== "" && <p role="alert" className="bad-text">{refused}</p>}
      </form>
      {failure !== null && <Refused {...{ failure }} what={DOCTOR.takes} />}
      {examined !== undefined && <Report {...examined} {...{ name, session }} />}
    </section>
  );
}

// A field with more is slow; all of it is examined.
const MOST_SHOWN = 200_000;

/** The body of the request: what was given, or its messages in the object that they belong in. */
function historyIn(text: string): string | { readonly refused: string } {
  if (text.trim() === "") return { refused: DOCTOR.empty };
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? `{"messages":${text}}` : text;
  } catch (problem) {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    if (lines.length > 1 && lines.every(isObject)) return `{"messages":[${lines.join(",")}]}`;
    return { refused: DOCTOR.notJson(problem instanceof Error ? problem.message : "") };
  }
}

/** Whether a line is a message of its own, as in a file of JSON lines. */
function isObject(line: string): boolean {
  try {
    return line.trim().startsWith("{") && typeof JSON.parse(line) === "object";
  } catch {
    return false;
  }
}
