/** What happens when in a recording, out of the transcripts and scenes that agents keep. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { cuesOfTranscript, cuesOfWords } from "../react/src/cues.ts";

test("lines that begin with a time are cues, and those behind them go on with them", () => {
  assert.deepEqual(cuesOfTranscript("[00:00] Hello.\n[00:01] It has\nexpired."), [
    { start: 0, text: "Hello." },
    { start: 1, text: "It has expired." },
  ]);
  assert.deepEqual(cuesOfTranscript("0:05 - 0:09: Hello.\n1:02:03.5 There"), [
    { start: 5, text: "Hello." },
    { start: 3723.5, text: "There" },
  ]);
});

const CUES = `
NOTE The names are made up.

opening
00:00.000 --> 00:01.000 align:start line:0
<v Roger>Hi &amp; bye</v>
<i>there</i>

00:01.500 --> 00:02.000
So it is.`;

for (const header of ["WEBVTT\n", ""]) {
  test(`subtitles are read ${header === "" ? "without" : "with"} their header`, () => {
    assert.deepEqual(cuesOfTranscript(header + CUES), [
      { start: 0, text: "Roger: Hi & bye there" },
      { start: 1.5, text: "So it is." },
    ]);
  });
}

test("subtitles without blank lines between them, or with words behind the time, are read", () => {
  assert.deepEqual(
    cuesOfTranscript("1\n00:00:00,000 --> 00:00:01,000\nHello\n2\n00:00:01,000 --> 00:00:02,000\nBye"),
    [
      { start: 0, text: "Hello" },
      { start: 1, text: "Bye" },
    ],
  );
  assert.deepEqual(cuesOfTranscript("00:01.000 --> 00:02.000 Hello you"), [
    { start: 1, text: "Hello you" },
  ]);
});

test("words without a time are no cues", () => {
  assert.deepEqual(cuesOfTranscript("It says that my card has expired."), []);
  assert.deepEqual(cuesOfWords("It says so:\n  - twice"), []);
});

test("words of a page fault have scenes, or else a transcript that says when", () => {
  assert.deepEqual(cuesOfWords("  - The basket\n  - 0:01-0:02 The pointer\nNo times here."), [
    { start: undefined, text: "The basket" },
    { start: 1, text: "The pointer" },
  ]);
  assert.deepEqual(cuesOfWords("  - The basket\n[00:03] Hello"), [{ start: 3, text: "Hello" }]);
});
