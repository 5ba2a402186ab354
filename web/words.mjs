// Fails if a sentence stands in a component: all of them are collected in src/words.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import ts from "typescript";

const SAID = new Set(["aria-label", "title", "placeholder", "alt", "label", "what"]);
const found = [];

for (const path of readdirSync("src", { recursive: true })) {
  if (!path.endsWith(".tsx")) continue;
  const file = join("src", path);
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  visit(source, source, file);
}

function visit(node, source, file) {
  const text = wordsOf(node);
  if (text !== undefined && /\p{L}{2,}/u.test(text)) {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    found.push(`${file}:${line + 1}: ${text.trim()}`);
  }
  ts.forEachChild(node, (child) => visit(child, source, file));
}

function wordsOf(node) {
  if (ts.isJsxText(node)) return node.text;
  if (!ts.isJsxAttribute(node) || !SAID.has(node.name.getText())) return undefined;
  return node.initializer !== undefined && ts.isStringLiteral(node.initializer)
    ? node.initializer.text
    : undefined;
}

if (found.length > 0) {
  console.error(`Put these sentences into src/words:\n${found.join("\n")}`);
  process.exit(1);
}
