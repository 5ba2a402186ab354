/**
 * Events as they are written, over server-sent events that are read with `fetch`.
 *
 * A stream that breaks off is opened again behind the last event that was read, so that none is
 * missed and none comes twice. If the service no longer keeps that position it says so with a
 * `reset`, which comes like an event: read again what you show; the stream goes on by itself.
 */
import { APIConnectionError, APIStatusError } from "./errors.ts";
import type { StreamEvent } from "./generated/types.gen.ts";
import { backoffMs, isPassing, pause, type RequestHeaders, type Transport } from "./transport.ts";

/** Whether what is read is what there is. */
export type StreamState = "connecting" | "live" | "reconnecting";

export interface EventOptions {
  /** The position after which to begin: 0 for all events; by default, new events only. */
  readonly after?: number | undefined;
  /** Ends the stream without an error. */
  readonly signal?: AbortSignal | undefined;
  readonly headers?: RequestHeaders | undefined;
  readonly onState?: ((state: StreamState) => void) | undefined;
  /** Called with each position, also of the start of a stream, which is no event. */
  readonly onPosition?: ((position: number) => void) | undefined;
}

/** A comment comes every 15 seconds if nothing else does. */
const SILENT_MS = 30_000;

interface Block {
  readonly event: string | undefined;
  readonly data: string | undefined;
  readonly id: string | undefined;
  readonly retry: string | undefined;
}

/** The events of a stream; ends when the signal says so, rejects where waiting is of no use. */
export async function* readEvents(
  transport: Transport,
  path: string,
  { after, signal, headers, onState, onPosition }: EventOptions,
): AsyncGenerator<StreamEvent, void> {
  let position = after;
  let attempts = 0;
  let retryMs = 1_000;
  while (!signal?.aborted) {
    if (attempts === 0) onState?.("connecting");
    const life = new AbortController();
    let told: number | undefined;
    let cause: unknown = "The stream of events ended";
    try {
      const query = { after: position, ticket: await transport.options.ticket?.() };
      const accept = { Accept: "text/event-stream", ...headers };
      const call = { path, query, headers: accept, maxRetries: 0 };
      const over = signal ? AbortSignal.any([signal, life.signal]) : life.signal;
      const response = await transport.response({ ...call, signal: over });
      onState?.("live");
      for await (const block of blocksOf(response, () => life.abort())) {
        attempts = 0;
        if (block.retry !== undefined) retryMs = Number(block.retry);
        if (block.id !== undefined) {
          position = Number(block.id);
          onPosition?.(position);
        }
        if (block.data === undefined) continue;
        yield {
          event: block.event,
          id: position ?? 0,
          data: JSON.parse(block.data) as unknown,
        } as StreamEvent;
      }
    } catch (failure) {
      if (signal?.aborted) return;
      // The stream is given up for its silence alone.
      if (!life.signal.aborted && !isPassing(failure)) throw failure;
      told = failure instanceof APIStatusError ? failure.retryAfter : undefined;
      cause = failure;
    } finally {
      life.abort();
    }
    attempts += 1;
    const waitMs = told === undefined ? backoffMs(attempts - 1, retryMs) : told * 1000;
    transport.logRetry(`GET ${path}`, cause, waitMs);
    onState?.("reconnecting");
    await pause(waitMs, signal).catch(() => undefined);
  }
}

async function* blocksOf(response: Response, onSilence: () => void): AsyncGenerator<Block, void> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const decoder = new TextDecoder();
  let text = "";
  let fields: Record<string, string> = {};
  for (;;) {
    const timer = setTimeout(onSilence, SILENT_MS);
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw new APIConnectionError("The stream of events broke off", { cause });
    });
    clearTimeout(timer);
    if (done) return;
    const lines = (text + decoder.decode(value, { stream: true })).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const [, name, said] = /^([^:\r]*)(?:: ?(.*?))?\r?$/s.exec(line) ?? [];
      if (name)
        fields[name] =
          name === "data" && fields["data"] !== undefined
            ? `${fields["data"]}\n${said}`
            : (said ?? "");
      else if (line.trim() === "") {
        const { event, data, id, retry } = fields;
        fields = {};
        if (data !== undefined || id !== undefined || retry !== undefined)
          yield { event, data, id, retry };
      }
    }
  }
}
