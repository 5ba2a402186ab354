/** React hooks and components for Pagefault. */
export {
  PagefaultProvider,
  usePagefault,
  type PreviewedTextProps,
  type ShownTextProps,
  type StoredTextProps,
  type TextViews,
} from "./context.ts";
export { useResourceContent, type ResourceContent } from "./useResourceContent.ts";
export { useSteadyUrl, type SteadyUrl } from "./useSteadyUrl.ts";
export { useSession, type ShownSession } from "./useSession.ts";
export type { SessionEntry } from "./readEntry.ts";
export { SessionHistory, type SessionHistoryState } from "./sessionHistory.ts";
export { useOutline, type OutlinedSession } from "./useOutline.ts";
export { SessionOutline, type SessionOutlineState } from "./sessionOutline.ts";
export { SessionEntries } from "./sessionEntries.ts";
export { usePage, type ShownPage } from "./usePage.ts";
export { useNearViewport } from "./useNearViewport.ts";
export { usePieces } from "./usePieces.tsx";
export { useEventStream } from "./useEventStream.ts";
export type { LiveState, Signal } from "./liveStream.ts";
export { ToolResult } from "./ToolResult.tsx";
export { MediaPart, type Medium } from "./MediaPart.tsx";
export {
  cuesOfRecording,
  cuesOfScenes,
  cuesOfTranscript,
  cuesOfWords,
  type Cue,
} from "./cues.ts";
export { StoredText } from "./StoredText.tsx";
export { FoldedText } from "./FoldedText.tsx";
export { PreviewedText, wholeTextOf } from "./PreviewedText.tsx";
export { Origin } from "./Origin.tsx";
export { DownloadLink } from "./DownloadLink.tsx";
export { FileCard } from "./FileCard.tsx";
export { ForeignLink } from "./ForeignLink.tsx";
export { Failure } from "./Failure.tsx";
export { watchColours } from "./watchColours.ts";
export { visibleName, visibleText, withoutColours } from "./visibleText.ts";
export { isText, placeOf, shownAs, type Place, type Shown } from "./references.ts";
export {
  clock,
  counted,
  dimensionsText,
  duration,
  fileSize,
  numberText,
  shareText,
} from "./measures.ts";
