/** The ways in which a first session comes to be, each to be copied, and a sample that is loaded at once. */
import { Failure } from "@pagefault/react";
import { useQueryClient } from "@tanstack/react-query";
import { type KeyboardEvent, useId, useState } from "react";
import { useNavigate } from "react-router";

import { pagefault } from "../api/client";
import { CodeText } from "../reading/CodeText";
import { CopyButton } from "../reading/CopyButton";
import { SAMPLE_ENTRIES, SAMPLE_ID } from "../words/sampleSession";
import { FIRST_RUN } from "../words/sessions";
import "../reading/reading.css";

const WAYS = ["curl", "python", "mcp"] as const;
const LANGUAGES = { curl: "bash", python: "python", mcp: "bash" };

export function FirstRun() {
  const [way, setWay] = useState<(typeof WAYS)[number]>("curl");
  const [failure, setFailure] = useState<unknown>(null);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const id = useId();
  const text = FIRST_RUN.snippets[way](window.location.origin);

  function move({ key }: KeyboardEvent) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step === undefined) return;
    const next = WAYS[(WAYS.indexOf(way) + step + WAYS.length) % WAYS.length] ?? way;
    setWay(next);
    document.getElementById(`${id}-${next}`)?.focus();
  }

  async function loadSample() {
    setFailure(null);
    try {
      const path = `/api/sessions/${SAMPLE_ID}/turns`;
      await pagefault().request(path, {
        method: "POST",
        body: JSON.stringify({ entries: SAMPLE_ENTRIES }),
        headers: { "Content-Type": "application/json" },
      });
      await queries.invalidateQueries({ queryKey: ["sessions"] });
      void navigate(`/sessions/${SAMPLE_ID}`);
    } catch (problem) {
      setFailure(problem);
    }
  }

  return (
    <div className="first-run">
      <h2>{FIRST_RUN.title}</h2>
      <p>{FIRST_RUN.about}</p>
      <div role="tablist" aria-label={FIRST_RUN.ways} className="row" onKeyDown={move}>
        {WAYS.map((each) => (
          <button
            key={each}
            type="button"
            id={`${id}-${each}`}
            role="tab"
            className="chip-button"
            aria-selected={each === way}
            aria-controls={`${id}-panel`}
            tabIndex={each === way ? 0 : -1}
            onClick={() => setWay(each)}
          >
            {FIRST_RUN.names[each]}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${way}`}>
        <CodeText text={text} language={LANGUAGES[way]} />
        <CopyButton key={way} text={text} name={FIRST_RUN.copy} />
      </div>
      <p className="row">
        <button type="button" className="button" onClick={() => void loadSample()}>
          {FIRST_RUN.sample}
        </button>
      </p>
      {failure !== null && <Failure failure={failure} />}
    </div>
  );
}
