/** Why a provider would refuse a session: the doctor's findings, read once the session is quiet. */
import type { Finding } from "@pagefault/client";
import type { OutlinedSession } from "@pagefault/react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { createContext, useEffect, useMemo, useState } from "react";

import { pagefault } from "../api/client";
import { DOCTOR_TARGET } from "./sessionContext";

/** A longer session takes the service too long to be examined unasked. */
const MOST_ENTRIES = 2_000;
const QUIET_MS = 1_000;

export type Findings = readonly Finding[];

/** The findings of each entry, by its number. */
export const FindingsContext = createContext<ReadonlyMap<number, Findings>>(new Map());

export function useFindings(sessionId: string, session: OutlinedSession): Findings {
  const { entries, lower } = session;
  const quiet = useQuiet(entries.at(-1)?.seq ?? 0);
  const isRead = lower === 0 && quiet > 0 && entries.length <= MOST_ENTRIES;
  const found = useQuery({
    queryKey: ["findings", sessionId, quiet],
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
    enabled: isRead,
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

/** A number, once it has been the same for a while. */
function useQuiet(value: number): number {
  const [quiet, setQuiet] = useState(0);
  useEffect(() => {
    const timer = window.setTimeout(() => setQuiet(value), QUIET_MS);
    return () => window.clearTimeout(timer);
  }, [value]);
  return quiet;
}
