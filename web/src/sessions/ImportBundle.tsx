/** Restores a session from its bundle. One that is dropped is read first, as any file. */
import { ConflictError } from "@pagefault/client";
import { fileSize } from "@pagefault/react";
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { useNavigate } from "react-router";

import { pagefault } from "../api/client";
import { OpenFile } from "../file/OpenFile";
import { Refused } from "../shared/states";
import { ACTIONS } from "../words/sessions";

// A large bundle on a slow line takes its time, and is checked whole before it is answered.
const LONGEST_MS = 60 * 60 * 1_000;

export function ImportBundle() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const field = useRef<HTMLInputElement>(null);
  const [said, setSaid] = useState("");
  const [failure, setFailure] = useState<unknown>(null);

  async function take(file: File | undefined) {
    if (file === undefined) return;
    setFailure(null);
    setSaid(ACTIONS.importing(fileSize(file.size)));
    try {
      const session = await pagefault().sessions.importBundle(file, { timeoutMs: LONGEST_MS });
      await queries.invalidateQueries({ queryKey: ["sessions"] });
      void navigate(`/sessions/${encodeURIComponent(session.id)}`);
    } catch (problem) {
      setFailure(problem);
    }
    setSaid("");
    if (field.current !== null) field.current.value = "";
  }

  return (
    <div className="import">
      <OpenFile />
      <label className="button import-button">
        {ACTIONS.import}
        <input
          ref={field}
          type="file"
          accept=".zip,application/zip"
          className="unseen"
          aria-label={ACTIONS.importLabel}
          onChange={({ target }) => void take(target.files?.[0])}
        />
      </label>
      <span className="small quiet" role="status">
        {said}
      </span>
      {failure !== null && (
        <div className="import-failure">
          {failure instanceof ConflictError ? (
            <p role="alert" className="small bad-text">
              {ACTIONS.conflict}
            </p>
          ) : (
            <Refused {...{ failure }} what={ACTIONS.notBundle} />
          )}
          <button type="button" className="button plain small" onClick={() => setFailure(null)}>
            {ACTIONS.dismiss}
          </button>
        </div>
      )}
    </div>
  );
}
