/** Why a provider would refuse a session: the doctor's findings, read once the session is quiet. */
import type { Finding } from "@pagefault/client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { createContext, useMemo } from "react";

import { pagefault } from "../api/client";
import { DOCTOR_TARGET } from "./sessionContext";
import type { QuietSession } from "./useQuietSession";

export type Findings = readonly Finding[];

/** The findings of each entry, by its number. */
export const FindingsContext = createContext<ReadonlyMap<number, Findings>>(new Map());

export interface Examination {
  readonly findings: Findings;
  readonly hasFailed: boolean;
}

export function useFindings(sessionId: string, { isQuiet, seq }: QuietSession): Examination {
  const found = useQuery({
    queryKey: ["findings", sessionId, seq],
    queryFn: async ({ signal }) => {
      const answer = await pagefault().request("/api/doctor", {
        method: "POST",
        query: { target: DOCTOR_TARGET },
        body: JSON.stringify({ sessionId }),
        headers: { "Content-Type": "application/json" },
        signal,
      });
      return ((await answer.json()) as { findings: Findings }).findings;
    },
    enabled: isQuiet,
    placeholderData: keepPreviousData,
    retry: false,
  });
  return { findings: found.data ?? NONE, hasFailed: found.isError };
}

const NONE: Findings = [];

export function useFindingsBySeq(findings: Findings): ReadonlyMap<number, Findings> {
  return useMemo(() => {
    const bySeq = new Map<number, Finding[]>();
    for (const finding of findings) {
      if (finding.seq == null) continue;
      bySeq.set(finding.seq, [...(bySeq.get(finding.seq) ?? []), finding]);
    }
    return bySeq;
  }, [findings]);
}
