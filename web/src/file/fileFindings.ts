/** Why a provider would refuse a file: the doctor examines it as a history, in one request. */
import type { Finding } from "@pagefault/client";

import { pagefault } from "../api/client";
import { DOCTOR_TARGET } from "../timeline/sessionContext";
import type { FileSession } from "./fileClient";

/** Read the findings, each with the number of the entry whose message it is in. */
export async function findingsOfFile(
  { file, format, places }: FileSession,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const text = await file.text();
  const items =
    format === "lines" ? `[${text.split("\n").filter((line) => line.trim() !== "").join(",")}]` : text;
  // The doctor takes an object, of which a list is the messages.
  const isList = items.trimStart().startsWith("[");
  const answer = await pagefault().request("/api/doctor", {
    method: "POST",
    query: { target: DOCTOR_TARGET },
    body: isList ? `{"messages":${items}}` : items,
    headers: { "Content-Type": "application/json" },
    signal,
  });
  const { findings } = (await answer.json()) as { findings: readonly Finding[] };
  const start = isList ? "/messages".length : 0;
  return findings.map((each) => ({ ...each, seq: seqOf(each.pointer.slice(start), places) }));
}

/** The number of the entry that a pointer leads into; null for none, as for what the system says. */
function seqOf(pointer: string, places: ReadonlyMap<string, number>): number | null {
  for (let place = pointer; ; place = place.slice(0, place.lastIndexOf("/"))) {
    const seq = places.get(place);
    if (seq !== undefined || !place.includes("/")) return seq ?? null;
  }
}
