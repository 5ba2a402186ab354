/** The text of a resource, in pieces of half a megabyte, decoded as a whole. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { fetched } from "../api/client";
import { ProblemError } from "../api/problem";
import { fileSize } from "./measures";
import { Failure, Loading } from "./states";
import { visibleText } from "./visibleText";

const PIECE_BYTES = 512 * 1024;

interface Piece {
  readonly bytes: Uint8Array;
  readonly totalBytes: number;
}

export function StoredText({ id }: { id: string }) {
  const read = useInfiniteQuery({
    queryKey: ["resource-text", id],
    queryFn: ({ pageParam, signal }) => readPiece(id, pageParam, signal),
    initialPageParam: 0,
    getNextPageParam: (_last, pieces) => {
      const have = lengthOf(pieces);
      return have < (pieces[0]?.totalBytes ?? 0) ? have : undefined;
    },
    staleTime: Infinity,
  });
  const pieces = read.data?.pages;
  const text = useMemo(() => (pieces === undefined ? "" : visibleText(decoded(pieces))), [pieces]);
  if (pieces === undefined) {
    return read.isError ? (
      <Failure failure={read.error} onRetry={() => void read.refetch()} />
    ) : (
      <Loading what="the text" />
    );
  }
  return (
    <div className="stored-text">
      <pre dir="auto" tabIndex={0} aria-label="The whole text">
        {text}
      </pre>
      {read.isFetchNextPageError && <Failure failure={read.error} />}
      {read.hasNextPage && (
        <button
          type="button"
          className="button"
          disabled={read.isFetchingNextPage}
          onClick={() => void read.fetchNextPage()}
        >
          Load more ({fileSize(lengthOf(pieces))} of {fileSize(pieces[0]?.totalBytes ?? 0)})
        </button>
      )}
    </div>
  );
}

async function readPiece(id: string, start: number, signal: AbortSignal): Promise<Piece> {
  const headers = { Range: `bytes=${start}-${start + PIECE_BYTES - 1}` };
  const response = await fetched(`/api/resources/${id}/content`, { headers, signal }).catch(
    (failure: unknown) => {
      // An empty file has no range that could be satisfied.
      if (start === 0 && isUnsatisfiable(failure)) return new Response("");
      throw failure;
    },
  );
  const bytes = new Uint8Array(await response.arrayBuffer());
  const total = /\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "")?.[1];
  return { bytes, totalBytes: total === undefined ? bytes.length : Number(total) };
}

function isUnsatisfiable(failure: unknown): boolean {
  return failure instanceof ProblemError && failure.problem.status === 416;
}

function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, piece) => sum + piece.bytes.length, 0);
}

/** UTF-8, or what a byte order mark says; a character may lie across two pieces. */
function decoded(pieces: readonly Piece[]): string {
  const [first, second] = pieces[0]?.bytes ?? [];
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const decoder = new TextDecoder(isWide ? (first === 0xff ? "utf-16le" : "utf-16be") : "utf-8");
  const texts = pieces.map((piece) => decoder.decode(piece.bytes, { stream: true }));
  return texts.join("") + decoder.decode();
}
