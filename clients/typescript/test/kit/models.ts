/** Models that answer as a test wants: those of `ai/test`, with what they were asked. */
import { simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";

type Options = NonNullable<ConstructorParameters<typeof MockLanguageModelV4>[0]>;
type Generate = Extract<Options["doGenerate"], (...args: never[]) => unknown>;
type Answer = Awaited<ReturnType<Generate>>;
type Stream = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"];
type StreamPart = Stream extends ReadableStream<infer Part> ? Part : never;

export type Content = Answer["content"];

export function call(toolCallId: string, toolName: string, input: object = {}): Content[number] {
  return { type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) };
}

export function text(words: string): Content[number] {
  return { type: "text", text: words };
}

/** A model that gives these answers one after the other, at once or as a stream. */
export function modelThat(...answers: Content[]): MockLanguageModelV4 {
  const left = [...answers];
  const next = () => left.shift() ?? [text("Done.")];
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const content = next();
      return { content, ...ending(content), warnings: [] };
    },
    doStream: async () => {
      const content = next();
      const chunks: StreamPart[] = [
        { type: "stream-start", warnings: [] },
        ...content.flatMap(partsOf),
        { type: "finish", ...ending(content) },
      ];
      return { stream: simulateReadableStream({ chunks }) };
    },
  });
}

function ending(content: Content): Pick<Answer, "finishReason" | "usage"> {
  const isCalling = content.some(({ type }) => type === "tool-call");
  return {
    finishReason: { unified: isCalling ? "tool-calls" : "stop", raw: undefined },
    usage: {
      inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 0, text: 0, reasoning: 0 },
    },
  };
}

function partsOf(piece: Content[number], index: number): StreamPart[] {
  if (piece.type !== "text" && piece.type !== "reasoning") return [piece];
  const { type, providerMetadata } = piece;
  const id = `${index}`;
  const end = providerMetadata ? { providerMetadata } : {};
  const half = Math.ceil(piece.text.length / 2);
  return [
    { type: `${type}-start`, id },
    { type: `${type}-delta`, id, delta: piece.text.slice(0, half) },
    { type: `${type}-delta`, id, delta: piece.text.slice(half) },
    { type: `${type}-end`, id, ...end },
  ];
}
