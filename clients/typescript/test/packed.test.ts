/** The packages as they are handed on: packed, installed into a clean project, and used there. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";
import { chromium } from "playwright-core";

import { Pagefault } from "../client/src/index.ts";
import { memoryRoute } from "../examples/memoryRoute.ts";
import { unusedUrl } from "./kit/outages.ts";
import { CLIENTS, ROOT, startService } from "./kit/service.ts";
import { webListener, type WebRoute } from "./kit/webListener.ts";

declare global {
  interface Window {
    progress: number[];
    upload: (bytes: number) => Promise<string>;
  }
}

const LARGEST_BYTES = 15_000;
const PIXELS = Buffer.concat([
  Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  ),
  Buffer.alloc(2_000),
]).toString("base64");
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const MODULES = join(CLIENTS, "node_modules");
// What the packages' users have anyway; none of it comes with the packages.
const BESIDE = ["react", "react-dom", "scheduler", "csstype", "@types", "typescript"];

function run(
  command: string,
  args: string[],
  options: { cwd: string; env?: Record<string, string> },
): string {
  const env = { ...process.env, ...options.env };
  const { status, stdout, stderr } = spawnSync(command, args, {
    ...options,
    env,
    encoding: "utf8",
    timeout: 60_000,
  });
  assert.equal(status, 0, `${command} ${args.join(" ")}\n${stdout}${stderr}`);
  return stdout;
}

const project = mkdtempSync(join(tmpdir(), "pagefault-project-"));
after(() => rmSync(project, { recursive: true }));
const packed = ["client", "react"].map((name) => {
  const made = run("npm", ["pack", "--json", "--pack-destination", project], {
    cwd: join(CLIENTS, name),
  });
  return (
    JSON.parse(made.slice(made.indexOf("["))) as {
      filename: string;
      version: string;
      files: { path: string }[];
    }[]
  )[0]!;
});
cpSync(join(CLIENTS, "test", "project"), project, { recursive: true });
writeFileSync(join(project, "package.json"), '{"type": "module", "private": true}');
run(
  "npm",
  [
    "install",
    "--offline",
    "--legacy-peer-deps",
    "--no-audit",
    "--no-fund",
    ...packed.map(({ filename }) => `./${filename}`),
  ],
  { cwd: project },
);
assert.deepEqual(
  readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith(".")),
  ["@pagefault"],
);
mkdirSync(join(project, "node_modules", "@types"), { recursive: true });
for (const name of BESIDE) {
  if (name !== "@types") symlinkSync(join(MODULES, name), join(project, "node_modules", name));
}
for (const name of ["react", "react-dom"])
  symlinkSync(join(MODULES, "@types", name), join(project, "node_modules", "@types", name));

test("the packages have what they promise, in the version of the service", () => {
  const version = /VERSION = "(.+)"/.exec(
    readFileSync(join(ROOT, "app", "version.py"), "utf8"),
  )![1];
  for (const { files, version: own } of packed) {
    assert.equal(own, version);
    const paths = files.map(({ path }) => path);
    assert.deepEqual(
      paths.filter(
        (path) => !/^(dist\/.+\.(js|d\.ts|css)|package\.json|README\.md|LICENSE)$/.test(path),
      ),
      [],
    );
    for (const needed of ["README.md", "LICENSE", "dist/index.js", "dist/index.d.ts"])
      assert.ok(paths.includes(needed), needed);
  }
  const react = JSON.parse(readFileSync(join(CLIENTS, "react", "package.json"), "utf8")) as {
    peerDependencies: Record<string, string>;
  };
  assert.equal(react.peerDependencies["@pagefault/client"], version);
});

test("the client is small", async () => {
  const entry = join(project, "node_modules", "@pagefault", "client", "dist", "index.js");
  const bundle = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  const size = gzipSync(bundle.outputFiles[0]!.contents, { level: 9 }).length;
  assert.ok(size <= LARGEST_BYTES, `${size} bytes`);
});

test("a strict program compiles against the packages, and runs in Node.js", async () => {
  const service = await startService();
  run(join(MODULES, ".bin", "tsc"), ["-p", "."], { cwd: project });
  const said = run(process.execPath, ["out/consumer.js"], {
    cwd: project,
    env: { PAGEFAULT_URL: service.url },
  });
  assert.deepEqual(JSON.parse(said), [
    "tool-call-answered",
    "A dot.",
    ["Ten.", "A dot."],
    ["result of clock", "result of look"],
  ]);
});

test("the examples run as they are", async () => {
  const service = await startService();
  const pf = new Pagefault(service.url);
  cpSync(join(CLIENTS, "examples"), project, { recursive: true });
  const env = { PAGEFAULT_URL: service.url, NO_PROXY: "*" };

  await pf.pages.put("notes", { content: "Ten sheep.", session_id: "demo" });
  const call = (id: string, name: string, given: object) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(given) },
  });
  const replies = [
    {
      content: null,
      tool_calls: [
        call("c1", "page_fault", { page_id: "notes", target_level: 0 }),
        call("c2", "clock", {}),
      ],
    },
    { content: "Ten sheep." },
  ];
  const asked: { messages: { role: string; content: unknown }[] }[] = [];
  const model = createServer(async (request, response) => {
    asked.push(
      JSON.parse(Buffer.concat(await request.toArray()).toString()) as (typeof asked)[number],
    );
    response.end(
      JSON.stringify({ choices: [{ message: { role: "assistant", ...replies.shift() } }] }),
    );
  });
  await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
  after(() => model.close());
  const base = `http://127.0.0.1:${(model.address() as AddressInfo).port}`;
  const answered = await started("agent.ts", ["What is in the notes?"], {
    ...env,
    OPENAI_BASE_URL: base,
  });
  assert.equal(answered, "Ten sheep.\n");
  assert.deepEqual(
    asked[1]!.messages.map(({ role }) => role),
    ["user", "assistant", "tool", "tool"],
  );
  assert.match(JSON.stringify(asked[1]!.messages[2]), /Ten sheep\./);

  writeFileSync(join(project, "zeros.bin"), Buffer.alloc(9_000_000));
  const [uri, url] = (await started("upload.ts", ["zeros.bin"], env)).trim().split("\n");
  assert.equal((await pf.resources.get(uri!)).size, 9_000_000);
  assert.equal((await (await fetch(url!)).arrayBuffer()).byteLength, 9_000_000);

  // In a checkout they find the client that was built there.
  const inPlace = join(CLIENTS, "examples", "upload.ts");
  assert.match(await started(inPlace, ["consumer.ts"], env), /^blob:\w+\nhttp/);

  const followed = await started("follow.ts", ["demo"], env, /Ten sheep\."\n$/);
  assert.match(followed, /user: "What is in the notes\?"/);
});

test("the examples say how they are called, and what is missing", async () => {
  cpSync(join(CLIENTS, "examples"), project, { recursive: true });
  writeFileSync(join(project, "a.txt"), "Ten sheep.");
  const url = await unusedUrl();
  const keyed = await startService("api-key");
  const noAnswer =
    /^(0 %\n)?APIConnectionError: No answer from URL to .*\nStart Pagefault, or name its URL in PAGEFAULT_URL\.\n$/;
  const noKey = /^(0 %\n)?AuthenticationError: .*\nSet PAGEFAULT_API_KEY to a key of it\.\n$/;
  const model = { OPENAI_BASE_URL: url };
  const cases: [string[], number, RegExp, Record<string, string>?][] = [
    [["agent.ts", "--help"], 0, /^node agent\.ts \[QUESTION\]\n/],
    [["follow.ts", "--help"], 0, /^node follow\.ts \[SESSION\]\n/],
    [["upload.ts", "--help"], 0, /^node upload\.ts FILE\n/],
    [["upload.ts"], 2, /^node upload\.ts FILE\n/],
    [["agent.ts"], 1, /^Error: Set OPENAI_API_KEY, or OPENAI_BASE_URL\.\n$/],
    [["agent.ts"], 1, noAnswer, model],
    [["follow.ts"], 1, noAnswer],
    [["upload.ts", "a.txt"], 1, noAnswer],
    [["upload.ts", "missing.txt"], 1, /^Error: ENOENT: .*'missing\.txt'\n$/],
    [["follow.ts", "--al"], 1, /^TypeError: Unknown option '--al'/],
    [["agent.ts"], 1, noKey, { ...model, PAGEFAULT_URL: keyed.url }],
    [["follow.ts"], 1, noKey, { PAGEFAULT_URL: keyed.url }],
    [["upload.ts", "a.txt"], 1, noKey, { PAGEFAULT_URL: keyed.url }],
    [["agent.ts"], 1, /^Error: No answer from URL; OPENAI_BASE_URL/, { ...model, PAGEFAULT_URL: (await startService()).url }],
  ];
  for (const [args, wanted, words, changes] of cases) {
    const env = { ...process.env, PAGEFAULT_URL: url, NO_PROXY: "*", ...changes };
    const done = spawnSync(process.execPath, args, { cwd: project, env, encoding: "utf8" });
    const said = (done.stdout + done.stderr).replaceAll(url, "URL");
    assert.match(said, words, args.join(" "));
    assert.equal(done.status, wanted, said);
  }
});

/** What a program prints, to its end or until it has printed what was waited for. */
function started(
  name: string,
  args: string[],
  env: Record<string, string>,
  last?: RegExp,
): Promise<string> {
  const running = spawn(process.execPath, [name, ...args], {
    cwd: project,
    env: { ...process.env, ...env },
  });
  let [said, wrong] = ["", ""];
  running.stderr.on("data", (bytes) => (wrong += String(bytes)));
  return new Promise((resolve, reject) => {
    running.stdout.on("data", (bytes) => {
      said += String(bytes);
      if (last?.test(said)) running.kill();
    });
    running.on("exit", (status) =>
      status === 0 || last?.test(said) ? resolve(said) : reject(new Error(said + wrong)),
    );
  });
}

const REACTS = { 18: "-18", 19: "" };
const TYPES: Record<string, string> = { js: "text/javascript", css: "text/css" };
let bundled: Promise<Map<string, string | Uint8Array>> | undefined;

/** The page with each React: a document, a script and styles. */
async function bundlePages(): Promise<Map<string, string | Uint8Array>> {
  const pages = new Map<string, string | Uint8Array>();
  for (const [name, version] of Object.entries(REACTS)) {
    const made = await build({
      entryPoints: { [name]: join(project, "page.tsx") },
      bundle: true,
      write: false,
      outdir: "/",
      jsx: "automatic",
      format: "esm",
      alias: {
        react: join(MODULES, `react${version}`),
        "react-dom": join(MODULES, `react-dom${version}`),
      },
      define: { "process.env.NODE_ENV": '"development"' },
    });
    for (const { path, contents } of made.outputFiles) pages.set(path, contents);
    const head = `<link rel="icon" href="data:,"><link rel="stylesheet" href="${name}.css">`;
    pages.set(`/${name}`, `<!doctype html>${head}<script type="module" src="${name}.js"></script>`);
  }
  return pages;
}

/** A browser, and the origin of a server of pages, until the test ends. */
async function openBrowser(context: TestContext, route?: WebRoute) {
  const pages = await (bundled ??= bundlePages());
  const memory = route && webListener(route);
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://x");
    if (memory && pathname.startsWith("/memory/")) return memory(request, response);
    response.setHeader("Content-Type", TYPES[pathname.split(".")[1] ?? ""] ?? "text/html");
    response.end(pages.get(pathname));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium-headless-shell",
    args: ARGUMENTS,
  });
  context.after(async () => {
    await browser.close();
    server.closeAllConnections();
    server.close();
  });
  return { browser, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test("a page of another origin shows media of a service without keys", async (context) => {
  const { origin, browser } = await openBrowser(context);
  const service = await startService("none", { PAGEFAULT_CORS_ORIGINS: origin });
  const media = "from tests.kit import media; print(media.b64(media.mp4()), media.b64(media.wav()))";
  const [video, sound] = run(join(ROOT, ".venv", "bin", "python"), ["-c", media], { cwd: ROOT })
    .trim()
    .split(" ");
  await new Pagefault(service.url).session("shown").toolResult({
    toolName: "look",
    toolCallId: "c1",
    result: {
      content: [
        { type: "image", data: PIXELS, mimeType: "image/png" },
        { type: "audio", data: sound, mimeType: "audio/wav" },
        { type: "file", data: video, mimeType: "video/mp4", filename: "click.mp4" },
      ],
    },
  });
  const page = await browser.newPage();
  await page.goto(`${origin}/19?service=${service.url}`);
  await page.waitForFunction(() => document.querySelector("img")?.naturalWidth === 1);
  for (const player of await page.locator("audio, video").all()) {
    await player.scrollIntoViewIfNeeded();
    await player.evaluate((element: HTMLMediaElement) =>
      element.play().then(() => element.pause()),
    );
  }
  await page.getByRole("button", { name: "Enlarge" }).click();
  await page.waitForFunction(
    () => document.querySelector<HTMLImageElement>("dialog img")?.naturalWidth === 1,
  );
  // The page has none of the viewer's variables, and yet lines, spaces and corners.
  const dialog = await page.locator("dialog").evaluate((element) => {
    const { padding, borderRadius, backgroundColor } = getComputedStyle(element);
    return { padding, borderRadius, backgroundColor };
  });
  assert.deepEqual(dialog, {
    padding: "8px",
    borderRadius: "6px",
    backgroundColor: "rgb(255, 255, 255)",
  });
  await page.close();
});

test("every variable of the styles has a fallback", () => {
  const styles = readFileSync(join(CLIENTS, "react", "dist", "styles.css"), "utf8");
  const named = new Set(Array.from(styles.matchAll(/^ *(--pf-[\w-]+):/gm), ([, name]) => name));
  const bare = Array.from(styles.matchAll(/var\((--[\w-]+)\)/g), ([, name]) => name!);
  assert.deepEqual(
    bare.filter((name) => !named.has(name)),
    [],
  );
});

test("hooks and components work in a browser, at another origin, with each React", async (context) => {
  const { origin, browser } = await openBrowser(context);
  const service = await startService("api-key", { PAGEFAULT_CORS_ORIGINS: origin });
  for (const version of Object.keys(REACTS)) {
    const key = service.newKey(`react-${version}`);
    const agent = new Pagefault(service.url, { apiKey: key });
    const session = agent.session("shown");
    const hostile = '<img src=x onerror="document.title = 1"> javascript:alert(1)';
    const first = await session.toolResult({
      toolName: "look",
      toolCallId: "c1",
      result: {
        content: [
          { type: "text", text: hostile },
          { type: "image", data: PIXELS, mimeType: "image/png" },
          { type: "resource_link", uri: "javascript:alert(1)", name: "bad" },
        ],
      },
    });
    await agent.pages.put("notes", { content: "x", caption: "first" });
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
    await page.goto(`${origin}/${version}?service=${service.url}&key=${key}`);
    const shown = page.locator("li").first();
    await shown.locator("img").waitFor();
    await page.waitForFunction(() => document.querySelector("img")!.naturalWidth === 1);
    assert.ok((await shown.textContent())!.includes(hostile));
    assert.deepEqual(
      await page.evaluate(() =>
        Array.from(document.querySelectorAll("a"), (each) => each.protocol).filter(
          (each) => each === "javascript:",
        ),
      ),
      [],
    );
    assert.equal(await page.title(), "");

    await page.locator("section[data-live=live]").waitFor();
    await session.append({ role: "user", content: "More." });
    await page.getByText("said").waitFor();
    await agent.pages.patch("notes", { caption: "second" });
    await page.getByText("second").waitFor();
    await agent.pages.delete("notes");
    await page.getByText("NotFoundError").waitFor();

    const [{ uri, size } = { uri: "", size: 0 }] = first.sanitized.resources;
    await page.getByLabel("uri").fill(`@${uri}`);
    await page.getByText(JSON.stringify({ size, isSigned: true, failure: "null" })).waitFor();

    // The second time, the digest is enough.
    const posts: string[] = [];
    page.on("request", (each) => each.method() === "POST" && posts.push(each.url()));
    for (const count of [2, 1]) {
      await page.evaluate(() => window.upload(50_000));
      assert.equal(posts.splice(0).filter((url) => url.includes("/api/resources?")).length, count);
    }
    await page.evaluate(() => window.progress.splice(0));
    const uploaded = await page.evaluate(() => window.upload(1_000_000));
    assert.equal((await agent.resources.get(uploaded)).size, 1_000_000);
    const progress = await page.evaluate(() => window.progress);
    assert.deepEqual(
      progress,
      [...progress].sort((one, other) => one - other),
    );
    assert.deepEqual([progress[0], progress.at(-1)], [0, 1_000_000]);
    assert.deepEqual(
      faults.filter((fault) => !fault.includes("404")),
      [],
    );
    await page.close();
  }
});

test("a page without a key shows a session through a route of its own server", async (context) => {
  const service = await startService("api-key");
  const key = service.newKey("app");
  Object.assign(process.env, { PAGEFAULT_URL: service.url, PAGEFAULT_API_KEY: key });
  const memory = memoryRoute(
    ({ headers }, sessionId) => headers.get("cookie") === "user=ada" && sessionId === "shown",
  );
  for (const name of ["PAGEFAULT_URL", "PAGEFAULT_API_KEY"]) delete process.env[name];
  const { origin, browser } = await openBrowser(context, memory);
  const agent = new Pagefault(service.url, { apiKey: key });
  const image = { type: "image", data: PIXELS, mimeType: "image/png" };
  const source = "<script>document.title = 1</script>";
  const files = { type: "file", data: btoa(source), mimeType: "text/html", filename: "a.html" };
  const look = { toolName: "look", toolCallId: "c1" };
  const shown = await agent.session("shown").toolResult({ ...look, result: [image, files] });
  const other = await agent.session("other").toolResult({
    ...look,
    result: { type: "image", data: btoa("GIF89a" + "x".repeat(2_000)), mimeType: "image/gif" },
  });
  const [picture, html] = shown.sanitized.resources.map(({ uri }) => uri.slice("blob:".length));
  const foreign = other.sanitized.resources[0]!.uri.slice("blob:".length);

  const tab = await browser.newContext();
  await tab.addCookies([{ name: "user", value: "ada", url: origin }]);
  const page = await tab.newPage();
  const sent: string[] = [];
  page.on("request", (request) => sent.push(JSON.stringify(request.headers()) + request.url()));
  await page.goto(`${origin}/19?service=/memory/shown&links`);
  await page.waitForFunction(() => document.querySelector("img")?.naturalWidth === 1);
  await page.locator("section[data-live=live]").waitFor();
  await agent.session("shown").append({ role: "user", content: "More." });
  await page.getByText("said").waitFor();
  assert.deepEqual(
    sent.filter((each) => each.includes("pf_")),
    [],
  );

  const statuses = (asked: [string, string][]) =>
    page.evaluate(
      (all) =>
        Promise.all(
          all.map(async ([method, path]) => {
            const body = method === "POST" ? "{}" : null;
            const headers = { "Content-Type": "application/json" };
            return (await fetch(path, { method, body, headers, cache: "no-store" })).status;
          }),
        ),
      asked,
    );
  const file = `/memory/shown/api/resources/${picture}`;
  const allowed: [string, string][] = [
    ["GET", file],
    ["GET", `${file}/content`],
    ["POST", `${file}/signed-url`],
    ["GET", "/memory/shown/api/sessions/shown/outline?limit=5"],
  ];
  assert.deepEqual(await statuses(allowed), [200, 200, 200, 200]);
  // What is kept as a web page stays a download that runs nothing, at this origin too.
  const kept = await page.evaluate(async (path) => {
    const { headers } = await fetch(path);
    return ["content-disposition", "content-security-policy", "x-content-type-options"].map(
      (name) => headers.get(name),
    );
  }, `/memory/shown/api/resources/${html}/content`);
  assert.deepEqual(kept, [
    'attachment; filename="a.html"',
    "sandbox; default-src 'none'",
    "nosniff",
  ]);
  const refused: [string, string][] = [
    ["POST", "/memory/shown/api/sessions/shown/messages"],
    ["DELETE", "/memory/shown/api/sessions/shown"],
    ["DELETE", file],
    ["GET", "/memory/shown/api/sessions"],
    ["GET", "/memory/shown/api/sessions/other/messages"],
    ["GET", "/memory/shown/api/sessions/shown/..%2Fother/messages"],
    ["GET", "/memory/other/api/sessions/other/messages"],
    ["GET", `/memory/shown/api/resources/${foreign}`],
    ["POST", `/memory/shown/api/resources/${foreign}/signed-url`],
  ];
  assert.deepEqual(await statuses(refused), refused.map(() => 404));
  await tab.clearCookies();
  assert.deepEqual(await statuses(allowed), [404, 404, 404, 404]);
  await tab.close();
});
