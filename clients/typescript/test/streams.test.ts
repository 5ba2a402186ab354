/** What is long: content, uploads and events, over lines that break. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";

import {
  ConflictError,
  DigestMismatchError,
  Pagefault,
  PagefaultError,
  AuthenticationError,
  type StreamEvent,
} from "../client/src/index.ts";
import { Sha256 } from "../client/src/sha256.ts";
import { badLine } from "./kit/badLine.ts";
import { startService } from "./kit/service.ts";

const NOISE = new Uint8Array(randomBytes(1_500_000));
const PIECE = 400_000;
const service = await startService();
const line = await badLine(service.url);
const pf = new Pagefault(service.url);
const shaky = new Pagefault(line.url);
const { uri } = await pf.resources.upload(NOISE, { filename: "noise.bin" });

test("SHA-256 is that of everybody else, however the bytes are cut", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000]) {
    const bytes = NOISE.subarray(0, length);
    const hash = new Sha256();
    for (let start = 0; start < length; start += 13)
      hash.update(bytes.subarray(start, Math.min(start + 13, length)));
    assert.equal(hash.hex(), createHash("sha256").update(bytes).digest("hex"));
  }
});

test("a file that the project has is stored by its digest, without its bytes", async () => {
  const sent: number[] = [];
  const counting = new Pagefault(service.url, {
    fetch: (input, init) => {
      sent.push(init?.body instanceof Blob ? init.body.size : 0);
      return fetch(input, init);
    },
  });
  const bytes = new Uint8Array(randomBytes(20_000));
  const first = await counting.resources.upload(bytes, { filename: "one.bin" });
  assert.deepEqual(sent.splice(0), [0, 20_000]);
  const copy = await counting.resources.upload(bytes, { filename: "two.bin", alias: "copy" });
  assert.deepEqual(sent.splice(0), [0]);
  assert.deepEqual([copy.digest, copy.filename], [first.digest, "two.bin"]);
  assert.equal((await pf.aliases.get("copy")).uri, copy.uri);
  await counting.resources.upload(bytes.subarray(1), { filename: "three.bin" });
  assert.deepEqual(sent.splice(0), [19_999]);
  // Of a file in pieces the caller may know the digest.
  const digest = `sha-256:${createHash("sha256").update(NOISE).digest("hex")}`;
  const again = await counting.resources.upload(new Blob([NOISE]), { pieceBytes: PIECE, digest });
  assert.deepEqual([sent.splice(0), again.size], [[0], NOISE.length]);
});

test("content goes on after the line broke, and is verified", async () => {
  line.break("/content", { cutAfter: 100_000 }, { cutAfter: 500_000 });
  assert.deepEqual(await shaky.resources.bytes(uri), NOISE);
  line.break("/content", "corrupt");
  await assert.rejects(shaky.resources.bytes(uri), DigestMismatchError);
  line.break("/content", { cutAfter: 10 });
  const part = await shaky.resources.bytes(uri, { range: { start: 1_000, end: 2_000 } });
  assert.deepEqual(part, NOISE.subarray(1_000, 2_000));
  const response = await pf.resources.content(uri, { range: { start: 1_499_990 } });
  assert.deepEqual(
    [response.status, new Uint8Array(await response.arrayBuffer())],
    [206, NOISE.subarray(-10)],
  );
});

test("a line that breaks again and again is an error, and giving up ends it", async () => {
  line.break("/content", { cutAfter: 10 }, "lose-request", "lose-request", "lose-request");
  const hasty = new Pagefault(line.url, { maxRetries: 1 });
  await assert.rejects(hasty.resources.bytes(uri), PagefaultError);
  const given = new AbortController();
  const body = (await pf.resources.content(uri, { signal: given.signal })).body!.getReader();
  await body.read();
  given.abort(new Error("enough"));
  await assert.rejects(async () => {
    while (!(await body.read()).done);
  }, /enough/);
});

test("a reader reads anywhere, ahead where it goes on, and each block once", async () => {
  const seen = line.requests.length;
  const reader = await shaky.resources.open(uri);
  assert.equal(reader.size, NOISE.length);
  for (let at = 0; at < NOISE.length; at += 70_000) {
    assert.deepEqual(await reader.read(at, 70_000), NOISE.subarray(at, at + 70_000));
  }
  assert.deepEqual(await reader.read(262_140, 10), NOISE.subarray(262_140, 262_150));
  assert.equal((await reader.read(NOISE.length, 10)).length, 0);
  const asked = line.requests.slice(seen).filter((request) => request.includes("/content"));
  assert.ok(asked.length <= 4, asked.join("\n"));
  assert.deepEqual(
    new Uint8Array(await new Response(reader.stream(1_000_000)).arrayBuffer()),
    NOISE.subarray(1_000_000),
  );
});

test("a reader asks again for what did not come", async () => {
  const reader = await shaky.resources.open(uri, { maxRetries: 0 });
  line.break("/content", { cutAfter: 10 });
  await assert.rejects(reader.read(0, 100), PagefaultError);
  assert.deepEqual(await reader.read(0, 100), NOISE.subarray(0, 100));
});

test("what a reader reads in order to the end is verified, however it is cut", async () => {
  const reader = await shaky.resources.open(uri);
  line.break("/content", "corrupt");
  await assert.rejects(new Response(reader.stream()).arrayBuffer(), DigestMismatchError);
  line.break("/content", "corrupt");
  await assert.rejects(reader.read(0, reader.size), DigestMismatchError);
  line.break("/content", "corrupt");
  const cut = async () => {
    for (let at = 0; at < reader.size; at += 70_000) await reader.read(at, 70_000);
  };
  await assert.rejects(cut(), DigestMismatchError);
  // What was damaged is not kept, and a way that turns back is no reading in order.
  await cut();
  await reader.read(0, 10);
  await cut();
  const whole = new Uint8Array(await new Response(reader.stream()).arrayBuffer());
  assert.deepEqual(whole, NOISE);
});

test("an upload that arrives otherwise than it was sent is an error", async () => {
  const options = { filename: "sent.bin", pieceBytes: PIECE };
  const bytes = NOISE.slice(2);
  line.break("PATCH", "corrupt-request");
  await assert.rejects(shaky.resources.upload(bytes, options), DigestMismatchError);
  line.break("POST /api/resources", "corrupt-request");
  const stream = new Blob([bytes]).stream();
  await assert.rejects(shaky.resources.upload(stream, options), DigestMismatchError);
});

test("an upload is not gone on with by another file", async () => {
  const given = new AbortController();
  let uploadId = "";
  const begun = pf.resources.upload(NOISE.slice(3), {
    pieceBytes: PIECE,
    signal: given.signal,
    onStart: (id) => (uploadId = id),
    onProgress: ({ sent }) => sent > 0 && given.abort(),
  });
  await assert.rejects(begun, { name: "AbortError" });
  const options = { pieceBytes: PIECE, uploadId };
  await assert.rejects(pf.resources.upload(NOISE, options), /is of a file of 1499997 bytes/);
  const other = NOISE.slice(3);
  other[0]! ^= 1;
  await assert.rejects(pf.resources.upload(other, options), DigestMismatchError);
  // All has arrived, of which only the first byte was this file's; a stream is read over for it.
  const own = new Blob([NOISE.slice(3)]).stream();
  const record = await pf.resources.upload(own, { ...options, size: NOISE.length - 3 });
  assert.equal(record.size, NOISE.length - 3);
});

test("an upload in pieces goes on after each break, and tells how far it is", async () => {
  const file = new File([NOISE.slice(1)], "talk.bin", { type: "application/x-noise" });
  const told: number[] = [];
  let begun = "";
  line.break("PATCH", { cutRequestAfter: 150_000 }, "lose-answer", "lose-request");
  const onProgress = ({ sent, total }: { sent: number; total: number | undefined }) => {
    assert.equal(total, file.size);
    told.push(sent);
  };
  const record = await shaky.resources.upload(file, {
    pieceBytes: PIECE,
    onProgress,
    onStart: (id) => (begun = id),
  });
  assert.equal(record.filename, "talk.bin");
  assert.equal(
    record.digest,
    `sha-256:${createHash("sha256").update(NOISE.slice(1)).digest("hex")}`,
  );
  assert.deepEqual(
    told,
    [...told].sort((one, two) => one - two),
  );
  assert.deepEqual([told[0], told.at(-1)], [0, file.size]);
  const again = await shaky.resources.upload(file, { uploadId: begun });
  assert.deepEqual(again, record);
});

test("a stream is uploaded without being held: with its size in pieces, without it at once", async () => {
  async function* chunks() {
    for (let at = 0; at < NOISE.length; at += 65_536) yield NOISE.subarray(at, at + 65_536);
  }
  line.break("PATCH", "lose-answer", { cutRequestAfter: 100_000 });
  const options = { filename: "noise.bin", pieceBytes: PIECE };
  assert.equal(
    (await shaky.resources.upload(chunks(), { ...options, size: NOISE.length })).uri,
    uri,
  );
  assert.equal((await pf.resources.upload(new Blob([NOISE]).stream(), options)).uri, uri);
  await assert.rejects(
    pf.resources.upload(chunks(), { ...options, size: NOISE.length + 1 }),
    /ended at 1500000 of 1500001/,
  );
});

test("small files go in one request with their digest, and are repeated", async () => {
  line.break("POST /api/resources", "lose-answer", {
    answer: 503,
    headers: { "Retry-After": "0" },
  });
  const seen = line.requests.length;
  assert.equal((await shaky.resources.upload("")).size, 0);
  assert.equal(line.requests.length - seen, 3);
  assert.equal((await pf.resources.upload(new Uint8Array([1, 2]).buffer)).size, 2);
});

test("what waiting does not mend ends an upload", async () => {
  await pf.resources.upload("other", { alias: "taken" });
  const seen = line.requests.length;
  const failure = await shaky.resources
    .upload(NOISE, { alias: "taken", pieceBytes: PIECE, filename: "z" })
    .catch((each: unknown) => each);
  assert.ok(failure instanceof ConflictError && failure.code === "alias-taken", String(failure));
  assert.equal(
    line.requests.slice(seen).filter((request) => request.startsWith("PATCH")).length,
    0,
  );
});

test("events go on after each break, none missed and none twice", async () => {
  const session = pf.session("heard");
  for (const content of ["1", "2", "3"]) await session.append({ role: "user", content });
  line.break("/sessions/heard/events", { cutAfter: 350 }, "lose-request", {
    answer: 503,
    headers: { "Retry-After": "0" },
  });
  const states: string[] = [];
  const heard: StreamEvent[] = [];
  for await (const event of shaky
    .session("heard")
    .events({ after: 0, onState: (state) => states.push(state) })) {
    heard.push(event);
    if (heard.length === 3) await session.append({ role: "user", content: "4" });
    if (heard.length === 4) break;
  }
  assert.deepEqual(
    heard.map(({ id }) => id),
    [1, 2, 3, 4],
  );
  assert.deepEqual(states.slice(0, 3), ["connecting", "live", "reconnecting"]);
  assert.equal(states.at(-1), "live");
});

test("a stream that begins now hears what is written after its position is told", async () => {
  const session = pf.session("now");
  await session.append({ role: "user", content: "before" });
  const given = new AbortController();
  const heard: unknown[] = [];
  const onPosition = (position: number) => {
    if (position === 1) void session.append({ role: "user", content: "after" });
  };
  for await (const { event, data } of session.events({ signal: given.signal, onPosition })) {
    heard.push(event === "message:created" && data.message["content"]);
    given.abort();
  }
  assert.deepEqual(heard, ["after"]);
});

test("a position that is not kept is a reset, and the stream goes on", async () => {
  const session = pf.session("reset");
  await session.append({ role: "user", content: "1" });
  const names: string[] = [];
  for await (const { event } of session.events({ after: 999 })) {
    names.push(event);
    if (event === "reset") await session.append({ role: "user", content: "2" });
    else break;
  }
  assert.deepEqual(names, ["reset", "message:created"]);
});

test("a stream is refused where waiting is of no use", async () => {
  const keyed = await startService("api-key");
  await assert.rejects(
    new Pagefault(keyed.url, { apiKey: "pf_wrong" }).events().next(),
    AuthenticationError,
  );
});
