/** What the components say. */
import { dimensionsText, numberText, shareText } from "./measures.ts";

export const WORDS = {
  more: (count: number) => `Show ${numberText(count)} more`,
  zoom: (name: string) => `Enlarge ${name}`,
  close: "Close",
  fit: "Fit",
  whole: shareText(1),
  pixels: (width: number, height: number) => `${dimensionsText(width, height)} pixels`,
  larger: "Larger",
  smaller: "Smaller",
  zoomHint: "Wheel or + and − enlarge, arrows and dragging move, 0 fits, Esc closes.",
  brokenImage: "This image cannot be shown here.",
  brokenPlayer: "This browser cannot play it.",
  waveform: "Waveform; a click plays from there",
  cues: "What happens when",
  pages: "Show the pages",
  hidePages: "Hide the pages",
  text: "Show the text",
  hideText: "Hide the text",
};
