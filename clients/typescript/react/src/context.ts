/** The client that components use, and their shared state. */
import type { FilePart, Pagefault } from "@pagefault/client";
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

export interface ShownTextProps {
  readonly text: string;
  /** The name or the address of the file that it is of. */
  readonly filename?: string | undefined;
  readonly children?: ReactNode;
}

export interface PreviewedTextProps {
  readonly filename?: string | undefined;
  /** The preview, with a line for what is left out. */
  readonly text: string;
  /** The resource with the whole text. */
  readonly whole: { readonly id: string; readonly size: number };
}

export interface StoredTextProps {
  readonly id: string;
  readonly size?: number | undefined;
  readonly mimeType?: string | undefined;
  readonly filename?: string | undefined;
  /** The beginning of the text, where the record has one. */
  readonly preview?: string | undefined;
}

/** Components that render texts and documents, in place of those of this package. */
export interface TextViews {
  /** A text of a part; `children` are what else can be done with it. */
  readonly Text?: ComponentType<ShownTextProps>;
  /** A text of which the record has a preview only. */
  readonly Previewed?: ComponentType<PreviewedTextProps>;
  /** The text of a resource, read from the service. */
  readonly Stored?: ComponentType<StoredTextProps>;
  /** The pages of a PDF that is a resource. */
  readonly Pdf?: ComponentType<{ readonly id: string }>;
  /** The page of an MCP App; by default a file to save. */
  readonly App?: ComponentType<{ readonly part: FilePart }>;
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
