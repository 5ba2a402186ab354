/**
 * What is typed into a field, which goes into the address once its writer pauses.
 *
 * The address leads: where Back, a link or another control changes it, the field shows what it has
 * then, and what was typed and not yet asked for is given up.
 */
import { useEffect, useRef, useState } from "react";
import { useNavigation } from "react-router";

const TYPING_PAUSE_MS = 250;

export function useTyped(
  asked: string,
  ask: (text: string) => void,
): readonly [string, (text: string) => void] {
  const [typed, setTyped] = useState(asked);
  const latest = useRef(ask);
  const own = useRef(asked);
  const timer = useRef<number>(undefined);
  latest.current = ask;
  const isLeaving = useRef(false);
  isLeaving.current = useNavigation().state !== "idle";

  useEffect(() => {
    if (asked === own.current) return;
    window.clearTimeout(timer.current);
    own.current = asked;
    setTyped(asked);
  }, [asked]);

  useEffect(() => () => window.clearTimeout(timer.current), []);

  return [
    typed,
    (text) => {
      setTyped(text);
      window.clearTimeout(timer.current);
      timer.current = window.setTimeout(() => {
        // A view that is still loading would be given up for another address of this one.
        if (isLeaving.current) return;
        own.current = text;
        latest.current(text);
      }, TYPING_PAUSE_MS);
    },
  ];
}
