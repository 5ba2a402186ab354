/** The text of a resource: read whole where its form needs all of it, else in pieces with a search. */
import { Failure, type StoredTextProps, usePagefault } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";

import { useIsStored } from "../file/openedFile";
import { Loading } from "../shared/states";
import { READING } from "../words/reading";
import { RichText } from "./RichText";
import { SearchedText } from "./SearchedText";
import { LONGEST_JSON, beginsAsJson, languageOf } from "./textForm";

const KEPT_MS = 30_000;
const LONGEST_CODE = 100_000;

export function ReadableText({ id, size = Infinity, preview = "", ...hints }: StoredTextProps) {
  const isStored = useIsStored();
  // Only the service searches a text.
  const isWhole = !isStored || (size <= LONGEST_JSON && needsWhole({ ...hints, size, preview }));
  const read = useWholeText(id, isWhole);
  if (!isWhole) return <SearchedText id={id} />;
  if (read.isError) return <Failure failure={read.error} onRetry={() => void read.refetch()} />;
  if (read.data === undefined) return <Loading what={READING.text} />;
  return <RichText text={read.data} {...hints} />;
}

/** The whole text of a resource, as soon as it is wanted. */
export function useWholeText(id: string, isWanted: boolean) {
  const client = usePagefault();
  return useQuery({
    queryKey: ["whole-text", id],
    queryFn: async ({ signal }) => {
      const answer = await client.request(`/api/resources/${id}/content`, { signal });
      return answer.text();
    },
    enabled: isWanted,
    staleTime: Infinity,
    gcTime: KEPT_MS,
  });
}

function needsWhole({ size = 0, preview = "", mimeType = "", filename }: Omit<StoredTextProps, "id">) {
  if (beginsAsJson(preview) || /[/+](?:json|csv|tab-separated-values)\b/i.test(mimeType)) return true;
  return size <= LONGEST_CODE && languageOf({ filename }) !== undefined;
}
