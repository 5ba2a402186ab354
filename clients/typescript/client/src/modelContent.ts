/** What a model of the AI SDK answers, at once or as a stream, as the content of its message. */

/** A part of an answer, or of a stream of one. */
interface Piece {
  readonly type: string;
  readonly id?: string;
  readonly delta?: string;
  readonly text?: string;
  readonly input?: unknown;
  readonly result?: unknown;
  readonly isError?: boolean | undefined;
  readonly providerExecuted?: boolean | undefined;
  readonly providerMetadata?: object | undefined;
}

/** Parts that a prompt does not have. */
const PASSING = new Set([
  ...["source", "stream-start", "response-metadata", "finish", "raw", "error", "ping"],
  ...["tool-input-start", "tool-input-delta", "tool-input-end"],
]);

/** The content of the message that is an answer. */
export function contentOf(pieces: readonly object[]): object[] {
  return (pieces as readonly Piece[]).filter(({ type }) => !PASSING.has(type)).map(partOf);
}

/**
 * The same stream. `store` gets its content at its end, and then the first call of a tool goes on,
 * with what follows, to be carried out. If it ends early, no call goes on, and none is stored.
 */
export function recordedStream<Part extends { readonly type: string }>(
  stream: ReadableStream<Part>,
  store: (content: object[]) => Promise<void>,
): ReadableStream<Part> {
  const reader = stream.getReader();
  const pieces = new Map<string, Piece>();
  const waiting: Part[] = [];
  const storeAll = (isOwn = (_: Piece) => true) =>
    store(contentOf([...pieces.values()].filter(isOwn)));
  return new ReadableStream<Part>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value: part } = await reader.read().catch(async (failure: unknown) => {
            await storeAll((piece) => !isCall(piece));
            throw failure;
          });
          if (done) {
            await storeAll();
            for (const each of waiting) controller.enqueue(each);
            return controller.close();
          }
          keep(pieces, part);
          if (waiting.length === 0 && !isCall(part)) return controller.enqueue(part);
          waiting.push(part);
        }
      },
      async cancel(reason) {
        await reader.cancel(reason);
        await storeAll((piece) => !isCall(piece));
      },
    },
    { highWaterMark: 0 },
  );
}

/** Add a part of a stream to the pieces of the answer. */
function keep(pieces: Map<string, Piece>, piece: Piece): void {
  const [, type, step] = /^(text|reasoning)-(start|delta|end)$/.exec(piece.type) ?? [];
  if (type === undefined || step === undefined) return void pieces.set(`${pieces.size}`, piece);
  const name = `${type} ${piece.id}`;
  const { text = "", providerMetadata } = pieces.get(name) ?? {};
  pieces.set(name, {
    type,
    text: text + (piece.delta ?? ""),
    providerMetadata: piece.providerMetadata ?? providerMetadata,
  });
}

/** Return whether a part is a call of a tool that is not run by the provider. */
function isCall({ type, providerExecuted }: Piece): boolean {
  return type === "tool-call" && !providerExecuted;
}

function partOf({ providerMetadata, id: _, ...piece }: Piece): object {
  const options = providerMetadata && { providerOptions: providerMetadata };
  const { type, input, result, isError, ...rest } = piece;
  if (type === "tool-call") return { type, ...rest, input: parsed(input), ...options };
  if (type === "tool-result") {
    const output = { type: isError ? "error-json" : "json", value: result ?? null };
    return { type, ...rest, output, ...options };
  }
  return { ...piece, ...options };
}

/** The input of a call, which a model may have written wrongly. */
function parsed(input: unknown): unknown {
  try {
    return typeof input === "string" ? JSON.parse(input || "{}") : input;
  } catch {
    return input;
  }
}
