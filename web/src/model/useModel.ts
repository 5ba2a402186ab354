/** What a session is for a model: its rendering, and its working set, with the same options. */
import { APIStatusError, type LossEntry, type RenderedRecord, type WorkingSet } from "@pagefault/client";
import { itemsOf, memberOf } from "@pagefault/client/json";
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { pagefault } from "../api/client";
import { messagesWithin } from "./messagesWithin";

export interface ModelOptions {
  readonly target: string;
  readonly maxTokens?: number | undefined;
  readonly maxImages?: number | undefined;
  readonly frontier?: string | undefined;
  /** The entry that was the newest then; undefined for the newest of all. */
  readonly at?: number | undefined;
}

/** As long as the service has not named the fewest tokens of a session. */
export const FEWEST_TOKENS = 500;

/** What is changed in the address, by name; empty is none. */
export type Choices = Readonly<Record<string, string>>;

export interface Rendering {
  readonly profile: string;
  readonly tokensEst: number;
  readonly loss: readonly LossEntry[];
  readonly prefixHash: readonly string[];
  /** The JSON of each message. */
  readonly messages: readonly string[];
}

/** References stand for media: they are shown from the store, and never loaded as base64. */
export async function readRendering(
  sessionId: string,
  options: ModelOptions & {
    readonly upTo?: number | undefined;
    readonly since?: number | undefined;
  },
  signal: AbortSignal,
): Promise<Rendering> {
  const path = `/api/sessions/${encodeURIComponent(sessionId)}/render`;
  const query = { ...options, media: "reference" };
  const source = await (await pagefault().request(path, { query, signal })).text();
  const { profile, tokensEst, loss, prefixHash } = JSON.parse(source) as RenderedRecord &
    Pick<Rendering, "tokensEst">;
  const messages = itemsOf(memberOf(source, "messages") ?? memberOf(source, "input") ?? "[]");
  return { profile, tokensEst, loss, prefixHash: prefixHash ?? [], messages };
}

/** What a model gets of one entry, at the level that it has within the session. */
export function useEntryWithin(sessionId: string, seq: number, options: ModelOptions) {
  return useQuery({
    queryKey: ["entry-within", sessionId, seq, options],
    queryFn: async ({ signal }) => {
      // Both are settled as the whole session is, and only one has the entry.
      const [from, behind] = await Promise.all([
        readRendering(sessionId, { ...options, since: seq - 1 }, signal),
        readRendering(sessionId, { ...options, since: seq }, signal),
      ]);
      return messagesWithin(from.messages, behind.messages);
    },
  });
}

export function useRendering(sessionId: string, options: ModelOptions) {
  return useQuery({
    queryKey: ["session-rendering", sessionId, options],
    queryFn: ({ signal }) => readRendering(sessionId, options, signal),
    placeholderData: keepPreviousData,
  });
}

export function useWorkingSet(sessionId: string, options: ModelOptions) {
  return useQuery({
    queryKey: ["working-set", sessionId, options],
    queryFn: ({ signal }) => readWorkingSet(sessionId, options, signal),
    placeholderData: keepPreviousData,
  });
}

async function readWorkingSet(
  sessionId: string,
  options: ModelOptions,
  signal: AbortSignal,
): Promise<WorkingSet> {
  const path = `/api/sessions/${encodeURIComponent(sessionId)}/working-set`;
  const query = { ...options, media: "reference" };
  return (await (await pagefault().request(path, { query, signal })).json()) as WorkingSet;
}

/** The fewest tokens that a session is rendered within: those that the service names for one token. */
export function useFewestTokens(sessionId: string, options: ModelOptions, isWanted: boolean) {
  const read = useQuery({
    queryKey: ["fewest-tokens", sessionId, { ...options, maxTokens: 1 }],
    queryFn: async ({ signal }) => {
      try {
        await readWorkingSet(sessionId, { ...options, maxTokens: 1 }, signal);
        return 1;
      } catch (failure) {
        const fewest = fewestTokens(failure);
        if (fewest === undefined) throw failure;
        return fewest;
      }
    },
    enabled: isWanted,
    retry: false,
  });
  return read.data;
}

/** The fewest tokens as the service names them, where a budget was too small; else undefined. */
export function fewestTokens(failure: unknown): number | undefined {
  if (!(failure instanceof APIStatusError) || failure.code !== "budget-too-small") return undefined;
  const named = /\d+/.exec(failure.errors[0]?.detail ?? "")?.[0];
  return named === undefined ? undefined : Number(named);
}
