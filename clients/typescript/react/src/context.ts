/** The client that components use, and what they share of it. */
import type { Pagefault } from "@pagefault/client";
import { createContext, createElement, useContext, useMemo, type ReactNode } from "react";

import { LiveStreams } from "./liveStream.ts";
import { ResourceCache } from "./resourceCache.ts";

interface Shared {
  readonly client: Pagefault;
  readonly resources: ResourceCache;
  readonly streams: LiveStreams;
}

const PagefaultContext = createContext<Shared | null>(null);

interface PagefaultProviderProps {
  /** With another client everything is read anew. */
  readonly client: Pagefault;
  /** Whether media need signed links; by default if the client has a key. */
  readonly signedLinks?: boolean | undefined;
  readonly children?: ReactNode;
}

/** Gives a client to all components and hooks inside. */
export function PagefaultProvider({
  client,
  signedLinks = client.hasKey,
  children,
}: PagefaultProviderProps) {
  const shared = useMemo(
    () => ({
      client,
      resources: new ResourceCache(client, signedLinks),
      streams: new LiveStreams(client),
    }),
    [client, signedLinks],
  );
  return createElement(PagefaultContext.Provider, { value: shared }, children);
}

/** The client of the provider around. */
export function usePagefault(): Pagefault {
  return useShared().client;
}

export function useResources(): ResourceCache {
  return useShared().resources;
}

export function useStreams(): LiveStreams {
  return useShared().streams;
}

function useShared(): Shared {
  const shared = useContext(PagefaultContext);
  if (shared === null) throw new Error("There is no <PagefaultProvider> around this component");
  return shared;
}
