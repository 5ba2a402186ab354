/** Why a provider would refuse a session: the doctor's findings, read once the session is quiet. */
import type { Finding } from "@pagefault/client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { createContext, useContext, useMemo } from "react";

import { pagefault } from "../api/client";
import { findingsOfFile } from "../file/fileFindings";
import { FileContext } from "../file/openedFile";
import { DOCTOR_TARGET, FILE_DOCTOR_PATH, doctorPath } from "./sessionContext";
import type { QuietSession } from "./useQuietSession";

export type Findings = readonly Finding[];

/** The findings of each entry, by its number. */
export const FindingsContext = createContext<ReadonlyMap<number, Findings>>(new Map());

export interface Examination {
  readonly findings: Findings;
  readonly hasFailed: boolean;
}

export function useFindings(sessionId: string, { isQuiet, seq }: QuietSession): Examination {
  const file = useContext(FileContext);
  const found = useQuery({
    queryKey: ["findings", file?.number ?? sessionId, seq],
    queryFn: ({ signal }) =>
      file === null ? findingsOfSession(sessionId, signal) : findingsOfFile(file, signal),
    // The doctor takes no bundle.
    enabled: isQuiet && file?.format !== "bundle",
    placeholderData: keepPreviousData,
    retry: false,
  });
  return { findings: found.data ?? NONE, hasFailed: found.isError };
}

async function findingsOfSession(sessionId: string, signal: AbortSignal): Promise<Findings> {
  const answer = await pagefault().request("/api/doctor", {
    method: "POST",
    query: { target: DOCTOR_TARGET },
    body: JSON.stringify({ sessionId }),
    headers: { "Content-Type": "application/json" },
    signal,
  });
  return ((await answer.json()) as { findings: Findings }).findings;
}

/** The address of the findings of the session around, and of the healed history. */
export function useDoctorPath(sessionId: string): string {
  return useContext(FileContext) === null ? doctorPath(sessionId) : FILE_DOCTOR_PATH;
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
