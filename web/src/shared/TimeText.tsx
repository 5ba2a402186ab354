/** A moment in the reader's own time; always the same text for the same moment. */
import { momentText, timeText } from "./formats";

interface TimeTextProps {
  readonly at: string;
  /** The time alone, where the day stands above. */
  readonly isShort?: boolean;
}

export function TimeText({ at, isShort = false }: TimeTextProps) {
  return (
    <time dateTime={at} title={isShort ? momentText(at) : at}>
      {isShort ? timeText(at) : momentText(at)}
    </time>
  );
}
