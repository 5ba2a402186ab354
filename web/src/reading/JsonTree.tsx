/**
 * JSON as a tree, out of its text: no number loses a digit, and only what is unfolded is drawn.
 *
 * Escapes in strings are shown as the characters they are, but for those that hide or reorder text.
 */
import { itemsOf, membersOf } from "@pagefault/client/json";
import { visibleText } from "@pagefault/react";
import { useState } from "react";

import { numberText } from "../shared/formats";
import { READING } from "../words/reading";
import { CopyButton } from "./CopyButton";
import { LONGEST_JSON, formOf } from "./textForm";

const PIECE = 100;
const OPEN_MEMBERS = 12;
const OPEN_DEPTH = 2;
/** Trees of up to this many characters are unfolded at every depth. */
const OPEN_LENGTH = 600;
const LONG_STRING = 600;

interface JsonTreeProps {
  readonly source: string;
  /** Pointers to what is marked, and unfolded at first. */
  readonly marks?: ReadonlySet<string>;
}

const NO_MARKS: ReadonlySet<string> = new Set();

export function JsonTree({ source, marks = NO_MARKS }: JsonTreeProps) {
  return (
    <div className="json-tree">
      <Node
        source={source.trim()}
        name={null}
        pointer=""
        depth={0}
        marks={marks}
        isSmall={source.length <= OPEN_LENGTH}
      />
    </div>
  );
}

interface NodeProps {
  readonly source: string;
  /** The member's name or the item's number; null for the whole. */
  readonly name: string | null;
  readonly pointer: string;
  readonly depth: number;
  readonly marks: ReadonlySet<string>;
  /** Whether the whole tree is short enough to be unfolded at every depth. */
  readonly isSmall: boolean;
}

function Node({ source, name, pointer, depth, marks, isSmall }: NodeProps) {
  const opening = source.charAt(0);
  const inner = opening === '"' ? innerJson(source) : undefined;
  if (inner !== undefined) {
    return (
      <div className="json-leaf">
        <Name name={name} isMarked={marks.has(pointer)} />
        <span className="quiet">{READING.jsonInText}</span>
        <Copies source={source} pointer={pointer} />
        <div className="json-children">
          {/* Its pointers begin at it. */}
          <Node source={inner} name={null} pointer="" depth={1} marks={NO_MARKS} isSmall={isSmall} />
        </div>
      </div>
    );
  }
  if (opening !== "{" && opening !== "[") {
    return (
      <div className="json-leaf">
        <Name name={name} isMarked={marks.has(pointer)} />
        <Leaf source={source} />
        <Copies source={source} pointer={pointer} />
      </div>
    );
  }
  return <Branch {...{ source, name, pointer, depth, marks, isSmall }} isList={opening === "["} />;
}

function Branch(props: NodeProps & { isList: boolean }) {
  const { source, name, pointer, depth, marks, isSmall, isList } = props;
  const [children] = useState(() => childrenOf(source, isList));
  const [isOpen, setOpen] = useState(
    () =>
      ((depth < OPEN_DEPTH || isSmall) && children.length <= OPEN_MEMBERS) ||
      [...marks].some((mark) => mark === pointer || mark.startsWith(`${pointer}/`)),
  );
  const [shown, setShown] = useState(PIECE);
  const count = (isList ? READING.items : READING.members)(children.length);
  return (
    <details
      className="json-branch"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <Name name={name} isMarked={marks.has(pointer)} />
        <span className="quiet">{isList ? `[ ${count} ]` : `{ ${count} }`}</span>
      </summary>
      {isOpen && (
        <div className="json-children">
          <Copies source={source} pointer={pointer} />
          {children.slice(0, shown).map(([key, value], index) => (
            <Node
              key={index}
              source={value}
              name={key}
              pointer={`${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`}
              depth={depth + 1}
              marks={marks}
              isSmall={isSmall}
            />
          ))}
          {children.length > shown && (
            <button
              type="button"
              className="button plain small"
              onClick={() => setShown(shown + PIECE * 5)}
            >
              {READING.more(numberText(Math.min(PIECE * 5, children.length - shown)))}
            </button>
          )}
        </div>
      )}
    </details>
  );
}

/** The JSON that a string holds, if it is that of an object or a list. */
function innerJson(source: string): string | undefined {
  if (!/^"\s*(?:\[|\{|\\[nrt])/.test(source) || source.length > LONGEST_JSON) return undefined;
  const form = formOf(JSON.parse(source) as string);
  return form.kind === "json" ? form.source.trim() : undefined;
}

function childrenOf(source: string, isList: boolean): readonly (readonly [string, string])[] {
  return isList ? itemsOf(source).map((item, index) => [`${index}`, item] as const) : membersOf(source);
}

function Name({ name, isMarked }: { name: string | null; isMarked: boolean }) {
  if (name === null) return null;
  const words = <span className="json-name">{visibleText(name)}: </span>;
  return isMarked ? <mark className="json-marked">{words}</mark> : words;
}

function Leaf({ source }: { source: string }) {
  const [isWhole, setWhole] = useState(false);
  if (!source.startsWith('"')) return <span className="json-literal">{source}</span>;
  const text = JSON.parse(source) as string;
  const isCut = !isWhole && text.length > LONG_STRING;
  return (
    <span className="json-string">
      “{visibleText(isCut ? text.slice(0, LONG_STRING) : text)}
      {isCut ? (
        <button type="button" className="button plain small" onClick={() => setWhole(true)}>
          {READING.more(numberText(text.length - LONG_STRING))}
        </button>
      ) : (
        "”"
      )}
    </span>
  );
}

function Copies({ source, pointer }: { source: string; pointer: string }) {
  const value = source.startsWith('"') ? (JSON.parse(source) as string) : source;
  return (
    <span className="json-copies">
      <CopyButton text={value} name={READING.copyValue} />
      <CopyButton text={pointer} name={READING.copyPointer} />
    </span>
  );
}
