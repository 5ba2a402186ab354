/** What a model of the AI SDK answers, at once or as a stream, as the content of its message. */

/** A part of an answer, or of a stream of one. */
interface Piece {
  readonly type: string;
  readonly id?: string;
  readonly delta?: string;
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
 * The same stream. `store` gets its content when the answer is complete, before its first call of
 * a tool goes on to be carried out.
 */
export function recordedStream<Part extends { readonly type: string }>(
  stream: ReadableStream<Part>,
  store: (content: object[]) => Promise<void>,
): ReadableStream<Part> {
  const pieces = new Map<string, Piece & { text?: string }>();
  const waiting: Part[] = [];
  const keep = (piece: Piece) => {
    const [, kind, step] = /^(text|reasoning)-(start|delta|end)$/.exec(piece.type) ?? [];
    if (kind === undefined || step === undefined) return pieces.set(`${pieces.size}`, piece);
    const name = `${kind} ${piece.id}`;
    const { text = "", providerMetadata } = pieces.get(name) ?? {};
    return pieces.set(name, {
      type: kind,
      text: text + (piece.delta ?? ""),
      providerMetadata: piece.providerMetadata ?? providerMetadata,
    });
  };
  return stream.pipeThrough(
    new TransformStream<Part, Part>({
      transform(part, controller) {
        const piece: Piece = part;
        keep(piece);
        if (waiting.length > 0 || (part.type === "tool-call" && !piece.providerExecuted))
          waiting.push(part);
        else controller.enqueue(part);
      },
      async flush(controller) {
        await store(contentOf([...pieces.values()]));
        for (const part of waiting) controller.enqueue(part);
      },
    }),
  );
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
