/** Where the bytes of a resource are, and what is known of them. */
import { resourceId, type ResourceDescriptor } from "@pagefault/client";
import { useSyncExternalStore } from "react";

import { usePagefault, useResources } from "./context.ts";
import type { Link, Loaded } from "./resourceCache.ts";

export interface ResourceContent {
  readonly descriptor: ResourceDescriptor | undefined;
  /** An address for `src`; what plays keeps the one that it began with (see `useSteadyUrl`). */
  readonly url: string | undefined;
  /** The `crossOrigin` of an element with this `src`. */
  readonly crossOrigin: "anonymous" | undefined;
  /** Why it could not be loaded; null if it could, or nobody has asked. */
  readonly failure: unknown;
  /** Ask for the link again, where there is one; gives the address to use from now on. */
  readonly renew: () => Promise<string | undefined>;
}

interface Wish {
  /** What a record already says about the resource: then nothing is asked for to lay it out. */
  readonly known?: ResourceDescriptor | undefined;
  /** False as long as nobody looks at it: nothing is asked for then. */
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
  const url = resources.needsLinks ? signed.value?.url : client.url(`/api/resources/${id}/content`);
  return {
    descriptor: known ?? described.value,
    url: isAsked ? url : undefined,
    crossOrigin: resources.crossOrigin,
    failure: described.failure ?? signed.failure ?? null,
    renew: async () => (resources.needsLinks ? (await resources.link(id).load()).url : url),
  };
}

function useShared<Value>({ subscribe, current }: Source<Value>): Loaded<Value> {
  return useSyncExternalStore(subscribe, current, current);
}
