/** Pins a session, which is listed first then, or no longer. */
import { SESSIONS } from "../words/sessions";

interface PinButtonProps {
  readonly name: string;
  readonly isPinned: boolean;
  readonly isBusy: boolean;
  readonly onPin: (isPinned: boolean) => void;
}

export function PinButton({ name, isPinned, isBusy, onPin }: PinButtonProps) {
  return (
    <button
      type="button"
      className="pin"
      aria-label={SESSIONS.pin(name)}
      title={isPinned ? SESSIONS.unpinHint : SESSIONS.pinHint}
      aria-pressed={isPinned}
      // It keeps the focus meanwhile, which a disabled one would lose.
      aria-disabled={isBusy}
      onClick={() => isBusy || onPin(!isPinned)}
    >
      <span aria-hidden="true">{isPinned ? "★" : "☆"}</span>
    </button>
  );
}
