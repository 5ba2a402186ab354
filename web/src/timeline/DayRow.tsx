/** The day on which the entries below were written. */
import { dayText } from "../shared/formats";

export function DayRow({ day }: { day: string }) {
  return (
    <p className="day">
      <span>{dayText(day)}</span>
    </p>
  );
}
