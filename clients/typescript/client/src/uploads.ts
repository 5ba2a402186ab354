/**
 * Uploads: small files in one request, larger ones in pieces (tus 1.0.0).
 *
 * After a lost connection, the client requests the offset of the upload and resumes there. A stream
 * is read only once, because the current piece is kept. At the end, the digest of the stored bytes is
 * compared with that of the sent bytes.
 */
import { APIStatusError, NotFoundError, PagefaultError } from "./errors.ts";
import type { ResourceRecord } from "./generated/types.gen.ts";
import { fetchWithProgress } from "./progress.ts";
import { resourceId } from "./references.ts";
import { expectDigest, Sha256 } from "./sha256.ts";
import {
  at,
  backoffMs,
  isPassing,
  pause,
  splitOptions,
  type Call,
  type RequestOptions,
  type Transport,
} from "./transport.ts";
import { base64Of } from "./values.ts";

export type UploadSource =
  | Blob
  | ArrayBuffer
  | ArrayBufferView
  | string
  | AsyncIterable<Uint8Array>
  | ReadableStream<Uint8Array>;

export interface UploadOptions extends RequestOptions {
  readonly filename?: string | undefined;
  readonly mimeType?: string | undefined;
  /** Another id for the resource, which attachments may use. */
  readonly alias?: string | undefined;
  /**
   * The digest of the file as descriptors have it, `sha-256:` and hex, if you know it. A file that
   * the project has is not sent then; of a file of one piece the client computes the digest.
   */
  readonly digest?: string | undefined;
  /** The size of a stream. Without it, a stream of more than one piece is sent in one request. */
  readonly size?: number | undefined;
  /** Called as bytes go out; `total` is undefined of a stream without a size. */
  readonly onProgress?:
    ((progress: { sent: number; total: number | undefined }) => void) | undefined;
  /** The size of a piece, and of the largest file for one request; 8 MiB by default. */
  readonly pieceBytes?: number | undefined;
  /** Called with the id of an upload in pieces, by which it can be taken up later. */
  readonly onStart?: ((uploadId: string) => void) | undefined;
  /**
   * The id of an upload of the same file that was begun before, also by another program. Another
   * file is refused: at once if its size is another, else at the end, by its digest.
   */
  readonly uploadId?: string | undefined;
}

const PIECE_BYTES = 8 * 1024 * 1024;
/** Fewer bytes are sent as fast as the question whether the project has them. */
const ASKED_FROM_BYTES = 20_000;
const TUS = { "Tus-Resumable": "1.0.0" };
/** Asking where the upload is mends these. */
const RESUMABLE = new Set([408, 409, 460]);
const LASTING_CODES = new Set(["alias-taken", "too-many-aliases", "upload-superseded"]);
/** The slowest line that a request waits for, beside its usual time. */
const SLOWEST_BYTES_PER_MS = 16;

/** A sequential source of bytes, whose last piece can be read again. */
interface Pieces {
  readonly size: number | undefined;
  /** The bytes from `start` to `end`, or to the end of all. */
  take(start: number, end: number): Promise<Blob>;
}

/** Store a file as a resource. */
export async function upload(
  transport: Transport,
  source: UploadSource,
  options: UploadOptions,
): Promise<ResourceRecord> {
  const named: UploadOptions = { ...describe(source), ...given(options) };
  const pieceBytes = named.pieceBytes ?? PIECE_BYTES;
  const pieces = piecesOf(source, named.size);
  const isSmall = pieces.size !== undefined && pieces.size <= pieceBytes;
  if (named.digest !== undefined && named.uploadId === undefined) {
    const known = await storeKnown(transport, named.digest.replace(/^sha-256:/, ""), named);
    if (known !== undefined) return known;
  }
  if (named.uploadId === undefined && isSmall) {
    return sendWhole(transport, await pieces.take(0, pieceBytes), named);
  }
  if (pieces.size !== undefined)
    return new PiecewiseUpload(transport, pieces, pieces.size, pieceBytes, named).send();
  const beginning = await pieces.take(0, pieceBytes);
  if (beginning.size < pieceBytes) return sendWhole(transport, beginning, named);
  const hash = new Sha256();
  const record = await sendWhole(transport, streamOf(pieces, pieceBytes, hash, named), named);
  expectArrived(record, hash);
  return record;
}

async function sendWhole(
  transport: Transport,
  body: Blob | ReadableStream<Uint8Array>,
  options: UploadOptions,
) {
  const { onProgress } = options;
  const total = body instanceof Blob ? body.size : undefined;
  onProgress?.({ sent: 0, total });
  const digest = body instanceof Blob ? await digestOf(body) : undefined;
  if (digest !== undefined && total! >= ASKED_FROM_BYTES && options.digest === undefined) {
    const known = await storeKnown(transport, digest, options);
    if (known !== undefined) return known;
  }
  const call: Call = {
    ...callOf(options, digest),
    ...patient(transport, options, total ?? Infinity),
    body,
    fetch:
      total && onProgress
        ? fetchWithProgress((sent) => onProgress({ sent: Math.min(sent, total), total }))
        : undefined,
  };
  const record = await transport.json<ResourceRecord>(call);
  onProgress?.({ sent: record.size, total: record.size });
  return record;
}

/** Store a file whose bytes the project has; undefined if it does not have them. */
async function storeKnown(
  transport: Transport,
  digest: string,
  options: UploadOptions,
): Promise<ResourceRecord | undefined> {
  try {
    const record = await transport.json<ResourceRecord>(callOf(options, digest));
    options.onProgress?.({ sent: record.size, total: record.size });
    return record;
  } catch (failure) {
    if (failure instanceof NotFoundError) return undefined;
    throw failure;
  }
}

function callOf(options: UploadOptions, digest: string | undefined): Call {
  const { filename, alias, mimeType = "application/octet-stream" } = options;
  const [request] = splitOptions(options);
  return {
    ...request,
    method: "POST",
    path: "/api/resources",
    query: { filename, alias },
    headers: {
      "Content-Type": mimeType,
      "Repr-Digest": digest && `sha-256=:${base64OfHex(digest)}:`,
      ...options.headers,
    },
    // The same file is the same resource.
    isRepeatable: true,
  };
}

class PiecewiseUpload {
  private readonly transport: Transport;
  private readonly pieces: Pieces;
  private readonly size: number;
  private readonly pieceBytes: number;
  private readonly options: UploadOptions;
  private readonly hash = new Sha256();
  private path = "";
  private offset = 0;
  private hashed = 0;
  private resource: string | undefined;

  constructor(
    transport: Transport,
    pieces: Pieces,
    size: number,
    pieceBytes: number,
    options: UploadOptions,
  ) {
    this.transport = transport;
    this.pieces = pieces;
    this.size = size;
    this.pieceBytes = pieceBytes;
    this.options = options;
  }

  async send(): Promise<ResourceRecord> {
    const { signal, maxRetries = this.transport.options.maxRetries ?? 3 } = this.options;
    await this.begin();
    let failures = 0;
    while (this.resource === undefined) {
      const before = this.offset;
      try {
        await this.sendPiece();
        failures = 0;
      } catch (failure) {
        if (!canGoOn(failure) || failures >= maxRetries) throw failure;
        const told = failure instanceof APIStatusError ? failure.retryAfter : undefined;
        const waitMs = told === undefined ? backoffMs(failures) : told * 1000;
        this.transport.logRetry(`PATCH ${this.path}`, failure, waitMs);
        await pause(waitMs, signal);
        failures += 1;
        await this.askOffset();
        // Something has come of it: this line is bad, and not dead.
        if (this.offset > before) failures = 0;
      }
      this.tell(this.offset);
    }
    const path = at`/api/resources/${resourceId(this.resource) ?? this.resource}`;
    const { headers } = this.options;
    const record = await this.transport.json<ResourceRecord>({ path, signal, headers });
    // An upload that was begun before may have been complete.
    await this.hashUntil(this.size);
    expectArrived(record, this.hash);
    return record;
  }

  /** Bring the digest forward, also over what another program has sent. */
  private async hashUntil(end: number): Promise<void> {
    while (this.hashed < end) {
      const until = Math.min(this.hashed + this.pieceBytes, end);
      await this.hashPiece(this.hashed, await this.pieces.take(this.hashed, until));
    }
  }

  /** Of a piece that arrived in part, the beginning comes once more. */
  private async hashPiece(start: number, piece: Blob): Promise<void> {
    if (piece.size === 0 && start < this.size)
      throw new PagefaultError(`The source ended at ${start} of ${this.size} bytes`);
    const bytes = new Uint8Array(await piece.arrayBuffer()).subarray(this.hashed - start);
    this.hash.update(bytes);
    this.hashed += bytes.length;
  }

  private async begin(): Promise<void> {
    const { uploadId, filename, mimeType, alias, onStart, signal } = this.options;
    if (uploadId !== undefined) {
      this.path = at`/api/uploads/${uploadId}`;
      const length = (await this.askOffset()).get("Upload-Length");
      if (length !== null && Number(length) !== this.size)
        throw new PagefaultError(
          `Upload ${uploadId} is of a file of ${length} bytes, and this one has ${this.size}`,
        );
      return;
    }
    const metadata = Object.entries({ filename, filetype: mimeType, alias }).flatMap(
      ([name, value]) => (value ? [`${name} ${base64Of(new TextEncoder().encode(value))}`] : []),
    );
    const headers = {
      ...TUS,
      "Upload-Length": `${this.size}`,
      "Upload-Metadata": metadata.join(",") || undefined,
    };
    // One that is created twice expires.
    const call: Call = {
      method: "POST",
      path: "/api/uploads",
      headers,
      signal,
      isRepeatable: true,
    };
    const location = (await this.headersOf(call)).get("Location") ?? "";
    // The address may name a host that only proxies know.
    const id =
      location
        .replace(/[?#].*$/, "")
        .split("/")
        .at(-1) ?? "";
    this.path = at`/api/uploads/${id}`;
    onStart?.(id);
    this.tell(0);
  }

  private async sendPiece(): Promise<void> {
    const start = this.offset;
    const end = Math.min(start + this.pieceBytes, this.size);
    await this.hashUntil(start);
    const piece = await this.pieces.take(start, end);
    await this.hashPiece(start, piece);
    const headers = {
      ...TUS,
      "Upload-Offset": `${start}`,
      "Content-Type": "application/offset+octet-stream",
    };
    const answered = await this.headersOf({
      ...patient(this.transport, this.options, piece.size),
      method: "PATCH",
      path: this.path,
      headers,
      body: piece,
      maxRetries: 0,
      fetch:
        this.options.onProgress &&
        fetchWithProgress((sent) => this.tell(start + Math.min(sent, piece.size))),
    });
    this.note(answered);
  }

  private async askOffset(): Promise<Headers> {
    const { signal } = this.options;
    const call: Call = { method: "HEAD", path: this.path, headers: TUS, signal };
    const headers = await this.headersOf(call);
    this.note(headers);
    return headers;
  }

  private note(headers: Headers): void {
    this.offset = Number(headers.get("Upload-Offset") ?? this.offset);
    this.resource = headers.get("Upload-Resource") ?? undefined;
  }

  private async headersOf(call: Call): Promise<Headers> {
    const headers = { ...call.headers, ...this.options.headers };
    const response = await this.transport.response({ ...call, headers });
    await response.body?.cancel();
    return response.headers;
  }

  private tell(sent: number): void {
    this.options.onProgress?.({ sent, total: this.size });
  }
}

function canGoOn(failure: unknown): boolean {
  if (!(failure instanceof APIStatusError)) return isPassing(failure);
  return isPassing(failure) || (RESUMABLE.has(failure.status) && !LASTING_CODES.has(failure.code));
}

/** Time for a body of this size, on a slow line. */
function patient(
  transport: Transport,
  { signal, maxRetries, timeoutMs }: UploadOptions,
  size: number,
): RequestOptions {
  const usualMs = timeoutMs ?? transport.options.timeoutMs ?? 60_000;
  // A timer cannot wait for longer.
  return {
    signal,
    maxRetries,
    timeoutMs: Math.min(usualMs + size / SLOWEST_BYTES_PER_MS, 2 ** 31 - 1),
  };
}

function describe(source: UploadSource): UploadOptions {
  const isFile = typeof File !== "undefined" && source instanceof File;
  const type =
    source instanceof Blob ? source.type : typeof source === "string" ? "text/plain" : "";
  return { filename: isFile ? source.name : undefined, mimeType: type || undefined };
}

function given(options: UploadOptions): UploadOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function piecesOf(source: UploadSource, size: number | undefined): Pieces {
  if (source instanceof Blob) return piecesOfBlob(source);
  if (typeof source === "string" || source instanceof ArrayBuffer || ArrayBuffer.isView(source)) {
    return piecesOfBlob(new Blob([source as BlobPart]));
  }
  return piecesOfStream(source, size);
}

function piecesOfBlob(blob: Blob): Pieces {
  return { size: blob.size, take: async (start, end) => blob.slice(start, end) };
}

function piecesOfStream(
  source: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>,
  size: number | undefined,
): Pieces {
  const chunks = chunksOf(source);
  let kept: Uint8Array[] = [];
  let keptFrom = 0;
  let keptTo = 0;
  return {
    size,
    async take(start, end) {
      if (start < keptFrom)
        throw new PagefaultError(`The source is a stream, and was read beyond ${start} before`);
      while (keptTo < end) {
        // What lies before is on the service, and is not needed again.
        while (kept[0] !== undefined && keptFrom + kept[0].length <= start)
          keptFrom += kept.shift()!.length;
        const { done, value } = await chunks.next();
        if (done) break;
        kept.push(value);
        keptTo += value.length;
      }
      const from = start - keptFrom;
      return new Blob(kept as BlobPart[]).slice(from, from + end - start);
    },
  };
}

function chunksOf(
  source: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>,
): AsyncIterator<Uint8Array> {
  // Not every browser can iterate a stream.
  if (Symbol.asyncIterator in source) return source[Symbol.asyncIterator]();
  const reader = (source as ReadableStream<Uint8Array>).getReader();
  return { next: async () => (await reader.read()) as IteratorResult<Uint8Array> };
}

function streamOf(
  pieces: Pieces,
  pieceBytes: number,
  hash: Sha256,
  { onProgress }: UploadOptions,
): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream(
    {
      async pull(controller) {
        const piece = await pieces.take(sent, sent + pieceBytes);
        sent += piece.size;
        const bytes = new Uint8Array(await piece.arrayBuffer());
        hash.update(bytes);
        if (bytes.length > 0) controller.enqueue(bytes);
        else controller.close();
        onProgress?.({ sent, total: undefined });
      },
    },
    { highWaterMark: 0 },
  );
}

/** It is stored, whatever it is: only the caller knows whether somebody needs it. */
function expectArrived({ uri, digest }: ResourceRecord, sent: Sha256): void {
  expectDigest(sent, digest, `What was sent for ${uri}`);
}

/** The SHA-256 in hex. */
async function digestOf(body: Blob): Promise<string> {
  return new Sha256().update(new Uint8Array(await body.arrayBuffer())).hex();
}

function base64OfHex(hex: string): string {
  return base64Of(Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16)));
}
