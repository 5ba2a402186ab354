// Fails if modules of the viewer or of clients/typescript import one another in a circle, types included.
// Other folders to look into may be given.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import ts from "typescript";

const GIVEN = process.argv.slice(2);
const FOLDERS = GIVEN.length > 0 ? GIVEN : ["src", "../clients/typescript"];
const IGNORED = /(?:^|[/\\])(?:node_modules|dist)[/\\]/;
const ENDINGS = ["", ".ts", ".tsx", ".mjs", "/index.ts", "/index.tsx"];

const modules = new Set(
  FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .filter((path) => /\.(?:tsx?|mjs)$/.test(path) && !IGNORED.test(path))
      .map((path) => join(folder, path)),
  ),
);
const circles = [];
const finished = new Set();

function visit(module, path) {
  const start = path.indexOf(module);
  if (start !== -1) circles.push([...path.slice(start), module].join(" -> "));
  if (start !== -1 || finished.has(module)) return;
  for (const imported of importsOf(module)) visit(imported, [...path, module]);
  finished.add(module);
}

function importsOf(module) {
  const { importedFiles } = ts.preProcessFile(readFileSync(module, "utf8"), true, true);
  return importedFiles
    .filter(({ fileName }) => fileName.startsWith("."))
    .map(({ fileName }) => join(module, "..", fileName))
    .flatMap((path) => ENDINGS.map((ending) => path + ending).filter((name) => modules.has(name)));
}

for (const module of modules) visit(module, []);
if (circles.length > 0) {
  console.error(`These modules import one another in a circle:\n${circles.join("\n")}`);
  process.exit(1);
}
