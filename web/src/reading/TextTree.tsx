/** Draws the tree of a Markdown text, with characters that hide or reorder text shown as what they are. */
import { ForeignLink, visibleText } from "@pagefault/react";
import { Fragment, type ReactNode, useContext } from "react";

import { READING } from "../words/reading";
import { CodeText } from "./CodeText";
import { HeadingLevel } from "./headingLevel";
import type { Row, TextNode } from "./textTree";

export function TextTree({ nodes }: { nodes: readonly TextNode[] }): ReactNode {
  return nodes.map((node, index) => <Fragment key={index}>{drawn(node)}</Fragment>);
}

function drawn(node: TextNode): ReactNode {
  if (typeof node === "string") return visibleText(node);
  switch (node.tag) {
    case "heading":
      return <Heading depth={node.depth} nodes={node.children} />;
    case "fence":
      return <CodeText text={node.text} language={node.language} />;
    case "ol":
      return (
        <ol start={node.start}>
          <TextTree nodes={node.children} />
        </ol>
      );
    case "li":
      return (
        <li className={node.isDone === undefined ? undefined : "markdown-task"}>
          {node.isDone !== undefined && (
            <input type="checkbox" checked={node.isDone} disabled readOnly aria-label={READING.task} />
          )}
          <TextTree nodes={node.children} />
        </li>
      );
    case "table":
      return <Table header={node.header} rows={node.rows} />;
    case "link":
      return (
        <a href={node.url} title={visibleText(node.url)} target="_blank" rel="noreferrer noopener">
          <TextTree nodes={node.children} />
        </a>
      );
    case "image":
      return <ForeignLink url={node.url} what={node.text} />;
    case "raw":
      return (
        <p className="markdown-raw">
          <TextTree nodes={node.children} />
        </p>
      );
    case "br":
      return <br />;
    case "hr":
      return <hr />;
    default: {
      const Tag = node.tag;
      return (
        <Tag>
          <TextTree nodes={node.children} />
        </Tag>
      );
    }
  }
}

function Heading({ depth, nodes }: { depth: number; nodes: readonly TextNode[] }) {
  const level = useContext(HeadingLevel);
  return (
    <p className="markdown-heading" role="heading" aria-level={level} data-depth={depth}>
      <TextTree nodes={nodes} />
    </p>
  );
}

function Table({ header, rows }: { header: Row; rows: readonly Row[] }) {
  return (
    <div className="markdown-table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th key={index} scope="col">
                <TextTree nodes={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, place) => (
                <td key={place}>
                  <TextTree nodes={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
