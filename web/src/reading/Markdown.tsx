/**
 * Markdown as elements of the page.
 *
 * A library reads it; what is made of it is made here. HTML in it is shown as text, images are
 * links to be followed, and links lead to the web or to an address of mail, and nowhere else.
 */
import { ForeignLink, visibleText } from "@pagefault/react";
import { type Token, type Tokens, lexer } from "marked";
import { Fragment, type ReactNode, useContext, useMemo } from "react";

import { READING } from "../words/reading";
import { CodeText } from "./CodeText";
import { HeadingLevel } from "./headingLevel";

const DEEPEST = 24;
const SAFE_LINK = /^(?:https?:|mailto:)/i;

export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => tokensOf(text), [text]);
  if (tokens === null) return <pre className="text">{visibleText(text)}</pre>;
  return (
    <div className="markdown" dir="auto">
      <Blocks tokens={tokens} depth={0} />
    </div>
  );
}

function tokensOf(text: string): readonly Token[] | null {
  try {
    return lexer(text, { gfm: true });
  } catch {
    return null;
  }
}

interface TokensProps {
  readonly tokens: readonly Token[];
  readonly depth: number;
}

function Blocks({ tokens, depth }: TokensProps): ReactNode {
  return tokens.map((token, index) => <Block key={index} token={token} depth={depth} />);
}

function Block({ token, depth }: { token: Token; depth: number }): ReactNode {
  if (depth > DEEPEST) return <p>{visibleText(token.raw)}</p>;
  switch (token.type) {
    case "space":
    case "checkbox":
      return null;
    case "heading":
      return <Heading token={token as Tokens.Heading} depth={depth} />;
    case "paragraph":
      return (
        <p>
          <Inlines tokens={(token as Tokens.Paragraph).tokens} depth={depth} />
        </p>
      );
    case "code": {
      const { text, lang } = token as Tokens.Code;
      return <CodeText text={text} language={lang?.split(/\s/, 1)[0]} />;
    }
    case "blockquote":
      return (
        <blockquote>
          <Blocks tokens={(token as Tokens.Blockquote).tokens} depth={depth + 1} />
        </blockquote>
      );
    case "list":
      return <List list={token as Tokens.List} depth={depth} />;
    case "table":
      return <Table table={token as Tokens.Table} depth={depth} />;
    case "hr":
      return <hr />;
    case "text": {
      const { tokens } = token as Tokens.Text;
      return tokens === undefined ? (
        visibleText((token as Tokens.Text).text)
      ) : (
        <Inlines tokens={tokens} depth={depth} />
      );
    }
    default:
      return <p className="markdown-raw">{visibleText(token.raw)}</p>;
  }
}

function Heading({ token, depth }: { token: Tokens.Heading; depth: number }) {
  const level = useContext(HeadingLevel);
  return (
    <p className="markdown-heading" role="heading" aria-level={level} data-depth={token.depth}>
      <Inlines tokens={token.tokens} depth={depth} />
    </p>
  );
}

function List({ list, depth }: { list: Tokens.List; depth: number }) {
  const items = list.items.map((item, index) => (
    <li key={index} className={item.task ? "markdown-task" : undefined}>
      {item.task && <input type="checkbox" checked={item.checked === true} disabled readOnly aria-label={READING.task} />}
      <Blocks tokens={item.tokens} depth={depth + 1} />
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table, depth }: { table: Tokens.Table; depth: number }) {
  return (
    <div className="markdown-table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {table.header.map((cell, index) => (
              <th key={index} scope="col">
                <Inlines tokens={cell.tokens} depth={depth} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, place) => (
                <td key={place}>
                  <Inlines tokens={cell.tokens} depth={depth} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Inlines({ tokens, depth }: TokensProps): ReactNode {
  return tokens.map((token, index) => (
    <Fragment key={index}>
      <Inline token={token} depth={depth + 1} />
    </Fragment>
  ));
}

function Inline({ token, depth }: { token: Token; depth: number }): ReactNode {
  if (depth > DEEPEST) return visibleText(token.raw);
  switch (token.type) {
    case "strong":
      return (
        <strong>
          <Inlines tokens={(token as Tokens.Strong).tokens} depth={depth} />
        </strong>
      );
    case "em":
      return (
        <em>
          <Inlines tokens={(token as Tokens.Em).tokens} depth={depth} />
        </em>
      );
    case "del":
      return (
        <del>
          <Inlines tokens={(token as Tokens.Del).tokens} depth={depth} />
        </del>
      );
    case "codespan":
      return <code>{visibleText((token as Tokens.Codespan).text)}</code>;
    case "br":
      return <br />;
    case "link":
      return <MarkdownLink token={token as Tokens.Link} depth={depth} />;
    case "image": {
      const { href, text } = token as Tokens.Image;
      return SAFE_LINK.test(href) ? <ForeignLink url={href} what={text} /> : visibleText(token.raw);
    }
    case "escape":
      return visibleText((token as Tokens.Escape).text);
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? visibleText(unescaped(text)) : <Inlines tokens={tokens} depth={depth} />;
    }
    default:
      return visibleText(token.raw);
  }
}

function MarkdownLink({ token, depth }: { token: Tokens.Link; depth: number }) {
  if (!SAFE_LINK.test(token.href)) return visibleText(token.raw);
  return (
    <a href={token.href} title={visibleText(token.href)} target="_blank" rel="noreferrer noopener">
      <Inlines tokens={token.tokens} depth={depth} />
    </a>
  );
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
