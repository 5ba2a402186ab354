/** Colours code: a library's tree of it, with classes for its words. */
import { common, createLowlight } from "lowlight";

import { NodeCount, type TextNode } from "./textTree";

interface Node {
  readonly type: string;
  readonly value?: string;
  readonly properties?: { readonly className?: unknown };
  readonly children?: readonly Node[];
}

const lowlight = createLowlight(common);

/** Return the tree; null for a language that the library does not have. */
export function parseCode(text: string, language: string): readonly TextNode[] | null {
  if (!lowlight.registered(language)) return null;
  return nodesOf(lowlight.highlight(language, text).children as readonly Node[], new NodeCount());
}

function nodesOf(nodes: readonly Node[], count: NodeCount): readonly TextNode[] {
  return nodes.map((node) => {
    count.add();
    if (node.type === "text") return node.value ?? "";
    const names: unknown = node.properties?.className;
    const className = Array.isArray(names) ? names.join(" ") : "";
    return { tag: "span", className, children: nodesOf(node.children ?? [], count) };
  });
}
