/** Why a provider would refuse a session: the doctor's findings, read once the session is quiet. */
import type { Finding } from "@pagefault/client";
import type { OutlinedSession } from "@pagefault/react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { createContext, useMemo } from "react";

import { pagefault } from "../api/client";
import { useIsStored } from "../file/openedFile";
import { DOCTOR_TARGET } from "./sessionContext";
import { useQuietSession } from "./useQuietSession";

export type Findings = readonly Finding[];

/** The findings of each entry, by its number. */
export const FindingsContext = createContext<ReadonlyMap<number, Findings>>(new Map());

export function useFindings(sessionId: string, session: OutlinedSession): Findings {
  const isStored = useIsStored();
  const { isQuiet, seq } = useQuietSession(session);
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
    enabled: isQuiet && isStored,
    placeholderData: keepPreviousData,
    retry: false,
  });
  return found.data ?? NONE;
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
