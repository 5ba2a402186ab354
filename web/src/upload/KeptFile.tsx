/** What a file has become: a preview, its reference to copy, and its address. */
import { resourceId, type ResourceRecord } from "@pagefault/client";
import { MediaPart, shownAs, useResourceContent } from "@pagefault/react";
import { useRef, useState } from "react";
import { UPLOAD } from "../words/upload";

export function KeptFile({ resource }: { resource: ResourceRecord }) {
  const id = resourceId(resource.uri) ?? "";
  const field = useRef<HTMLInputElement>(null);
  const [isCopied, setCopied] = useState(false);
  const reference = `@blob:${id}`;
  const { url } = useResourceContent(reference, { known: resource });
  // Opened by itself, a recording would stay silent: its address lets nothing but the file in.
  const isPlayed = ["audio", "video"].includes(shownAs(resource.mimeType));

  async function copy() {
    // Away from loopback and without TLS there is no clipboard: the text is selected to be copied.
    field.current?.select();
    try {
      await navigator.clipboard.writeText(reference);
      setCopied(true);
    } catch {
      setCopied(false);
    }
  }

  return (
    <div className="kept-file">
      <div className="row">
        <input
          ref={field}
          readOnly
          className="kept-reference"
          aria-label={UPLOAD.reference}
          value={reference}
          onFocus={(event) => event.target.select()}
        />
        <button type="button" className="button" onClick={() => void copy()}>
          {UPLOAD.copy}
        </button>
        {url !== undefined && !isPlayed && (
          <a href={url} target="_blank" rel="noreferrer noopener">
            {UPLOAD.open}
          </a>
        )}
        <span className="small" role="status">
          {isCopied && UPLOAD.copied}
        </span>
      </div>
      <MediaPart medium={{ reference, filename: resource.filename }} known={resource} />
    </div>
  );
}
