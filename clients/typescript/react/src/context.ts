/** The client that components use, and their shared state. */
import type { Pagefault } from "@pagefault/client";
import {
  createContext,
  createElement,
  useContext,
  useMemo,
  type ComponentType,
  type ReactNode,
} from "react";

import { LiveStreams } from "./liveStream.ts";
import { ResourceCache } from "./resourceCache.ts";

/** Components that render texts and documents, in place of those of this package. */
export interface TextViews {
  /** A text of a part; `children` are what else can be done with it. */
  readonly Text?: ComponentType<{ readonly text: string; readonly children?: ReactNode }>;
  /** The text of a resource, read from the service. */
  readonly Stored?: ComponentType<{ readonly id: string }>;
  /** The pages of a PDF that is a resource. */
  readonly Pdf?: ComponentType<{ readonly id: string }>;
  /** The content beside an enlarged image, such as its rendering for a model. */
  readonly BesideImage?: ComponentType<{ readonly reference: string }>;
}

interface Shared {
  readonly texts: TextViews;
  readonly client: Pagefault;
  readonly resources: ResourceCache;
  readonly streams: LiveStreams;
}

const NO_VIEWS: TextViews = {};
const PagefaultContext = createContext<Shared | null>(null);

interface PagefaultProviderProps {
  /** With another client everything is read anew. */
  readonly client: Pagefault;
  /** Whether media need signed links; by default if the client has a key. */
  readonly signedLinks?: boolean | undefined;
  /** Draws texts in another way, as Markdown for example. The same object each time. */
  readonly texts?: TextViews | undefined;
  readonly children?: ReactNode;
}

/** Gives a client to all components and hooks inside. */
export function PagefaultProvider({
  client,
  signedLinks = client.hasKey,
  texts = NO_VIEWS,
  children,
}: PagefaultProviderProps) {
  const shared = useMemo(
    () => ({
      client,
      texts,
      resources: new ResourceCache(client, signedLinks),
      streams: new LiveStreams(client),
    }),
    [client, signedLinks, texts],
  );
  return createElement(PagefaultContext.Provider, { value: shared }, children);
}

/** The client of the provider around. */
export function usePagefault(): Pagefault {
  return useShared().client;
}

export function useTextViews(): TextViews {
  return useShared().texts;
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
