/**
 * A medium of a record: an image, a player, or a file to save.
 *
 * Media load when they come near the viewport, in a box of the size in the record. Content that could
 * run scripts is never put into the page. Images on other hosts are rendered as links, so viewing a
 * record sends no requests to those hosts.
 */
import type { FilePart, ResourceDescriptor } from "@pagefault/client";
import { useRef } from "react";

import type { Cue } from "./cues.ts";
import { Failure } from "./Failure.tsx";
import { useNearViewport } from "./useNearViewport.ts";
import { FileCard } from "./FileCard.tsx";
import { ForeignLink } from "./ForeignLink.tsx";
import { Picture } from "./Picture.tsx";
import { Player } from "./Player.tsx";
import { placeOf, shownAs } from "./references.ts";
import { useResourceContent } from "./useResourceContent.ts";
import { WORDS } from "./words.ts";

export interface Medium {
  /** `@blob:…`, `blob:…`, a bare id, an http(s) URL, a data URI, or plain base64. */
  readonly reference: string;
  readonly mimeType?: string | undefined;
  readonly mediaKind?: FilePart["mediaKind"] | null | undefined;
  readonly filename?: string | null | undefined;
  /** What it shows, where somebody said so. */
  readonly caption?: string | null | undefined;
  /** Of a recording: what happens when. */
  readonly cues?: readonly Cue[] | undefined;
}

interface MediaPartProps {
  readonly medium: Medium;
  /** Its descriptor, where the record has it: then nothing is asked for to lay it out. */
  readonly known?: ResourceDescriptor | undefined;
}

export function MediaPart({ medium, known }: MediaPartProps) {
  const place = placeOf(medium.reference, medium.mimeType);
  switch (place.at) {
    case "store":
      return <StoredMedium medium={medium} known={known} />;
    case "elsewhere":
      return <ForeignLink url={place.url} what={medium.caption ?? medium.filename} />;
    case "page":
      return shownAs(place.mimeType) === "image" ? (
        <Picture
          url={place.dataUri}
          facts={{ mimeType: place.mimeType, size: place.size, filename: medium.filename }}
          caption={medium.caption}
        />
      ) : (
        <FileCard
          facts={{ mimeType: place.mimeType, size: place.size, filename: medium.filename }}
          dataUri={place.dataUri}
        />
      );
    case "nowhere":
      return <FileCard facts={{ mimeType: medium.mimeType, filename: medium.filename }} />;
  }
}

function StoredMedium({ medium, known }: MediaPartProps) {
  const box = useRef<HTMLDivElement>(null);
  const isNear = useNearViewport(box);
  const content = useResourceContent(medium.reference, { known, isWanted: isNear });
  const { descriptor } = content;
  const shown = shownAs(
    descriptor?.mimeType ?? medium.mimeType,
    medium.mediaKind ?? descriptor?.mediaKind,
  );
  const facts = {
    mimeType: descriptor?.mimeType ?? medium.mimeType,
    filename: medium.filename ?? descriptor?.filename,
    size: descriptor?.size,
    width: descriptor?.width,
    height: descriptor?.height,
    durationSeconds: descriptor?.durationSeconds,
  };
  const common = { reference: medium.reference, facts, caption: medium.caption };
  const { url, crossOrigin, renew } = content;
  const isUnknown = facts.mimeType === undefined;
  return (
    <div ref={box} className="medium">
      {content.failure !== null && <Failure failure={content.failure} />}
      {isUnknown ? (
        content.failure === null && <p className="medium-waiting quiet">{WORDS.loadingMedium}</p>
      ) : shown === "file" ? (
        <FileCard {...common} />
      ) : shown === "image" ? (
        <Picture {...common} {...{ url, crossOrigin, renew }} />
      ) : (
        <Player {...common} {...{ url, crossOrigin, renew }} cues={medium.cues} kind={shown} />
      )}
    </div>
  );
}
