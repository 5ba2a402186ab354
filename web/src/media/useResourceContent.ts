/**
 * Where the bytes of a resource are, and what is known of them, asked for once however many parts
 * refer to it.
 *
 * Without a key the address never changes. With one, it is a signed link that is made anew a minute
 * before it expires; what plays keeps the link it began with (see `useSteadyUrl`).
 */
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { useAccess } from "../access/key";
import { answered } from "../api/client";
import { createSignedUrl, getResource, type ResourceDescriptor } from "../api/generated";
import { resourceId } from "./references";

const LINK_SECONDS = 3_600;
const RENEWED_BEFORE_MS = 60_000;
const SHORTEST_MS = 30_000;

export interface ResourceContent {
  readonly descriptor: ResourceDescriptor | undefined;
  readonly url: string | undefined;
  readonly failure: unknown;
  /** Ask for the link again, where there is one; gives the address to use from now on. */
  readonly renew: () => Promise<string | undefined>;
}

interface Link {
  readonly url: string;
  readonly expiresAt: string;
}

interface Wish {
  /** What the record already says about the resource. */
  readonly known?: ResourceDescriptor | undefined;
  /** False as long as nobody looks at it: nothing is asked for then. */
  readonly isWanted?: boolean;
}

/** The descriptor and the address of `@blob:<id>`, `blob:<id>` or a bare id. */
export function useResourceContent(uri: string, { known, isWanted = true }: Wish): ResourceContent {
  const { key } = useAccess();
  const queries = useQueryClient();
  const id = resourceId(uri) ?? "";
  const described = useQuery({
    queryKey: ["resource", id],
    queryFn: ({ signal }) => answered(getResource({ path: { uri: id }, signal })),
    enabled: isWanted && id !== "" && known === undefined,
    staleTime: Infinity,
  });
  const link = useQuery({
    queryKey: ["resource-link", id],
    queryFn: () => signedLink(id),
    enabled: isWanted && id !== "" && key !== null,
    staleTime: ({ state }) => validMs(state.data, state.dataUpdatedAt),
    refetchInterval: ({ state }) => validMs(state.data, state.dataUpdatedAt),
    refetchIntervalInBackground: true,
  });
  const url = key === null ? `/api/resources/${id}/content` : link.data?.url;
  return {
    descriptor: known ?? described.data,
    url: isWanted && id !== "" ? url : undefined,
    failure: described.error ?? link.error,
    renew: async () => {
      if (key === null) return url;
      const fresh = { queryKey: ["resource-link", id], queryFn: () => signedLink(id), staleTime: 0 };
      return (await queries.fetchQuery(fresh)).url;
    },
  };
}

/** A link that saves the resource under its name. */
export async function downloadLink(id: string): Promise<string> {
  return (await signedLink(id, "attachment")).url;
}

async function signedLink(id: string, disposition: "inline" | "attachment" = "inline") {
  const body = { expiresInSeconds: LINK_SECONDS, disposition };
  const { url, expiresAt } = await answered(createSignedUrl({ path: { uri: id }, body }));
  const { pathname, search } = new URL(url, window.location.href);
  // The service may know itself under another name; the page may only load from its own.
  return { url: pathname + search, expiresAt: String(expiresAt) };
}

function validMs(link: Link | undefined, since: number): number {
  if (link === undefined) return LINK_SECONDS * 1000;
  const lifetime = Math.min(Date.parse(link.expiresAt) - since, LINK_SECONDS * 1000);
  // Where the clocks disagree, the lifetime may seem to be over at once.
  return Math.max(lifetime - RENEWED_BEFORE_MS, SHORTEST_MS);
}
