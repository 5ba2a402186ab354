/** Draws the tree of code, with characters that hide or reorder text shown as what they are. */
import { visibleText } from "@pagefault/react";
import type { ReactNode } from "react";

import type { TextNode } from "./textTree";

export function ColouredText({ nodes }: { nodes: readonly TextNode[] }): ReactNode {
  return nodes.map((node, index) => {
    if (typeof node === "string") return visibleText(node);
    if (node.tag !== "span") return null;
    return (
      <span key={index} className={node.className}>
        <ColouredText nodes={node.children} />
      </span>
    );
  });
}
