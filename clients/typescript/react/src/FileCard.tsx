/** A file that is not shown by itself: its name, type and size, a link that saves it, its text. */
import { resourceId } from "@pagefault/client";
import { useState } from "react";

import { useTextViews } from "./context.ts";
import { DownloadLink } from "./DownloadLink.tsx";
import { factsText, type MediumFacts } from "./facts.ts";
import { isText } from "./references.ts";
import { StoredText } from "./StoredText.tsx";
import { visibleName, visibleText } from "./visibleText.ts";
import { WORDS } from "./words.ts";

interface FileCardProps {
  readonly facts: MediumFacts;
  readonly reference?: string;
  readonly caption?: string | null | undefined;
  readonly dataUri?: string;
}

export function FileCard({ facts, reference, caption, dataUri }: FileCardProps) {
  const [isRead, setRead] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const { Stored = StoredText, Pdf } = useTextViews();
  const id = reference === undefined ? null : resourceId(reference);
  const name = facts.filename ? visibleName(facts.filename) : WORDS.noName;
  return (
    <div className="file">
      <p className="file-name">{name}</p>
      {caption && <p>{visibleText(caption)}</p>}
      <p className="medium-facts">
        <span>{factsText({ ...facts, filename: undefined })}</span>
        {id !== null && <DownloadLink reference={id} name={facts.filename} />}
        {dataUri !== undefined && (
          <a href={dataUri} download={facts.filename ?? WORDS.downloadName}>
            {WORDS.download}
          </a>
        )}
        {id !== null && isText(facts.mimeType) && (
          <button
            type="button"
            className="button plain"
            aria-expanded={isRead}
            onClick={() => setRead(!isRead)}
          >
            {isRead ? WORDS.hideText : WORDS.text}
          </button>
        )}
        {id !== null && Pdf !== undefined && facts.mimeType === "application/pdf" && (
          <button
            type="button"
            className="button plain"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? WORDS.hidePages : WORDS.pages}
          </button>
        )}
      </p>
      {isRead && id !== null && <Stored id={id} size={facts.size} mimeType={facts.mimeType} filename={facts.filename ?? undefined} />}
      {isOpen && id !== null && Pdf !== undefined && <Pdf id={id} />}
    </div>
  );
}
