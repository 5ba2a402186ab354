/** How two entries differ, line by line, when that is asked for. */
import { laidOut, memberOf } from "@pagefault/client/json";
import { Failure } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { pagefault } from "../api/client";
import { CodeText } from "../reading/CodeText";
import { patchBetween } from "../reading/patches";
import { COMPARE } from "../words/compare";

interface PairDifferenceProps {
  readonly a: string;
  readonly b: string;
  readonly first: number;
  readonly second: number;
}

/** Members that differ in any two entries. */
const OWN = ["id", "seq", "created_at", "createdAt"];
const AROUND = 3;

export function PairDifference(props: PairDifferenceProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="pair-difference" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="small">{COMPARE.show}</summary>
      {isOpen && <Difference {...props} />}
    </details>
  );
}

function Difference({ a, b, first, second }: PairDifferenceProps) {
  const read = useQuery({
    queryKey: ["pair", a, first, b, second],
    queryFn: async ({ signal }) => {
      const [one, other] = await Promise.all([
        linesOf(a, first, signal),
        linesOf(b, second, signal),
      ]);
      const before = { name: `${a} #${first}`, text: one };
      return patchBetween(before, { name: `${b} #${second}`, text: other }, AROUND) ?? null;
    },
  });
  if (read.isError) return <Failure failure={read.error} />;
  if (read.data === null) return <p>{COMPARE.tooDifferent}</p>;
  return read.data === undefined ? null : <CodeText text={read.data} language="diff" />;
}

async function linesOf(session: string, seq: number, signal: AbortSignal): Promise<string> {
  const path = `/api/sessions/${encodeURIComponent(session)}/messages/${seq}`;
  const source = await (await pagefault().request(path, { signal })).text();
  const entry = JSON.parse(source) as Record<string, unknown>;
  const names = Object.keys(entry).filter((name) => !OWN.includes(name));
  return names.map((name) => `${name}: ${laidOut(memberOf(source, name) ?? "null")}\n`).join("");
}
