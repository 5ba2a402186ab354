/** What the components say. */
export const WORDS = {
  more: (count: number) => `Show ${count.toLocaleString()} more`,
  zoom: (name: string) => `Enlarge ${name}`,
  close: "Close",
  fit: "Fit",
  whole: "100 %",
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
