/** `/upload`: files dropped here, or chosen, become resources. */
import { useLayoutEffect, useState } from "react";

import { usePageTitle } from "../shared/usePageTitle";
import { UploadRow } from "./UploadRow";
import { addFiles, clearFinished, isUnfinished, type Upload, useUploads } from "./uploads";
import { UPLOAD } from "../words/upload";
import "./upload.css";

export function UploadView() {
  const uploads = useUploads();
  usePageTitle(UPLOAD.title);
  return (
    <section className="view upload-view" aria-labelledby="upload-title">
      <h1 id="upload-title">{UPLOAD.title}</h1>
      <DropZone />
      <p className="row">
        <span className="quiet small" role="status">
          {said(uploads)}
        </span>
        {uploads.some(({ state }) => !isUnfinished(state)) && (
          <button type="button" className="button plain" onClick={clearFinished}>
            {UPLOAD.clear}
          </button>
        )}
      </p>
      {uploads.length > 0 && (
        <ol className="upload-list" aria-label={UPLOAD.files}>
          {uploads.map((upload) => (
            <UploadRow key={upload.number} upload={upload} />
          ))}
        </ol>
      )}
    </section>
  );
}

function DropZone() {
  const isOver = useDroppedFiles(addFiles);
  return (
    <div className={isOver ? "drop-zone over" : "drop-zone"}>
      <label htmlFor="files">{UPLOAD.drop}</label>
      <input
        id="files"
        type="file"
        multiple
        aria-describedby="files-note"
        onChange={(event) => {
          addFiles(event.target.files ?? []);
          // The same file chosen once more is a change, too.
          event.target.value = "";
        }}
      />
      <p id="files-note" className="quiet small">
        {UPLOAD.note}
      </p>
    </div>
  );
}

/** Takes files dropped anywhere in the window; beside a zone the browser would open them instead. */
function useDroppedFiles(take: (files: readonly File[]) => void): boolean {
  const [isOver, setOver] = useState(false);
  // Before the zone is painted, so that no file is dropped beside the listeners.
  useLayoutEffect(() => {
    function over(event: DragEvent) {
      event.preventDefault();
      setOver(true);
    }
    function leave(event: DragEvent) {
      if (event.relatedTarget === null) setOver(false);
    }
    function drop(event: DragEvent) {
      event.preventDefault();
      setOver(false);
      if (event.dataTransfer !== null) take(filesOf(event.dataTransfer));
    }
    window.addEventListener("dragover", over);
    window.addEventListener("dragleave", leave);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragover", over);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("drop", drop);
    };
  }, [take]);
  return isOver;
}

/** Folders are left out: they are no files, and sending one would fail. */
function filesOf(data: DataTransfer): File[] {
  const items = Array.from(data.items).filter((item) => item.kind === "file");
  return items
    .filter((item) => item.webkitGetAsEntry()?.isDirectory !== true)
    .map((item) => item.getAsFile())
    .filter((file) => file !== null);
}

function said(uploads: readonly Upload[]): string {
  if (uploads.length === 0) return "";
  const kept = uploads.filter(({ state }) => state.is === "kept").length;
  const refused = uploads.filter(({ state }) => state.is === "refused").length;
  return UPLOAD.kept(kept, uploads.length, refused);
}
