/** The content of a page at one level: a medium, an address, data laid out, or text. */
import type { Level, PageMedia, PageRecord } from "@pagefault/client";
import { laidOut } from "@pagefault/client/json";
import {
  type Cue,
  cuesOfRecording,
  cuesOfScenes,
  fileSize,
  MediaPart,
  type Medium,
} from "@pagefault/react";

import { Failure, Loading } from "../shared/states";
import { LongText } from "./LongText";
import { levelName } from "./pageWords";
import { type PageLevel, usePageLevel, useReferencedContent } from "./usePages";
import { PAGES } from "../words/pages";

// A longer medium is kept as a resource, and a longer address would be none.
const LONGEST_PLACE = 8_000;
const REFERENCE = /^@blob:[0-9a-f]{32}$/;
const PLACE = /^(?:@blob:[0-9a-f]{32}|https?:\/\/\S+|data:[^,\s]*;base64,[A-Za-z0-9+/=]*)$/i;

interface Props {
  page: PageRecord;
  level: Level;
}

export function LevelContent({ page, level }: Props) {
  const shown = usePageLevel(page.page_id, level);
  if (shown.isPending) return <Loading what={PAGES.atLevel(levelName(level))} />;
  if (shown.isError) {
    return <Failure failure={shown.error} onRetry={() => void shown.refetch()} />;
  }
  const { record } = shown.data;
  return (
    <div className="level-content">
      <p className="quiet small" role="status">
        {record.name}, {PAGES.origins[record.origin]}
        {record.size_bytes !== null && `, ${fileSize(record.size_bytes)}`}
        {record.size_tokens > 0 && PAGES.andTokens(record.size_tokens)}
      </p>
      <Content page={page} shown={shown.data} />
    </div>
  );
}

function Content({ page, shown }: { page: PageRecord; shown: PageLevel }) {
  const { content, media } = shown.record;
  if (content === null) return <p className="quiet">{PAGES.noContent}</p>;
  if (typeof content !== "string") return <LongText text={laidOut(shown.source)} isCode />;
  if (isMedium(page)) {
    // What is no place of a medium are words about it: a caption, a transcript.
    return content.length <= LONGEST_PLACE && PLACE.test(content) ? (
      <MediaPart medium={mediumOf(page, content, media)} />
    ) : (
      <LongText text={content} />
    );
  }
  return REFERENCE.test(content) ? (
    <ReferencedContent page={page} level={shown.record.level} />
  ) : (
    <LongText text={content} />
  );
}

function mediumOf(page: PageRecord, reference: string, media: PageMedia | null): Medium {
  return {
    reference,
    mimeType: media?.mime_type ?? page.mime_type ?? undefined,
    mediaKind: page.modality === "audio" || page.modality === "video" ? page.modality : null,
    filename: media?.filename,
    caption: page.caption,
    cues: cuesOf(page),
  };
}

/** When what happens in a recording: its scenes, or the lines of its transcript. */
function cuesOf({ scenes, transcript }: PageRecord): readonly Cue[] {
  return cuesOfRecording(cuesOfScenes(scenes ?? []), transcript ?? "");
}

function ReferencedContent({ page, level }: Props) {
  const content = useReferencedContent(page.page_id, level);
  if (content.isPending) return <Loading what={PAGES.loadingText} />;
  if (content.isError) {
    return <Failure failure={content.error} onRetry={() => void content.refetch()} />;
  }
  return <LongText {...shownText(content.data)} />;
}

function shownText(source: string): { text: string; isCode: boolean } {
  return source.startsWith('"')
    ? { text: JSON.parse(source) as string, isCode: false }
    : { text: laidOut(source), isCode: true };
}

function isMedium(page: PageRecord): boolean {
  return page.modality !== "text" && page.modality !== "structured";
}
