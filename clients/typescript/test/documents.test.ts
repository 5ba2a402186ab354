/**
 * The TypeScript of the documentation runs as it stands: each page is a program, from top to bottom.
 *
 * Each is compiled strictly, and runs beside a service of its own in a folder with the files that it
 * names. A snippet that does not run is marked on its page by a comment, `<!-- not run: why -->`.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { CLIENTS, ROOT, startService } from "./kit/service.ts";

interface Snippet {
  readonly page: string;
  readonly language: string;
  readonly why: string | undefined;
  readonly code: string;
}

const MODULES = join(CLIENTS, "node_modules");
const FENCE = /^(?:<!-- not run: ([^\n]+) -->\n+)?```(ts|tsx|js)\n(.*?)^```$/gms;
const PAGES = ["README.md", "docs/*.md", "docs/start/*.md", "docs/clients/*.md", "clients/*/README.md", "clients/*/*/README.md"];
const SNIPPETS: Snippet[] = globSync(PAGES, { cwd: ROOT }).flatMap((page) =>
  [...readFileSync(join(ROOT, page), "utf8").matchAll(FENCE)].map(([, why, language, code]) => ({
    page,
    language: language!,
    why,
    code: code!,
  })),
);
const RUNNING = SNIPPETS.filter(({ why }) => why === undefined);
const RUNNING_PAGES = [...new Set(RUNNING.map(({ page }) => page))];
/** Calls what the page has only defined, with a server of its own. */
const AFTERWARDS: Record<string, string> = {
  "docs/results.md": `
import { Client as Host, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
const server = new McpServer({ name: "browser", version: "1.0.0" });
server.registerTool("browser.record", {}, async () => ({ content: [] }));
const host = new Host({ name: "host", version: "1.0.0" });
const [here, there] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(there), host.connect(here)]);
console.log((await callAndStore(host)).id);
`,
};

const folder = mkdtempSync(join(tmpdir(), "pagefault-documents-"));
after(() => rmSync(folder, { recursive: true }));
symlinkSync(MODULES, join(folder, "node_modules"));
writeFileSync(join(folder, "package.json"), '{"type": "module", "private": true}');
for (const name of ["shop.png", "talk.mp4"]) writeFileSync(join(folder, name), Buffer.alloc(2_000, 1));

function run(command: string, args: string[], env: Record<string, string> = {}): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    encoding: "utf8",
    timeout: 60_000,
  });
  assert.equal(status, 0, stdout + stderr);
  return stdout;
}

test("all snippets compile strictly, those that a browser draws too", () => {
  const files = RUNNING_PAGES.map((page) => writePage(page, "http://127.0.0.1:8000"));
  for (const { language, page, code } of SNIPPETS)
    if (language === "tsx") files.push(write(page, "tsx", code));
  const compilerOptions = {
    ...strictOptions(),
    jsx: "react-jsx",
    types: ["node", "react"],
    paths: { "@pagefault/react": [join(CLIENTS, "react", "dist", "index.d.ts")] },
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  run(join(MODULES, ".bin", "tsc"), ["-p", "."]);
});

for (const page of RUNNING_PAGES) {
  test(`the TypeScript of ${page} runs as it stands`, async () => {
    const { url } = await startService();
    run(process.execPath, [writePage(page, url)], { PAGEFAULT_URL: url, NO_PROXY: "*" });
    const { items } = (await (await fetch(`${url}/api/tool-results`)).json()) as { items: object[] };
    assert.ok(items.length > 0);
  });
}

test("most snippets run", (context) => {
  const count = RUNNING.length;
  context.diagnostic(`TypeScript snippets: ${count} run, ${SNIPPETS.length - count} not`);
  assert.ok(count > SNIPPETS.length - count);
});

/** Write the program that a page is, and give its name. */
function writePage(page: string, url: string): string {
  const code = RUNNING.filter((snippet) => snippet.page === page).map((snippet) => snippet.code);
  const program = [...code, AFTERWARDS[page] ?? ""].join("\n");
  return write(page, "ts", program.replaceAll(/http:\/\/(localhost|127\.0\.0\.1):8000/g, url));
}

function write(page: string, ending: string, code: string): string {
  const name = `${page.replaceAll(/\W/g, "-")}.${ending}`;
  writeFileSync(join(folder, name), code);
  return name;
}

function strictOptions(): object {
  const base = readFileSync(join(CLIENTS, "tsconfig.base.json"), "utf8");
  const { compilerOptions } = JSON.parse(base) as { compilerOptions: object };
  return {
    ...compilerOptions,
    noEmit: true,
    declaration: false,
    rewriteRelativeImportExtensions: false,
    // What a reader fills in is not used yet.
    noUnusedLocals: false,
    noUnusedParameters: false,
  };
}
