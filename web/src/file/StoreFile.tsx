/** Says that a session is not stored, and stores it. */
import { ConflictError } from "@pagefault/client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { pagefault } from "../api/client";
import { Refused } from "../shared/states";
import { FILE } from "../words/file";
import type { FileSession } from "./fileClient";
import { closeFile } from "./openedFile";

const TYPES = { json: "application/json", lines: "application/x-ndjson" };
const LONGEST_MS = 60 * 60 * 1_000;
const LONGEST_ID = 128;

interface StoreFileProps {
  readonly file: File;
  readonly session: FileSession;
}

export function StoreFile({ file, session: { format, sessionId } }: StoreFileProps) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState(sessionId ?? idOf(file.name));
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);

  async function store() {
    setBusy(true);
    setFailure(null);
    try {
      const path = `/sessions/${encodeURIComponent(name)}`;
      if (format === "bundle") await pagefault().sessions.importBundle(file, { timeoutMs: LONGEST_MS });
      else {
        await pagefault().request(`/api${path}/history`, {
          method: "PUT",
          body: file,
          headers: { "Content-Type": TYPES[format] },
          timeoutMs: LONGEST_MS,
        });
      }
      await queries.invalidateQueries({ queryKey: ["sessions"] });
      await navigate(path, { replace: true });
      closeFile();
    } catch (problem) {
      setFailure(problem);
      setBusy(false);
    }
  }

  return (
    <div className="file-banner">
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          void store();
        }}
      >
        <strong className="label warn">{FILE.notStored}</strong>
        <span className="small file-about">{FILE.about}</span>
        {format !== "bundle" && (
          <label className="row small">
            {FILE.storeAs}
            <input
              required
              maxLength={LONGEST_ID}
              pattern="[A-Za-z0-9][A-Za-z0-9._:\-]*"
              title={FILE.idRule}
              autoComplete="off"
              spellCheck={false}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          </label>
        )}
        <button type="submit" className="button primary" disabled={isBusy}>
          {isBusy ? FILE.storing : FILE.store}
        </button>
      </form>
      {failure !== null && (
        <Refused
          failure={failure}
          what={failure instanceof ConflictError ? FILE.taken : FILE.storable}
        />
      )}
    </div>
  );
}

/** The id that a name of a file suggests. */
export function idOf(name: string): string {
  const id = name.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9._:-]+/g, "-");
  return id.replace(/^[^A-Za-z0-9]+/, "").slice(0, LONGEST_ID) || "file";
}
