// Fails if a sentence stands in a component: the viewer's are collected in src/words, those of
// @pagefault/react in its words.ts. Other folders to look into may be given.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import ts from "typescript";

const GIVEN = process.argv.slice(2);
const FOLDERS = GIVEN.length > 0 ? GIVEN : ["src", "../clients/typescript/react/src"];
// Where sentences belong; and what is no part of the viewer.
const COLLECTED = /^(?:words(?:\.ts|[/\\])|docs[/\\])/;
/** Attributes and members that are read out or shown. */
const SAID = new Set(["aria-label", "aria-valuetext", "title", "placeholder", "alt", "label", "what"]);
/** Calls whose texts are for the browser or a developer. */
const UNSEEN = /^(?:querySelector(?:All)?|matches|closest|matchMedia|import|Error|RegExp|startsWith)$/;
/** Names of keys as a keyboard tells them. */
const KEY = /^(?:Arrow\w+|Page\w+|Home|End|Enter|Esc|Escape|Tab)$/;
const WORD = /\p{L}{2,}/u;
/** Several words, or one that begins as a sentence or a label does. */
const SENTENCE = /\p{L}{2,}[,.:;]? (?:[\p{L}“"(]|…)|^\p{Lu}\p{Ll}+(?: ?[…:.]| )?$/u;
const found = [];

for (const folder of FOLDERS) {
  for (const path of readdirSync(folder, { recursive: true })) {
    if (!/\.tsx?$/.test(path) || COLLECTED.test(path)) continue;
    const file = join(folder, path);
    const text = readFileSync(file, "utf8");
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    visit(source, { source, file, isShown: false });
  }
}

function visit(node, place) {
  if (isUnseen(node)) return;
  for (const text of textsOf(node)) {
    const isFound = place.isShown || ts.isJsxText(node) ? WORD.test(text) : SENTENCE.test(text);
    if (!isFound || KEY.test(text)) continue;
    const { line } = place.source.getLineAndCharacterOfPosition(node.getStart());
    found.push(`${place.file}:${line + 1}: ${text.trim()}`);
  }
  ts.forEachChild(node, (child) => visit(child, { ...place, isShown: isShown(child, node, place) }));
}

function textsOf(node) {
  if (ts.isJsxText(node) || ts.isStringLiteralLike(node)) return [node.text];
  if (!ts.isTemplateExpression(node)) return [];
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)];
}

/** Whether the value of a node comes to be read as it is. */
function isShown(child, parent, place) {
  if (ts.isJsxExpression(parent)) return !ts.isJsxAttribute(parent.parent) || place.isShown;
  if (ts.isJsxAttribute(parent) || ts.isPropertyAssignment(parent)) {
    return child === parent.initializer && SAID.has(nameOf(parent));
  }
  if (ts.isConditionalExpression(parent)) return place.isShown && child !== parent.condition;
  if (ts.isBinaryExpression(parent)) return place.isShown && !isCompared(parent);
  // What a template puts in, it shows; its own words are read above.
  if (ts.isTemplateExpression(parent) || ts.isTemplateSpan(parent)) return place.isShown;
  return ts.isParenthesizedExpression(parent) && place.isShown;
}

/** Texts that nobody sees: types, names of modules and members, classes, what is compared. */
function isUnseen(node) {
  const { parent } = node;
  if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return true;
  if (parent === undefined) return false;
  if (ts.isCallExpression(parent) || ts.isNewExpression(parent)) {
    const called = parent.expression;
    const name = ts.isPropertyAccessExpression(called) ? called.name.text : called.getText();
    return node !== called && UNSEEN.test(name);
  }
  if (!ts.isStringLiteralLike(node) && !ts.isTemplateExpression(node)) {
    // Elements may stand in any attribute; its own texts are names of classes, kinds, addresses.
    return (
      ts.isJsxAttribute(node) &&
      !SAID.has(nameOf(node)) &&
      !isLabelOfOurs(node) &&
      !hasElement(node)
    );
  }
  if (ts.isJsxAttribute(parent)) return !SAID.has(nameOf(parent)) && !isLabelOfOurs(parent);
  return (
    (ts.isBinaryExpression(parent) && isCompared(parent)) ||
    ts.isCaseClause(parent) ||
    ts.isElementAccessExpression(parent) ||
    (ts.isPropertyAssignment(parent) && node === parent.name)
  );
}

function isCompared({ operatorToken }) {
  return /^(?:[=!]==?|in)$/.test(operatorToken.getText());
}

/** A `name` is a label on our components, and only on the browser's a name in a form. */
function isLabelOfOurs(attribute) {
  const element = attribute.parent.parent.tagName.getText();
  return nameOf(attribute) === "name" && /^[A-Z]/.test(element);
}

function hasElement(node) {
  return ts.isJsxElement(node) || ts.isJsxSelfClosingElement(node) || ts.forEachChild(node, hasElement);
}

function nameOf(node) {
  return node.name.getText().replaceAll('"', "");
}

if (found.length > 0) {
  console.error(`Put these sentences into src/words:\n${found.join("\n")}`);
  process.exit(1);
}
