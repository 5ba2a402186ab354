/**
 * Reads Markdown. A library finds its tokens; what is made of them is decided here.
 *
 * HTML in it stays text, images are links to be followed, and links lead to the web or to an address
 * of mail, and nowhere else.
 */
import { Marked, type Token, type Tokens } from "marked";

import { MOST_NODES, NodeCount, type Row, type TextNode } from "./textTree";

/** What is nested deeper is shown as it was written. */
const DEEPEST = 24;
const SAFE_LINK = /^(?:https?:|mailto:)/i;
/** A definition may be used thousands of times. */
const LONGEST_LINK = 2_000;
const RULER = /^[-:| \t]+$/;
const END_OF_TABLE = /\n[ \t]*(?:\n|$)/;

// Each row has as many cells as the header, however few are written: the tokens of ten thousand
// characters would take gigabytes.
const marked = new Marked({
  gfm: true,
  tokenizer: {
    table(source) {
      const [header = "", ruler = ""] = source.split("\n", 2);
      if (!RULER.test(ruler)) return false;
      const end = source.search(END_OF_TABLE);
      const rows = (end === -1 ? source : source.slice(0, end)).split("\n").length;
      return header.split("|").length * rows > MOST_NODES ? undefined : false;
    },
  },
});

/** Return the tree of a Markdown text. */
export function parseMarkdown(text: string): readonly TextNode[] {
  return new Reader().blocks(marked.lexer(text), 0);
}

class Reader {
  private readonly count = new NodeCount();

  blocks(tokens: readonly Token[], depth: number): readonly TextNode[] {
    return tokens.flatMap((token) => this.block(token, depth));
  }

  private block(token: Token, depth: number): TextNode | readonly TextNode[] {
    this.count.add();
    if (depth > DEEPEST) return { tag: "p", children: [token.raw] };
    switch (token.type) {
      case "space":
      case "checkbox":
        return [];
      case "heading": {
        const heading = token as Tokens.Heading;
        return { tag: "heading", depth: heading.depth, children: this.inlines(heading.tokens, depth) };
      }
      case "paragraph":
        return { tag: "p", children: this.inlines((token as Tokens.Paragraph).tokens, depth) };
      case "code": {
        const { text, lang } = token as Tokens.Code;
        return { tag: "fence", text, language: lang?.split(/\s/, 1)[0] };
      }
      case "blockquote":
        return { tag: "blockquote", children: this.blocks((token as Tokens.Blockquote).tokens, depth + 1) };
      case "list":
        return this.list(token as Tokens.List, depth);
      case "table": {
        const { header, rows } = token as Tokens.Table;
        return { tag: "table", header: this.row(header, depth), rows: rows.map((row) => this.row(row, depth)) };
      }
      case "hr":
        return { tag: "hr", children: [] };
      case "text": {
        const { tokens, text } = token as Tokens.Text;
        return tokens === undefined ? text : this.inlines(tokens, depth);
      }
      default:
        return { tag: "raw", children: [token.raw] };
    }
  }

  private list(list: Tokens.List, depth: number): TextNode {
    const children = list.items.map((item): TextNode => {
      this.count.add();
      const isDone = item.task ? item.checked === true : undefined;
      return { tag: "li", isDone, children: this.blocks(item.tokens, depth + 1) };
    });
    return list.ordered ? { tag: "ol", start: Number(list.start) || 1, children } : { tag: "ul", children };
  }

  private row(cells: readonly Tokens.TableCell[], depth: number): Row {
    return cells.map(({ tokens }) => {
      this.count.add();
      return this.inlines(tokens, depth);
    });
  }

  private inlines(tokens: readonly Token[], depth: number): readonly TextNode[] {
    return tokens.flatMap((token) => this.inline(token, depth + 1));
  }

  private inline(token: Token, depth: number): TextNode | readonly TextNode[] {
    this.count.add();
    if (depth > DEEPEST) return token.raw;
    switch (token.type) {
      case "strong":
      case "em":
      case "del":
        return { tag: token.type, children: this.inlines((token as Tokens.Strong).tokens, depth) };
      case "codespan":
        return { tag: "code", children: [(token as Tokens.Codespan).text] };
      case "br":
        return { tag: "br", children: [] };
      case "link": {
        const { href, tokens } = token as Tokens.Link;
        return isSafe(href) ? { tag: "link", url: href, children: this.inlines(tokens, depth) } : token.raw;
      }
      case "image": {
        const { href, text } = token as Tokens.Image;
        return isSafe(href) ? { tag: "image", url: href, text } : token.raw;
      }
      case "escape":
        return (token as Tokens.Escape).text;
      case "text": {
        const { tokens, text } = token as Tokens.Text;
        return tokens === undefined ? unescaped(text) : this.inlines(tokens, depth);
      }
      default:
        return token.raw;
    }
  }
}

function isSafe(url: string): boolean {
  return url.length <= LONGEST_LINK && SAFE_LINK.test(url);
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
};

/** What the library has escaped for HTML, as it was. */
function unescaped(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);
}
