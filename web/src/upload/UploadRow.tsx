/** A file on its way: how far it is, what became of it, and what can be done about it. */
import { fileSize, shareText, visibleName } from "@pagefault/react";

import { Failure } from "../shared/states";
import { KeptFile } from "./KeptFile";
import { giveUp, sendAgain, type Upload } from "./uploads";
import { UPLOAD } from "../words/upload";

export function UploadRow({ upload }: { upload: Upload }) {
  const { number, file, state } = upload;
  const name = visibleName(file.name);
  return (
    <li className="upload-row">
      <div className="row">
        <span className="upload-name">{name}</span>
        <span className="quiet small">{fileSize(file.size)}</span>
        <span className="label">{UPLOAD.states[state.is]}</span>
        {(state.is === "waiting" || state.is === "sending") && (
          <button type="button" className="button" onClick={() => giveUp(number)}>
            {UPLOAD.cancel}<span className="unseen"> {name}</span>
          </button>
        )}
        {state.is === "given-up" && (
          <button type="button" className="button" onClick={() => sendAgain(number)}>
            {UPLOAD.again}<span className="unseen">: {name}</span>
          </button>
        )}
      </div>
      {state.is === "sending" && <Progress name={name} sent={state.sentBytes} of={file.size} />}
      {state.is === "refused" && (
        <Failure failure={state.failure} onRetry={() => sendAgain(number)} />
      )}
      {state.is === "kept" && <KeptFile resource={state.resource} />}
    </li>
  );
}

function Progress({ name, sent, of }: { name: string; sent: number; of: number }) {
  // All has gone out before the service has hashed and kept it.
  const said = sent < of ? shareText(sent / of) : UPLOAD.beingKept;
  return (
    <div className="row upload-progress">
      <progress aria-label={UPLOAD.progress(name)} value={Math.min(sent, of)} max={of || 1} />
      <span className="small">{said}</span>
    </div>
  );
}
