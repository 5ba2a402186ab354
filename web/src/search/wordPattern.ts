/** What begins with less is another word more often than another form of it. */
const LEAST_BEGINNING = 3;
/** Of a longer word, the last letters are those that its forms differ in: `declined`, "declines". */
const LEAST_WITH_FORMS = 6;
/** The characters around a word in a passage. */
const AROUND = 60;

/** The words of a query in a text, and their forms: `lock` in "locked". */
export function wordPattern(asked: string): RegExp | undefined {
  const words = wordsIn(asked);
  if (words.length === 0) return undefined;
  const forms = words.map((word) =>
    word.length < LEAST_BEGINNING ? `${word}(?![\\p{L}\\p{N}_])` : `${stemOf(word)}[\\p{L}\\p{N}_]*`,
  );
  return new RegExp(`(?<![\\p{L}\\p{N}_])(${forms.join("|")})`, "giu");
}

/** Whether a passage has each word of a query. */
export function hasEachWord(passage: string, asked: string): boolean {
  return wordsIn(asked).every((word) => wordPattern(word)?.test(passage) !== false);
}

/** What stands around the first place of each word of a query in a text. */
export function passageOf(text: string, asked: string): string {
  const passages = wordsIn(asked).map((word) => {
    const at = text.search(wordPattern(word) ?? "");
    const [from, to] = [Math.max(0, at - AROUND), at + word.length + AROUND];
    return `${from > 0 ? "…" : ""}${text.slice(from, to)}${to < text.length ? "…" : ""}`;
  });
  return [...new Set(passages)].join(" ");
}

function stemOf(word: string): string {
  return word.length < LEAST_WITH_FORMS ? word : word.slice(0, -2);
}

function wordsIn(asked: string): readonly string[] {
  return asked.match(/[\p{L}\p{N}_]{2,}/gu) ?? [];
}
