/** Files: uploads, their descriptors, and their content. */
import { openContent, type ByteRange, type ContentOptions } from "./content.ts";
import type {
  AliasPage,
  AliasRecord,
  GetResourceTextData,
  ResourcePage,
  ResourceRecord,
  SignedUrl,
  SignedUrlRequest,
  TextLines,
  TextMatches,
  TextPiece,
} from "./generated/types.gen.ts";
import { listAt, type List } from "./lists.ts";
import { ResourceReader } from "./reader.ts";
import { resourceId } from "./references.ts";
import { type ApiPromise, at, type Conditions, type RequestOptions, type Transport } from "./transport.ts";
import { upload, type UploadOptions, type UploadSource } from "./uploads.ts";

type TextWish = NonNullable<GetResourceTextData["query"]>;
type ListWish = { readonly limit?: number | undefined } & RequestOptions;

export class Resources {
  private readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /**
   * Store a file: a small one in one request, a larger one in pieces that survive broken
   * connections.
   */
  upload(source: UploadSource, options: UploadOptions = {}): Promise<ResourceRecord> {
    return upload(this.transport, source, options);
  }

  /** The descriptor of `blob:…`, `@blob:…` or a bare id. */
  get(uri: string, options: RequestOptions = {}): ApiPromise<ResourceRecord> {
    return this.transport.json({ ...options, path: pathOf(uri) });
  }

  list({ limit, ...options }: ListWish = {}): List<ResourceRecord, ResourcePage> {
    return listAt(this.transport, "/api/resources", { ...options, query: { limit } });
  }

  delete(uri: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.done({ ...options, method: "DELETE", path: pathOf(uri) });
  }

  /** A link that opens the content without a key for a while, in `<img>` and `<video>` too. */
  signedUrl(
    uri: string,
    wish: SignedUrlRequest = {},
    options: RequestOptions = {},
  ): ApiPromise<SignedUrl> {
    const path = `${pathOf(uri)}/signed-url`;
    return this.transport.json({
      ...options,
      method: "POST",
      path,
      json: wish,
      isRepeatable: true,
    });
  }

  /**
   * The content, as a response that resumes after a lost connection. Reading it rejects with a
   * `DigestMismatchError` if its digest is wrong.
   */
  content(uri: string, options: ContentOptions = {}): Promise<Response> {
    const digest = async () => (await this.get(uri, options)).digest;
    return openContent(this.transport, { ...options, path: `${pathOf(uri)}/content`, digest });
  }

  /** The content, or a part of it, in memory. */
  async bytes(uri: string, options: ContentOptions = {}): Promise<Uint8Array> {
    const { range } = options;
    if (range?.end !== undefined && range.end <= range.start) return new Uint8Array();
    return new Uint8Array(await (await this.content(uri, options)).arrayBuffer());
  }

  /** A reader of any part of the content, with a cache and reading ahead. */
  async open(uri: string, options: RequestOptions = {}): Promise<ResourceReader> {
    const descriptor = await this.get(uri, options);
    return new ResourceReader(descriptor, (range: ByteRange) =>
      this.bytes(uri, { ...options, range }),
    );
  }

  /** A part of a text: lines, the lines with a word, or a value of a JSON document. */
  text(
    uri: string,
    wish: { grep: string } & TextWish,
    options?: RequestOptions,
  ): ApiPromise<TextMatches>;
  text(
    uri: string,
    wish?: { grep?: never; pointer?: never } & TextWish,
    options?: RequestOptions,
  ): ApiPromise<TextLines>;
  text(uri: string, wish: TextWish, options?: RequestOptions): ApiPromise<TextPiece>;
  text(uri: string, wish: TextWish = {}, options: RequestOptions = {}): ApiPromise<TextPiece> {
    return this.transport.json({ ...options, path: `${pathOf(uri)}/text`, query: wish });
  }
}

/** Ids that other systems gave to files. */
export class Aliases {
  private readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** Give an alias to a resource; `ifMatch` moves it from another one. */
  put(alias: string, uri: string, options: Conditions & RequestOptions = {}): ApiPromise<AliasRecord> {
    return this.transport.json({
      ...options,
      method: "PUT",
      path: at`/api/aliases/${alias}`,
      json: { uri },
    });
  }

  get(alias: string, options: RequestOptions = {}): ApiPromise<AliasRecord> {
    return this.transport.json({ ...options, path: at`/api/aliases/${alias}` });
  }

  list({ uri, limit, ...options }: { readonly uri?: string | undefined } & ListWish = {}): List<
    AliasRecord,
    AliasPage
  > {
    return listAt(this.transport, "/api/aliases", { ...options, query: { uri, limit } });
  }

  delete(alias: string, options: Pick<Conditions, "ifMatch"> & RequestOptions = {}): Promise<void> {
    return this.transport.done({ ...options, method: "DELETE", path: at`/api/aliases/${alias}` });
  }
}

function pathOf(uri: string): string {
  return at`/api/resources/${resourceId(uri) ?? uri}`;
}
