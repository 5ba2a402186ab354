/** What happens when in a recording: scenes, and transcripts whose lines begin with a time. */
export interface Cue {
  /** In seconds from the beginning; undefined where nobody has said when. */
  readonly start: number | undefined;
  readonly text: string;
}

type Members = Readonly<Record<string, unknown>>;

const TIMED_LINE = /^\s*[[(]?((?:\d{1,2}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?)[\])]?(?:\s*-->\s*\S+)?\s*[-–:]?\s*(.*)$/;
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

/** The cues of a transcript: its lines that begin with a time, or none if it has no such lines. */
export function cuesOfTranscript(transcript: string): readonly Cue[] {
  const cues: { start: number; text: string }[] = [];
  for (const line of transcript.split("\n")) {
    const [, time, words = ""] = TIMED_LINE.exec(line) ?? [];
    const start = time === undefined ? undefined : secondsOf(time);
    const last = cues.at(-1);
    if (start !== undefined) cues.push({ start, text: words });
    // Of subtitles, the words are on the lines behind the time.
    else if (last !== undefined && line.trim() !== "" && !/^\d+$/.test(line.trim())) {
      last.text = `${last.text} ${line.trim()}`.trim();
    }
  }
  return cues.filter(({ text }) => text !== "");
}

function secondsOf(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) && value >= 0 ? value : undefined;
  if (typeof value !== "string") return undefined;
  const parts = value.replace(",", ".").split(":").map(Number);
  if (parts.length > 3 || parts.some(Number.isNaN)) return undefined;
  return parts.reduce((sum, part) => 60 * sum + part, 0);
}
