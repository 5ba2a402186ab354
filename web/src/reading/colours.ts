/** Colours code: pieces of text, and classes for them, out of a library's tree. */
import { common, createLowlight } from "lowlight";

export type Coloured =
  | string
  | { readonly className: string; readonly children: readonly Coloured[] };

interface Node {
  readonly type: string;
  readonly value?: string;
  readonly properties?: { readonly className?: unknown };
  readonly children?: readonly Node[];
}

const lowlight = createLowlight(common);

/** The pieces; undefined if nobody knows the language. */
export function colour(text: string, language: string): readonly Coloured[] | undefined {
  if (!lowlight.registered(language)) return undefined;
  return pieces(lowlight.highlight(language, text).children as readonly Node[]);
}

function pieces(nodes: readonly Node[]): readonly Coloured[] {
  return nodes.map((node) => {
    if (node.type === "text") return node.value ?? "";
    const names: unknown = node.properties?.className;
    const className = Array.isArray(names) ? names.join(" ") : "";
    return { className, children: pieces(node.children ?? []) };
  });
}
