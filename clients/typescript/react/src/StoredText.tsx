/** The text of a resource, in pieces of half a megabyte, decoded as a whole. */
import type { ResourceReader } from "@pagefault/client";
import { useCallback, useEffect, useMemo, useState } from "react";

import { usePagefault } from "./context.ts";
import { Failure } from "./Failure.tsx";
import { fileSize } from "./measures.ts";
import { visibleText } from "./visibleText.ts";
import { WORDS } from "./words.ts";

const PIECE_BYTES = 512 * 1024;

export function StoredText({ id }: { id: string }) {
  const { text, read, size, failure, isReading, readOn } = useStoredText(id);
  if (text === undefined) {
    return failure === null ? (
      <p className="state" role="status">
        {WORDS.loadingText}
      </p>
    ) : (
      <Failure failure={failure} onRetry={readOn} />
    );
  }
  return (
    <div className="stored-text">
      <pre dir="auto" tabIndex={0} aria-label={WORDS.wholeText}>
        {text}
      </pre>
      {failure !== null && <Failure failure={failure} />}
      {read < size && (
        <button type="button" className="button" disabled={isReading} onClick={readOn}>
          {WORDS.loadMore(fileSize(read), fileSize(size))}
        </button>
      )}
    </div>
  );
}

interface Reading {
  readonly reader?: ResourceReader;
  readonly pieces: readonly Uint8Array[];
  readonly failure: unknown;
  readonly isReading: boolean;
}

const BEGINNING: Reading = { pieces: [], failure: null, isReading: false };

function useStoredText(id: string) {
  const client = usePagefault();
  const [reading, setReading] = useState(BEGINNING);
  const { pieces, failure, isReading } = reading;
  const read = lengthOf(pieces);

  const next = useCallback(
    async (last: Reading, isOver: () => boolean) => {
      setReading({ ...last, failure: null, isReading: true });
      try {
        const reader = last.reader ?? (await client.resources.open(id));
        const piece = await reader.read(lengthOf(last.pieces), PIECE_BYTES);
        if (!isOver())
          setReading({ reader, pieces: [...last.pieces, piece], failure: null, isReading: false });
      } catch (problem) {
        if (!isOver()) setReading({ ...last, failure: problem, isReading: false });
      }
    },
    [client, id],
  );

  useEffect(() => {
    let isOver = false;
    void next(BEGINNING, () => isOver);
    return () => {
      isOver = true;
    };
  }, [next]);

  const text = useMemo(
    () => (pieces.length === 0 ? undefined : visibleText(decoded(pieces))),
    [pieces],
  );
  return {
    text,
    read,
    size: reading.reader?.size ?? 0,
    failure,
    isReading,
    readOn: () => void next(reading, () => false),
  };
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

/** A decoder for UTF-8, or for the encoding of a byte order mark, across pieces. */
function decoded(pieces: readonly Uint8Array[]): string {
  const [first, second] = pieces[0] ?? [];
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const decoder = new TextDecoder(isWide ? (first === 0xff ? "utf-16le" : "utf-16be") : "utf-8");
  const texts = pieces.map((piece) => decoder.decode(piece, { stream: true }));
  return texts.join("") + decoder.decode();
}
