/** The client against a service: its nouns, its errors, and what it repeats. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import {
  APIConnectionError,
  APIConnectionTimeoutError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  HistoryDiverged,
  InternalServerError,
  NotFoundError,
  NotModifiedError,
  Pagefault,
  PreconditionFailedError,
  UnstorableError,
  type TurnStep,
} from "../client/src/index.ts";
import { badLine } from "./kit/badLine.ts";
import { outages } from "./kit/outages.ts";
import { startService } from "./kit/service.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const service = await startService();
const line = await badLine(service.url);
const pf = new Pagefault(service.url);
const shaky = new Pagefault(line.url);

test("a tool result is stored once, and read back as it was answered", async () => {
  const draft = {
    sessionId: "results",
    toolName: "clock",
    toolCallId: "c1",
    result: { content: [{ type: "text", text: "Ten." }] },
  };
  const record = await pf.toolResults.create(draft);
  assert.deepEqual(await pf.toolResults.create(draft), record);
  assert.deepEqual(await pf.toolResults.get(record.id), record);
  assert.deepEqual(await pf.toolResults.list({ sessionId: "results" }).all(), [record]);
  const { messages } = await pf.toolResults.render(record.id, { target: "openai-chat" });
  assert.deepEqual(messages, [{ role: "tool", tool_call_id: "c1", content: "Ten." }]);
  const rendered = await pf.session("results").toolResult(draft, { render: "anthropic" });
  assert.equal(rendered.rendering?.target, "anthropic");
});

test("a new call of a known id has its own result", async () => {
  const draft = { toolName: "list_dir", toolCallId: "list_dir:0", result: "a.txt" };
  const session = pf.session("anew");
  const first = await session.toolResult(draft);
  const second = await session.toolResult({ ...draft, newCall: true });
  assert.notEqual(second.id, first.id);
  assert.equal(second.toolCallId, first.toolCallId);
});

test("a refusal is an error of its kind, with the problem document", async () => {
  const draft = { sessionId: "refusals", toolName: "clock", toolCallId: "c1", result: 1 };
  await pf.toolResults.create(draft);
  const conflict = await pf.toolResults
    .create({ ...draft, result: 2 })
    .catch((failure: unknown) => failure);
  assert.ok(conflict instanceof ConflictError);
  assert.equal(conflict.code, "tool-call-answered");
  assert.equal(conflict.status, 409);
  assert.match(conflict.requestId, /^[0-9a-f]{32}$/);
  await assert.rejects(pf.pages.get("nobody"), NotFoundError);
  const wrong = await pf.pages
    .put("wrong", { modality: "sculpture" } as never)
    .catch((failure: unknown) => failure);
  assert.ok(wrong instanceof BadRequestError);
  assert.equal(wrong.errors[0]?.pointer, "/modality");
  assert.throws(() => pf.pages.get(".."), TypeError);
  assert.throws(() => pf.session(""), TypeError);
});

test("a session is forked, and the list of an SDK is made to fit", async () => {
  const session = pf.session("fitted");
  const history = [
    { role: "user", content: "What time is it?" },
    { role: "assistant", content: "Ten." },
  ];
  const fitted = await session.fit(history, { target: "anthropic", maxTokens: 4_000 });
  assert.deepEqual(
    fitted.messages.map((each) => each["role"]),
    ["user", "assistant"],
  );
  assert.equal(fitted.receipt.appended, 2);
  const forked = await session.fork(1, "fitted-2");
  assert.deepEqual(forked.forkedFrom, { sessionId: "fitted", upTo: 1 });
  const other = [history[0], { role: "assistant", content: "Nine." }];
  const diverged = await session
    .fit(other, { target: "anthropic" })
    .catch((failure: unknown) => failure);
  assert.ok(diverged instanceof HistoryDiverged && diverged instanceof ConflictError);
  assert.deepEqual([diverged.seq, diverged.pointer], [2, "/1/content"]);
  const apart = await session.fit(other, { target: "anthropic", onDivergence: "fork" });
  assert.notEqual(apart.session.id, session.id);
  assert.equal(apart.receipt.lastSeq, 2);
});

test("pages are written, read at each level, found, faulted and removed", async () => {
  const page = await pf.pages.put("notes", {
    modality: "text",
    content: "Ten sheep. ".repeat(100),
    session_id: "farm",
  });
  assert.equal(page.version, 1);
  assert.equal((await pf.pages.putLevel("notes", "ABSTRACT", "Sheep.")).name, "ABSTRACT");
  assert.equal((await pf.pages.level("notes", 2)).content, "Sheep.");
  assert.equal((await pf.pages.blocks("notes", { level: "ABSTRACT" })).level, 2);
  assert.equal((await pf.pages.patch("notes", { caption: "The farm" })).caption, "The farm");
  assert.deepEqual(
    (await pf.pages.search("farm").all()).map((hit) => hit.page_id),
    ["notes"],
  );
  const fault = await pf.pages.fault("notes", {
    target_level: "ABSTRACT",
    session_id: "farm",
    tool_call_id: "c9",
  });
  assert.match(JSON.stringify(fault.content), /Sheep\./);
  assert.equal((await (await pf.pages.download("notes")).text()).length, 1100);
  assert.equal((await pf.session("farm").manifest().all()).length, 1);
  assert.equal(
    (await pf.pages.render("notes", { target: "anthropic", level: 0 })).target,
    "anthropic",
  );
  const created = await pf.pages.createMany([{ content: "one" }, { content: "two" }]);
  assert.equal(created.items.length, 2);
  await pf.pages.deleteLevel("notes", 2);
  await pf.pages.delete("notes");
  await assert.rejects(pf.pages.get("notes"), NotFoundError);
});

test("a page fault that fails has a message for the model", async () => {
  const request = { session_id: "farm", tool_call_id: "c10" };
  const failure = await pf.pages.fault("nobody", request).catch((error: unknown) => error);
  assert.ok(failure instanceof NotFoundError);
  assert.deepEqual([failure.toolMessage?.role, failure.toolMessage?.tool_call_id], ["tool", "c10"]);
  assert.match(failure.toolMessage!.content, /nobody/);
  const other = await pf.pages.get("nobody").catch((error: unknown) => error);
  assert.ok(other instanceof NotFoundError && other.toolMessage === undefined);
});

test("all kinds are searched, part by part", async () => {
  await pf.pages.put("barn", { content: "Wool of the barn.", session_id: "shed" });
  await pf.session("shed").append({ role: "user", content: "Where is the wool?" });
  await pf.session("elsewhere").append({ role: "user", content: "More wool." });
  const found = await pf.search("wool", { sessionId: "shed", limit: 1 }).all();
  assert.deepEqual(found.map(({ kind }) => kind).sort(), ["message", "page"]);
  const pages = await pf.search("wool", { kinds: ["page", "file"] }).slice();
  assert.deepEqual(
    pages.items.map(({ pageId }) => pageId),
    ["barn"],
  );
});

test("a list is read part by part", async () => {
  const session = pf.session("long");
  for (let turn = 1; turn <= 5; turn += 1)
    await session.append({ role: "user", content: `${turn}` });
  const seqs: number[] = [];
  for await (const entry of session.messages({ limit: 2 })) seqs.push(entry.seq);
  assert.deepEqual(seqs, [1, 2, 3, 4, 5]);
  const behind = await session.messages({ after: 1, limit: 2 }).all();
  assert.deepEqual(
    behind.map((entry) => entry.seq),
    [2, 3, 4, 5],
  );
  const first = await session.messages({ limit: 4 }).slice();
  const rest = await session.messages({ limit: 4 }).slice(first.nextCursor);
  assert.deepEqual([first.items.length, rest.items.length, rest.nextCursor], [4, 1, null]);
});

test("interactions, aliases, links, references and bundles do their round trip", async () => {
  const session = pf.session("asked");
  const file = await pf.resources.upload("a,b\n1,2\n", {
    filename: "table.csv",
    mimeType: "text/csv",
    alias: "doc-1",
  });
  assert.equal((await pf.aliases.get("doc-1")).uri, file.uri);
  assert.deepEqual(
    (await pf.aliases.list({ uri: file.uri }).all()).map(({ alias }) => alias),
    ["doc-1"],
  );
  const asked = await session.interact({
    input: { parts: [{ text: "Sum?", attachments: [{ id: "doc-1" }] }] },
  });
  await session.answer(asked.id, { role: "assistant", content: "3" });
  assert.equal((await session.interactions().all())[0]?.interaction.output?.content, "3");
  const { arguments: resolved } = await pf.resolve({
    sessionId: "asked",
    as: "text",
    arguments: { csv: `@${file.uri}` },
  });
  assert.deepEqual(resolved, { csv: "a,b\n1,2\n" });
  const { url } = await pf.resources.signedUrl(file.uri, { disposition: "attachment" });
  assert.equal(await (await fetch(url)).text(), "a,b\n1,2\n");
  assert.equal((await pf.resources.text(file.uri, { lines: "2" })).text, "1,2");
  assert.equal((await pf.resources.text(file.uri, { grep: "a" })).totalMatches, 1);
  await pf.aliases.delete("doc-1");
  const bundle = new Uint8Array(await (await session.bundle()).arrayBuffer());
  const receipt = await session.delete();
  assert.equal(receipt?.deleted.interactions, 1);
  assert.equal((await pf.sessions.importBundle(bundle)).id, "asked");
  assert.equal((await pf.sessions.readFile(bundle)).sessionId, "asked");
  assert.equal((await pf.sessions.list({ q: "aske" }).all()).length, 1);
});

test("the tools of the memory, the doctor and the version answer", async () => {
  const { tools } = await pf.tools.list({
    target: "anthropic",
    only: ["page_fault", "list_media"],
  });
  assert.deepEqual(
    tools.map((tool) => tool["name"]),
    ["page_fault", "list_media"],
  );
  assert.match(await pf.tools.instructions({ style: "relaxed" }), /page/);
  const told = await pf
    .session("tools")
    .callTool({ target: "openai-chat", id: "t1", name: "list_media", arguments: {} });
  assert.equal(told.messages[0]?.["tool_call_id"], "t1");
  const diagnosis = await pf.doctor([{ role: "tool", tool_call_id: "x", content: "?" }], {
    target: "openai-chat",
    apply: true,
  });
  assert.equal(diagnosis.findings[0]?.rule, "no-call");
  const result = { type: "tool_result", tool_use_id: "x", content: "?" };
  assert.equal((await pf.doctor([{ role: "user", content: [result] }])).target, "anthropic");
  assert.equal((await pf.doctor([{ role: "user", content: "Hi." }])).target, "openai-chat");
  assert.equal((await pf.doctor({ sessionId: "tools" })).target, "openai-chat");
  assert.equal((await pf.version()).name, "pagefault");
});

test("a write whose answer was lost is sent again, and stored once", async () => {
  const session = shaky.session("once");
  line.break("/sessions/once/messages", "lose-answer", "lose-request");
  assert.equal((await session.append({ role: "user", content: "Hello." })).seq, 1);
  line.break("/tool-results", "lose-answer");
  await session.toolResult({ toolName: "t", toolCallId: "c", result: 1 });
  line.break("/turns", "lose-answer");
  assert.deepEqual(
    (await session.turn([{ message: { role: "user", content: "More." } }])).seqs,
    [3],
  );
  assert.equal((await pf.session("once").messages().all()).length, 3);
  line.break("DELETE /api/pages/short", "lose-answer");
  await pf.pages.put("short", { content: "x" });
  await shaky.pages.delete("short");
});

test("a deletion whose answer was lost has happened where nothing is left, and only there", async () => {
  const ten = { role: "user", content: "Ten." } as const;
  await pf.session("gone").append(ten);
  assert.equal((await shaky.session("gone").delete())?.deleted.messages, 1);
  await pf.session("gone").append(ten);
  line.break("DELETE /api/sessions/gone", "lose-answer");
  assert.equal(await shaky.session("gone").delete(), undefined);
  await assert.rejects(pf.session("gone").get(), NotFoundError);
  // With a 503 nothing was done.
  const busy = { answer: 503, headers: { "Retry-After": "0" } };
  for (const path of ["/api/pages/never", "/api/sessions/never"])
    line.break(`DELETE ${path}`, busy);
  await assert.rejects(shaky.pages.delete("never"), NotFoundError);
  await assert.rejects(shaky.session("never").delete(), NotFoundError);
  // A proxy does not know whether it was done.
  line.break("DELETE /api/pages/never", { answer: 504 });
  await shaky.pages.delete("never");
});

test("what the service does not recognise again is not repeated, unless nothing was done", async () => {
  line.break("/pages/bulk", "lose-answer");
  await assert.rejects(shaky.pages.createMany([{ content: "x" }]), APIConnectionError);
  const busy = {
    answer: 503,
    headers: { "Retry-After": "0", "Content-Type": "application/problem+json" },
  };
  line.break("/pages/bulk", busy);
  assert.equal((await shaky.pages.createMany([{ content: "x" }])).items.length, 1);
  line.break("/pages/bulk", { ...busy, answer: 504 });
  await assert.rejects(shaky.pages.createMany([{ content: "x" }]), InternalServerError);
  line.break("/api/pages/by-hand", "lose-answer");
  const page = { method: "PUT", json: { content: "x" }, headers: { "if-none-match": "*" } };
  await assert.rejects(shaky.request("/api/pages/by-hand", page), APIConnectionError);
  const problem = {
    type: "x",
    title: "Away",
    status: 503,
    detail: "Mend it.",
    instance: "",
    code: "store-misconfigured",
    requestId: "",
  };
  line.break("/api/version", { ...busy, body: JSON.stringify(problem) });
  const lasting = await shaky.version().catch((failure: unknown) => failure);
  assert.ok(lasting instanceof InternalServerError && lasting.code === "store-misconfigured");
});

test("an answer that is cut off, or is no answer of the service, is asked for again or refused", async () => {
  line.break("/api/version", { cutAfter: 5 });
  assert.equal((await shaky.version()).name, "pagefault");
  line.break("/api/version", { answer: 502, body: "<h1>Bad gateway</h1>" });
  assert.equal((await shaky.version()).name, "pagefault");
  line.break("/api/version", { answer: 200, body: "<h1>Log in</h1>" });
  await assert.rejects(shaky.version(), { name: "PagefaultError", message: /not JSON/ });
});

test("time-outs and signals end a request", async () => {
  line.break("/api/version", "hang", "hang", "hang");
  await assert.rejects(shaky.version({ timeoutMs: 50, maxRetries: 0 }), APIConnectionTimeoutError);
  assert.equal((await shaky.version({ timeoutMs: 50, maxRetries: 3 })).name, "pagefault");
  line.break("/api/version", "hang");
  const given = new AbortController();
  const asked = shaky.version({ signal: given.signal });
  given.abort(new Error("enough"));
  await assert.rejects(asked, /enough/);
  await assert.rejects(shaky.version({ signal: AbortSignal.abort(new Error("never")) }), /never/);
  await assert.rejects(
    new Pagefault("http://127.0.0.1:9", { maxRetries: 0 }).version(),
    APIConnectionError,
  );
});

test("a wrapped function stores what it returns and shows it, and what it throws", async () => {
  const look = pf.wrap(
    async function look(what: string) {
      if (what === "dark") throw new RangeError("It is dark");
      return {
        content: [
          { type: "image", data: PIXEL, mimeType: "image/png" },
          { type: "text", text: what },
        ],
      };
    },
    { session: "wrapped", target: "anthropic" },
  );
  assert.match(JSON.stringify(await look("a dot")), /^\[\{"role":"user".*"type":"image".*a dot/);
  const say = pf.wrap((words: string) => words.toUpperCase(), {
    name: "say",
    callId: (words) => words,
  });
  assert.equal(await say("hello"), "HELLO");
  assert.match(JSON.stringify(await look("dark")), /RangeError: It is dark.*"is_error":true/);
  const stored = await pf.toolResults.list({ sessionId: "wrapped" }).all();
  assert.deepEqual(
    stored.map(({ toolName, sanitized }) => [toolName, sanitized.meta.success]).sort(),
    [
      ["look", false],
      ["look", true],
    ],
  );
});

test("a wrapped function returns its own value if that could not be stored or shown", async () => {
  for (const { name, pf: away } of await outages()) {
    const told: unknown[] = [];
    const options = { onStoreError: (failure: unknown) => told.push(failure) };
    const values = [undefined, null, "ten", { hour: 10 }, [new Uint8Array(2_000)], circular()];
    for (const value of values) {
      assert.equal(await away.wrap(() => value, options)(), value, name);
      assert.equal(await away.wrap(() => value, { ...options, target: "anthropic" })(), value, name);
    }
    const failing = away.wrap(() => Promise.reject(new RangeError("No.")), options);
    await assert.rejects(failing(), new RangeError("No."), name);
    const result = { content: [{ type: "text", text: "ten" }] };
    const client = { callTool: async () => result };
    assert.equal(await away.wrap(client, options)({ name: "look" }), result, name);
    assert.equal(told.length, 2 * values.length + 2);
  }
});

test("a wrapped function returns its own value where the service dies", async () => {
  const session = pf.session("dying");
  const impatient = new Pagefault(line.url, { maxRetries: 0 });
  const value = { picture: new Uint8Array(2_000) };
  const look = impatient.wrap(() => value, { session, onStoreError: () => undefined });
  assert.match(String(await look()), /@blob:/);
  // It stores the second result, and its answer is lost.
  for (const fault of ["lose-answer", { cutAfter: 20 }, "lose-request"] as const) {
    line.break("/api/tool-results", fault);
    assert.equal(await look(), value);
  }
  assert.equal((await session.messages().all()).length, 3);
  const onStoreError = (failure: unknown) => {
    throw failure;
  };
  line.break("/api/tool-results", "lose-request");
  await assert.rejects(impatient.wrap(() => value, { session, onStoreError })(), APIConnectionError);
});

function circular(): object {
  const made: Record<string, unknown> = { also: 1 };
  made["itself"] = [made];
  return made;
}

test("a value is stored whole, or refused with its place", async () => {
  const stored = await pf.wrap(() => ({
    digits: 2n ** 70n,
    counts: new Int8Array([-1, 1]),
    large: new BigInt64Array([2n ** 60n]),
    failure: new RangeError("No.", { cause: "dark" }),
    at: new URL("http://localhost/a"),
    boxed: Object(true) as boolean,
    absent: undefined,
    ["__proto__"]: 1,
  }))();
  assert.equal(
    String(stored).replaceAll(/\s/g, ""),
    '{"digits":1180591620717411303424,"counts":[-1,1],"large":[1152921504606846976],' +
      '"failure":{"name":"RangeError","message":"No.","cause":"dark"},' +
      '"at":"http://localhost/a","boxed":true,"__proto__":1}',
  );
  const file = new File([Buffer.alloc(2_000)], "a, b; ü.bin", { type: "application/x-thing" });
  const draft = { toolName: "look", toolCallId: "c1", result: { file } };
  const { sanitized } = await pf.toolResults.create(draft);
  assert.deepEqual(
    sanitized.resources.map(({ size }) => size),
    [2_000],
  );
  assert.match(JSON.stringify(sanitized.parts), /a, b; ü\.bin/);
  const refused: Record<string, unknown> = {
    "/result": Symbol("s"),
    "/result/0": [undefined],
    "/result/1": [1, , 3],
    "/result/rows/1/x~1y": { rows: [1, { "x/y": Number.NaN }] },
    "/result/run": { run: () => 1 },
    "/result/end": { end: new Date(Number.NaN) },
    "/result/of": { of: new Map([[1, "one"]]) },
    "/result/weights/1": { weights: new Float32Array([1, Infinity]) },
    "/result/also/itself/0": { also: circular() },
    "/result/soon": { soon: Promise.resolve(1) },
    "/result/rule": { rule: /x/ },
  };
  for (const [pointer, result] of Object.entries(refused)) {
    const draft = { toolName: "look", toolCallId: "c2", result };
    const failure: unknown = await pf.toolResults.create(draft).catch((error: unknown) => error);
    assert.ok(failure instanceof UnstorableError && failure instanceof TypeError, pointer);
    assert.equal(failure.pointer, pointer);
    assert.ok(failure.message.includes(pointer));
  }
});

test("an answer is given with its response, which has the ETag for a condition", async () => {
  const first = await pf.pages.put("tagged", { content: "one" }).withResponse();
  assert.equal(first.data.page_id, "tagged");
  assert.equal(first.response.status, 201);
  assert.match(first.requestId!, /^[0-9a-f-]{32,36}$/);
  const ifMatch = first.response.headers.get("ETag")!;
  const { response } = await pf.pages.get("tagged").withResponse();
  assert.equal(response.headers.get("ETag"), ifMatch);
  const known = pf.pages.get("tagged", { headers: { "If-None-Match": ifMatch } });
  await assert.rejects(known, NotModifiedError);
  await pf.pages.put("tagged", { content: "two" }, { ifMatch });
  await assert.rejects(pf.pages.put("tagged", { content: "three" }, { ifMatch }), PreconditionFailedError);
});

test("headers go out with every request, and with one", async () => {
  const sent: (string | null)[][] = [];
  const mine = new Pagefault(service.url, {
    defaultHeaders: { "X-Team": "farm", "X-Run": "1" },
    fetch: (input, init) => {
      const headers = new Headers(init?.headers);
      sent.push(["X-Team", "X-Run"].map((name) => headers.get(name)));
      return fetch(input, init);
    },
  });
  const headers = { "X-Run": "2" };
  await mine.version();
  await mine.pages.list({ headers }).all();
  await mine.session("headers").append({ role: "user", content: "Hi." }, { headers });
  await mine.toolResults.create({ toolName: "t", toolCallId: "c", result: 1 }, { headers });
  const { uri } = await mine.resources.upload("A text.", { headers });
  await mine.resources.bytes(uri, { headers });
  const [first, ...others] = sent;
  assert.deepEqual(first, ["farm", "1"]);
  assert.ok(others.length >= 5);
  for (const each of others) assert.deepEqual(each, ["farm", "2"]);
});

test("a retry is logged with its reason and the id of the request", async () => {
  const lines: string[] = [];
  const logger = { info: (text: string) => void lines.push(text) };
  const logging = new Pagefault(line.url, { logger });
  const path = "/api/tools/instructions";
  line.break(path, "lose-answer", { answer: 503 });
  await logging.tools.instructions();
  assert.equal(lines.length, 2);
  for (const text of lines) assert.match(text, /^Pagefault: GET \S+ is retried in \d+ ms: /);
  assert.match(lines[0]!, /No answer.* \(request [0-9a-f]{32}\)$/);
  line.break(path, "lose-request");
  const lost: unknown = await logging.tools
    .instructions({}, { maxRetries: 0 })
    .catch((error: unknown) => error);
  assert.ok(lost instanceof APIConnectionError);
  assert.match(lost.requestId!, /^[0-9a-f]{32}$/);
});

test("the pages of a session are read part by part", async () => {
  const pages = ["one", "two", "three"].map((page_id) => ({ page_id, content: page_id, session_id: "parts" }));
  await pf.pages.createMany(pages);
  const manifest = pf.session("parts").manifest({ limit: 2 });
  const first = await manifest.slice();
  assert.deepEqual([first.total, first.items.length], [3, 2]);
  assert.ok(first.text.includes(first.items[0]!.page_id));
  assert.deepEqual(
    (await manifest.all()).map(({ page_id }) => page_id).sort(),
    ["one", "three", "two"],
  );
});

test("a result is stored with the message that made its call", async () => {
  const session = pf.session("with-call");
  const content = [{ type: "tool_use", id: "c1", name: "clock", input: { zone: "CET" } }];
  const draft = { toolName: "clock", toolCallId: "c1", result: "Ten." };
  await session.toolResult({ ...draft, callMessage: { role: "assistant", content } });
  const { messages, loss } = await session.render({ target: "anthropic" });
  assert.match(JSON.stringify(messages), /"zone":"CET".*Ten\./);
  assert.deepEqual(loss.filter(({ code }) => code === "no-call"), []);
});

test("a tool works although what it returns is no JSON, which is not sent at all", async () => {
  const told: unknown[] = [];
  const seen = line.requests.length;
  const options = { onStoreError: (failure: unknown) => told.push(failure) };
  const turns = new Map<string, unknown>();
  turns.set("turns", turns);
  for (const value of [circular(), { count: Number.NaN }, turns])
    assert.equal(await shaky.wrap(() => value, options)(), value);
  assert.equal(line.requests.length, seen);
  assert.ok(told.every((failure) => failure instanceof UnstorableError));
  assert.equal(told.length, 3);
});

test("a tool may return bytes, files, maps and sets", async () => {
  // Larger than what stays in the record.
  const png = Buffer.concat([Buffer.from(PIXEL, "base64"), Buffer.alloc(2_000)]);
  const bytes = new Uint8Array(png);
  const media = [
    png,
    bytes,
    bytes.buffer,
    new DataView(bytes.buffer),
    new Blob([bytes], { type: "image/png" }),
    new File([bytes], "dot.png", { type: "image/png" }),
    [new Map([["shot", new Blob([bytes], { type: "image/png" })]])],
  ];
  for (const [index, medium] of media.entries()) {
    const draft = { toolName: "look", toolCallId: `c${index}`, sessionId: "bytes", result: medium };
    const { sanitized } = await pf.toolResults.create(draft);
    assert.deepEqual(
      sanitized.resources.map(({ mimeType, size }) => [mimeType, size]),
      [["image/png", png.length]],
    );
  }
  const counted = pf.wrap(() => ({
    of: new Map([["sheep", 10]]),
    names: new Set(["Ada", "Bo"]),
    weights: new Float64Array([1.5, 2]),
    at: new Date(0),
    own: { toJSON: () => new Set([1]) },
  }));
  assert.deepEqual(JSON.parse(String(await counted())), {
    of: { sheep: 10 },
    names: ["Ada", "Bo"],
    weights: [1.5, 2],
    at: "1970-01-01T00:00:00.000Z",
    own: [1],
  });
});

test("a model is told where a tool returned nothing", async () => {
  for (const nothing of [undefined, null, ""]) {
    assert.equal(await pf.wrap(() => nothing)(), "The tool returned nothing.");
  }
});

test("a conversation keeps its beginning, whoever writes meanwhile", async () => {
  const session = pf.session("kept");
  const conversation = session.conversation({ target: "openai-chat" });
  const call = { id: "c1", type: "function", function: { name: "clock", arguments: "{}" } };
  await conversation.turn([{ message: { role: "user", content: "What time is it?" } }]);
  await conversation.turn([
    { message: { role: "assistant", content: null, tool_calls: [call] } },
    { toolResult: { toolName: "clock", toolCallId: "c1", result: "Ten." } },
  ]);
  await session.append({ role: "user", content: "Hurry!" });
  await conversation.turn([{ message: { role: "assistant", content: "It is ten." } }]);
  await pf.session("kept").append({ role: "user", content: "Thanks." });
  await conversation.render();
  const { messages } = await session.render({ target: "openai-chat" });
  assert.deepEqual(conversation.messages, messages);
  assert.deepEqual(
    messages.map((message) => message["role"]),
    ["user", "assistant", "tool", "user", "assistant", "user"],
  );
  assert.equal(conversation.seq, 6);
  assert.throws(() => session.conversation({ target: "anthropic", since: 3 }), TypeError);
});

test("a conversation names the calls that must not be run", async () => {
  const handle = "@entry:2/arguments/0/text";
  const text = `x[... 900 characters left out; read_text ${handle} shows all of it ...]`;
  const written = { name: "write", arguments: JSON.stringify({ text }) };
  const call = { id: "w1", type: "function", function: written };
  const conversation = pf.session("cut").conversation({ target: "openai-chat" });
  await conversation.turn([{ message: { role: "user", content: "Write it." } }]);
  const said = { role: "assistant" as const, content: null, tool_calls: [call] };
  const messages = await conversation.turn([{ message: said }]);
  assert.deepEqual(conversation.refused, [{ callId: "w1", seq: 3 }]);
  assert.ok(JSON.stringify(messages.at(-1)).includes(handle));
});

const TARGETS = [
  "anthropic",
  "bedrock",
  "gemini",
  "langchain",
  "mcp",
  "openai-chat",
  "openai-compat",
  "openai-responses",
  "text",
  "vercel",
  "vercel-6",
] as const;

for (const target of TARGETS) {
  test(`a conversation for ${target} has what a whole rendering has`, async () => {
    const session = pf.session(`whole-${target}`);
    const query = { target, maxImages: 1 };
    const conversation = session.conversation(query);
    const call = (id: string) => ({
      id,
      type: "function",
      function: { name: "look", arguments: "{}" },
    });
    const result = (toolCallId: string, value: unknown) => ({
      toolResult: { toolName: "look", toolCallId, result: value },
    });
    const said = (role: "system" | "user" | "assistant", content: string) => ({
      message: { role, content },
    });
    const calls = (...ids: string[]) => ({
      message: { role: "assistant" as const, content: null, tool_calls: ids.map(call) },
    });
    const image = `data:image/png;base64,${PIXEL}`;
    const steps: TurnStep[][] = [
      [said("system", "Be brief."), said("user", "What do you see?")],
      // Another one of the same side: for some targets that is one message.
      [said("user", "And now?")],
      // Parallel calls that are answered in two turns.
      [calls("c1", "c2"), result("c1", { image })],
      [result("c2", "A dot.")],
      // The image before has to give way to this one.
      [calls("c3")],
      [result("c3", { image, note: "The same." })],
      [said("assistant", "A dot.")],
    ];
    assert.deepEqual(await conversation.render(), []);
    for (const step of steps) {
      const messages = await conversation.turn(step);
      const whole = await session.render({ ...query, handles: true });
      assert.deepEqual(messages, whole.messages);
      assert.equal(conversation.system, whole.system ?? undefined);
    }
    await session.append({ role: "user", content: "Somebody else." });
    const messages = await conversation.turn([said("assistant", "Who?")]);
    assert.deepEqual(messages, (await session.render({ ...query, handles: true })).messages);
    // Who joins an existing session is shown the same.
    assert.deepEqual(await session.conversation(query).render(), messages);
  });
}

test("a conversation asks once for each step, also where nobody has spoken yet", async () => {
  const asked: string[] = [];
  const counting = new Pagefault(service.url, {
    fetch: (input, init) => {
      asked.push(new URL(input as string).pathname.split("/").at(-1)!);
      return fetch(input, init);
    },
  });
  const conversation = counting.session("steps").conversation({ target: "anthropic" });
  await conversation.turn([{ message: { role: "user", content: "Hi." } }]);
  await conversation.turn([{ message: { role: "assistant", content: "Hello." } }]);
  assert.deepEqual(asked, ["turns", "turns"]);
  // Two steps at once: whichever answer comes last, the messages are those of the session.
  await Promise.all(
    ["One.", "Two."].map((content) => conversation.turn([{ message: { role: "user", content } }])),
  );
  const whole = await pf.session("steps").render({ target: "anthropic", handles: true });
  assert.deepEqual(await conversation.render(), whole.messages);
});

test("a conversation keeps a budget with a frontier", async () => {
  const session = pf.session("budget");
  const query = { target: "openai-chat", maxTokens: 900, frontier: "main" } as const;
  const conversation = session.conversation(query);
  for (let step = 0; step < 6; step += 1) {
    const id = `c${step}`;
    const call = { id, type: "function", function: { name: "log", arguments: "{}" } };
    await conversation.turn([
      { message: { role: "user", content: `Question ${step}` } },
      { message: { role: "assistant", content: null, tool_calls: [call] } },
      { toolResult: { toolName: "log", toolCallId: id, result: "line\n".repeat(200) } },
      { message: { role: "assistant", content: "I see." } },
    ]);
  }
  assert.deepEqual([...new Set(conversation.loss.map(({ code }) => code))], ["evicted"]);
  const whole = await session.render({ ...query, handles: true });
  assert.deepEqual(conversation.messages, whole.messages);
});

test("a key is sent, asked for each time, and reported when it is refused", async () => {
  const keyed = await startService("api-key");
  const refused: (string | null)[] = [];
  let key: string | null = null;
  const mine = new Pagefault(keyed.url, {
    apiKey: () => key,
    onUnauthorized: (each) => refused.push(each),
  });
  await assert.rejects(mine.sessions.list().all(), AuthenticationError);
  key = keyed.newKey("demo");
  assert.deepEqual(await mine.sessions.list().all(), []);
  assert.deepEqual(refused, [null]);
  await mine.session("s").append({ role: "user", content: "Hello." });
  const listening = new Pagefault(keyed.url, {
    ticket: async () => (await mine.eventTicket()).ticket,
  });
  for await (const { event, data } of listening.session("s").events({ after: 0 })) {
    assert.equal(event, "message:created");
    if (event === "message:created") assert.equal(data.role, "user");
    break;
  }
});

test("a key is in no client that is printed, and in no error", async () => {
  const key = "pf_secret_of_a_project";
  for (const { name, pf: away } of await outages(key)) {
    assert.ok(away.hasKey);
    const printed = inspect(away, { depth: Infinity, showHidden: true }) + JSON.stringify(away);
    assert.ok(printed.includes("baseUrl"));
    assert.ok(!printed.includes(key));
    const failure: unknown = await away.version().catch((error: unknown) => error);
    assert.ok(!inspect(failure, { depth: Infinity, showHidden: true }).includes(key), name);
  }
});

test("a key that no header can carry is refused, and not repeated", async () => {
  for (const key of ["pf_secret\nkey", "pf_secret…", "pf secret"]) {
    const mine = new Pagefault(service.url, { apiKey: key });
    const failure: unknown = await mine.version().catch((error: unknown) => error);
    assert.ok(failure instanceof TypeError);
    assert.match(failure.message, /^The key is no key of Pagefault/);
    assert.ok(!inspect(failure, { depth: Infinity }).includes(key));
  }
});
