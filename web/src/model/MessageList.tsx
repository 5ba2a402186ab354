/** The messages of a rendering, as they are sent; each is drawn when it is opened. */
import { useState } from "react";

import { JsonTree } from "../reading/JsonTree";
import { numberText } from "../shared/formats";
import { MODEL } from "../words/model";
import { READING } from "../words/reading";

const PIECE = 50;

export function MessageList({ messages }: { messages: readonly string[] }) {
  const [shown, setShown] = useState(PIECE);
  return (
    <details className="model-messages">
      <summary>
        <h2>{MODEL.messages}</h2>
      </summary>
      <ol>
        {messages.slice(0, shown).map((message, index) => (
          <li key={index}>
            <Message number={index + 1} source={message} />
          </li>
        ))}
      </ol>
      {messages.length > shown && (
        <button type="button" className="button" onClick={() => setShown(shown + 4 * PIECE)}>
          {READING.more(numberText(Math.min(4 * PIECE, messages.length - shown)))}
        </button>
      )}
    </details>
  );
}

function Message({ number, source }: { number: number; source: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{MODEL.message(number)}</summary>
      {isOpen && <JsonTree source={source} />}
    </details>
  );
}
