/**
 * A text that has been read, as a tree of what is drawn. It is made in a worker; `TextTree.tsx` draws Markdown,
 * `ColouredText.tsx` code.
 */
export type TextNode = string | Plain | Heading | OrderedList | Item | Table | Fence | Link | Image | Span;

interface Parent {
  readonly children: readonly TextNode[];
}

interface Plain extends Parent {
  readonly tag: "p" | "blockquote" | "ul" | "strong" | "em" | "del" | "code" | "raw" | "br" | "hr";
}

interface Heading extends Parent {
  readonly tag: "heading";
  readonly depth: number;
}

interface OrderedList extends Parent {
  readonly tag: "ol";
  readonly start: number;
}

interface Item extends Parent {
  readonly tag: "li";
  /** Of a task: whether it is done. */
  readonly isDone?: boolean | undefined;
}

export type Row = readonly (readonly TextNode[])[];

interface Table {
  readonly tag: "table";
  readonly header: Row;
  readonly rows: readonly Row[];
}

interface Fence {
  readonly tag: "fence";
  readonly text: string;
  readonly language?: string | undefined;
}

interface Link extends Parent {
  readonly tag: "link";
  readonly url: string;
}

interface Image {
  readonly tag: "image";
  readonly url: string;
  readonly text: string;
}

interface Span extends Parent {
  readonly tag: "span";
  readonly className: string;
}

/** A larger tree is not drawn: that would keep the page busy. */
export const MOST_NODES = 20_000;

/** Counts the nodes of a tree while it is made. */
export class NodeCount {
  private count = 0;

  /** Throws where there are too many. */
  add(): void {
    this.count += 1;
    if (this.count > MOST_NODES) throw new Error("The text has too many parts");
  }
}
