/** The URL and the descriptor of a resource. */
import { resourceId, type ResourceDescriptor } from "@pagefault/client";
import { useSyncExternalStore } from "react";

import { usePagefault, useResources } from "./context.ts";
import { playedAs } from "./references.ts";
import type { Link, Loaded } from "./resourceCache.ts";

export interface ResourceContent {
  readonly descriptor: ResourceDescriptor | undefined;
  /** An address for `src`; what plays keeps the one that it began with (see `useSteadyUrl`). */
  readonly url: string | undefined;
  /** The `crossOrigin` of an element with this `src`. */
  readonly crossOrigin: "anonymous" | undefined;
  /** The error of the last load; null if there is none. */
  readonly failure: unknown;
  /** Ask for the link again, where there is one; gives the address to use from now on. */
  readonly renew: () => Promise<string | undefined>;
}

interface Wish {
  /** The descriptor from a record, which saves a request for the layout. */
  readonly known?: ResourceDescriptor | undefined;
  /** False while the resource is not visible; no request is sent then. */
  readonly isWanted?: boolean | undefined;
}

interface Source<Value> {
  readonly subscribe: (listener: () => void) => () => void;
  readonly current: () => Loaded<Value>;
}

const NOTHING: Loaded<never> = {};
const UNWANTED: Source<never> = { subscribe: () => () => undefined, current: () => NOTHING };

/** The descriptor and the address of `@blob:<id>`, `blob:<id>` or a bare id. */
export function useResourceContent(
  uri: string,
  { known, isWanted = true }: Wish = {},
): ResourceContent {
  const client = usePagefault();
  const resources = useResources();
  const id = resourceId(uri) ?? "";
  const isAsked = isWanted && id !== "";
  const described = useShared<ResourceDescriptor>(
    isAsked && known === undefined ? resources.descriptor(id) : UNWANTED,
  );
  const signed = useShared<Link>(isAsked && resources.needsLinks ? resources.link(id) : UNWANTED);
  const descriptor = known ?? described.value;
  const query = playedAs(descriptor?.mimeType);
  const linked = (link: string | undefined) =>
    link === undefined || query === "" ? link : `${link}&${query}`;
  const path = `/api/resources/${id}/content`;
  const url = resources.needsLinks
    ? linked(signed.value?.url)
    : client.url(query === "" ? path : `${path}?${query}`);
  return {
    descriptor,
    url: isAsked ? url : undefined,
    crossOrigin: resources.crossOrigin,
    failure: described.failure ?? signed.failure ?? null,
    renew: async () => (resources.needsLinks ? linked((await resources.link(id).load()).url) : url),
  };
}

function useShared<Value>({ subscribe, current }: Source<Value>): Loaded<Value> {
  return useSyncExternalStore(subscribe, current, current);
}
