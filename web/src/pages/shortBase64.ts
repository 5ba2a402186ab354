/** JSON to be looked at: a run of characters that can only be base64 is cut, and said to be. */
import { numberText } from "../shared/formats";
import { PAGES } from "../words/pages";

const KEPT = 64;
const BEGINNING = /[A-Za-z0-9+/_-]{240}/g;
// In steps: a regular expression takes stack for every character it may have to give back.
const STEP = /[A-Za-z0-9+/_-]{1,10000}/y;
const PADDING = /={0,2}/y;

/** The same text with long base64 shortened, wherever it stands. */
export function withShortBase64(source: string): string {
  const out: string[] = [];
  let done = 0;
  BEGINNING.lastIndex = 0;
  for (let run = BEGINNING.exec(source); run !== null; run = BEGINNING.exec(source)) {
    const end = endOfRun(source, BEGINNING.lastIndex);
    const left = end - run.index - KEPT;
    out.push(source.slice(done, run.index + KEPT));
    out.push(PAGES.shortened(numberText(left)));
    done = end;
    BEGINNING.lastIndex = end;
  }
  out.push(source.slice(done));
  return out.join("");
}

function endOfRun(source: string, from: number): number {
  let end = from;
  STEP.lastIndex = end;
  while (STEP.test(source)) end = STEP.lastIndex;
  PADDING.lastIndex = end;
  PADDING.test(source);
  return PADDING.lastIndex;
}
