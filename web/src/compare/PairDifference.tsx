/** How two entries differ, line by line, when that is asked for. */
import { laidOut, memberOf } from "@pagefault/client/json";
import { Failure } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { pagefault } from "../api/client";
import { CodeText } from "../reading/CodeText";
import { withoutColours } from "../reading/ansiSpans";
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
      // Colours of a terminal hide what is said, unless nothing else differs.
      const plain = [one, other].map(withoutColours);
      const [before = one, after = other] = plain[0] === plain[1] ? [] : plain;
      return (
        patchBetween(
          { name: `${a} #${first}`, text: before },
          { name: `${b} #${second}`, text: after },
          AROUND,
        ) ?? null
      );
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
  const text = names.map((name) => `${name}: ${laidOut(memberOf(source, name) ?? "null")}\n`).join("");
  return text.split("\n").map(spread).join("\n");
}

const STRING = /^(\s*)((?:"(?:[^"\\]|\\.)*"|\w+): )?("(?:[^"\\]|\\.)*"),?$/;

/** A line of JSON with a text of several lines or of a terminal, as these lines: they differ one by one. */
function spread(line: string): string {
  const [, indent = "", name = "", string = ""] = STRING.exec(line) ?? [];
  if (!/\\n|\\u001b/i.test(string)) return line;
  return `${indent}${name}\n${(JSON.parse(string) as string).replaceAll(/^/gm, `${indent}  `)}`;
}
