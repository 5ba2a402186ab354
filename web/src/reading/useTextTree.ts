/** The tree of a text, read in a worker and kept for a while; undefined until it is there. */
import { useQuery } from "@tanstack/react-query";

import { type Reading, TextReader, type Tree } from "./textReader";

const reader = new TextReader();

/** Return the tree; null if the text takes too long to read, or no worker could be started. */
export function useTextTree(reading: Reading, isWanted = true): Tree | undefined {
  const read = useQuery({
    queryKey: ["text-tree", reading.language, reading.text],
    queryFn: ({ signal }) => reader.read(reading, signal),
    enabled: isWanted,
    staleTime: Infinity,
    structuralSharing: false,
    // It needs no network.
    networkMode: "always",
  });
  return read.isError ? null : read.data;
}
