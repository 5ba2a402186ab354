/** The cues of a recording: scenes, and transcripts whose lines begin with a time. */
export interface Cue {
  /** Seconds from the beginning; undefined if unknown. */
  readonly start: number | undefined;
  readonly text: string;
}

type Members = Readonly<Record<string, unknown>>;

const TIME = String.raw`(?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?`;
/** `[0:05] Hello`, `0:05 - 0:09: Hello` */
const TIMED_LINE = new RegExp(
  String.raw`^\s*[[(]?(${TIME})(?:\s*[-–—]\s*${TIME})?[\])]?\s*[-–—:]?\s*(.*)$`,
);
/** `00:05.000 --> 00:09.000 align:start`, as WebVTT and SubRip have it. */
const TIMING = new RegExp(String.raw`^\s*(${TIME})\s*-->\s*${TIME}(.*)$`);
const SETTING = /^\w+:\S+$/;
/** A scene as the service writes it for models. */
const SCENE_LINE = new RegExp(String.raw`^ {2}- (?:(${TIME})(?:-${TIME})? )?(.*)$`);
const TEXTS = ["summary", "caption", "description", "text"];
const STARTS = ["start", "start_time", "startTime", "timestamp", "time"];

/** The cues of a page's scenes: texts, or objects with a text and, it may be, a beginning. */
export function cuesOfScenes(scenes: readonly unknown[]): readonly Cue[] {
  return scenes.flatMap((scene) => {
    if (typeof scene === "string") return [{ start: undefined, text: scene }];
    if (typeof scene !== "object" || scene === null) return [];
    const members = scene as Members;
    const text = TEXTS.map((name) => members[name]).find((each) => typeof each === "string");
    const start = STARTS.map((name) => members[name]).find((each) => each !== undefined);
    return typeof text === "string" ? [{ start: secondsOf(start), text }] : [];
  });
}

/** The cues of a transcript: those of subtitles, or its lines that begin with a time; else none. */
export function cuesOfTranscript(transcript: string): readonly Cue[] {
  const lines = transcript.split(/\r\n|\r|\n/);
  const cues = lines.some((line) => TIMING.test(line)) ? cuesOfSubtitles(lines) : timedLines(lines);
  return cues.filter(({ text }) => text !== "");
}

/** Those of the scenes where they say when, or the transcript does not; else the transcript's. */
export function cuesOfRecording(scenes: readonly Cue[], transcript: string): readonly Cue[] {
  if (scenes.some(({ start }) => start !== undefined)) return scenes;
  const ofTranscript = cuesOfTranscript(transcript);
  return ofTranscript.length > 0 ? ofTranscript : scenes;
}

/** The cues of a recording's words as a page fault has them: scenes, a line each, then a transcript. */
export function cuesOfWords(words: string): readonly Cue[] {
  const lines = words.split("\n");
  const end = lines.findIndex((line) => !SCENE_LINE.test(line));
  const scenes = lines.slice(0, end === -1 ? lines.length : end).map((line) => {
    const [, time, text = ""] = SCENE_LINE.exec(line) ?? [];
    return { start: secondsOf(time), text };
  });
  return cuesOfRecording(scenes, end === -1 ? "" : lines.slice(end).join("\n"));
}

interface OpenCue {
  readonly start: number;
  text: string;
}

/** Lines that begin with a time; those between them go on with the line before. */
function timedLines(lines: readonly string[]): readonly OpenCue[] {
  const cues: OpenCue[] = [];
  for (const line of lines) {
    const [, time, words = ""] = TIMED_LINE.exec(line) ?? [];
    const start = secondsOf(time);
    if (start !== undefined) cues.push({ start, text: words });
    else append(cues.at(-1), line);
  }
  return cues;
}

/** WebVTT and SubRip, with the header of the former or without it. */
function cuesOfSubtitles(lines: readonly string[]): readonly OpenCue[] {
  const cues: OpenCue[] = [];
  let open: OpenCue | undefined;
  lines.forEach((line, index) => {
    const [, time, behind = ""] = TIMING.exec(line) ?? [];
    const start = secondsOf(time);
    if (start !== undefined) {
      open = { start, text: "" };
      cues.push(open);
      const words = behind.trim();
      if (!words.split(/\s+/).every((word) => SETTING.test(word))) append(open, words);
    } else if (line.trim() === "") {
      // What stands by itself is a note, or how the words are to look.
      open = undefined;
    } else if (!isName(lines, index)) {
      append(open, spoken(line));
    }
  });
  return cues;
}

/** Whether a line names the cue whose time is on the next one. */
function isName(lines: readonly string[], index: number): boolean {
  const isBefore = TIMING.test(lines[index + 1] ?? "");
  const line = (lines[index] ?? "").trim();
  return isBefore && ((lines[index - 1] ?? "").trim() === "" || /^\d+$/.test(line));
}

/** The words of a line without the marks of WebVTT; who speaks stands before them. */
function spoken(line: string): string {
  const said = line.replace(/<v(?:\.[^\s>]*)?\s+([^>]*)>/g, "$1: ").replace(/<[^>]*>/g, "");
  return said.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

function append(cue: OpenCue | undefined, words: string): void {
  if (cue !== undefined) cue.text = `${cue.text} ${words.trim()}`.trim();
}

function secondsOf(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) && value >= 0 ? value : undefined;
  if (typeof value !== "string" || value.trim() === "") return undefined;
  const parts = value.replace(",", ".").split(":").map(Number);
  if (parts.length > 3 || parts.some(Number.isNaN)) return undefined;
  return parts.reduce((sum, part) => 60 * sum + part, 0);
}
