/** A step: what the model said, the tools it called, and what they answered, each call a card. */
import type { HistoryMessage } from "@pagefault/client";
import { type SessionEntry, usePieces } from "@pagefault/react";

import { ENTRY, STEP } from "../../words/timeline";
import { type ShownCall, blocksOfMessage, callsOf } from "../messageBlocks";
import type { Call, Row } from "../rows";
import { BlockViews } from "./BlockView";
import { CallCard } from "./CallCard";
import { EntryFrame } from "./EntryFrame";
import { UnloadedEntry } from "./UnloadedEntry";

const MOST_AT_FIRST = 24;

interface StepViewProps {
  readonly row: Extract<Row, { kind: "step" }>;
  readonly named: number | undefined;
  readonly bodies: readonly (SessionEntry | undefined)[];
}

export function StepView({ row, named, bodies }: StepViewProps) {
  const { caller, calls } = row;
  const body = caller === null ? undefined : bodies.find((each) => each?.seq === caller.seq);
  const [shown, more] = usePieces(calls, MOST_AT_FIRST);
  if (caller !== null && body === undefined) return <UnloadedEntry seq={caller.seq} />;
  const message = body?.entry as HistoryMessage | undefined;
  const made = message === undefined ? [] : callsOf({ ...message }, body?.source ?? "{}");
  const cards = (
    <div className="calls">
      {shown.map((call, index) => (
        <CallCard
          key={`${index} ${call.id}`}
          call={call}
          made={madeAs(made, call, index)}
          calledAt={caller?.createdAt}
          body={bodies.find((each) => each !== undefined && each.seq === call.result?.seq)}
          isInside={caller !== null}
          isNamed={call.result !== null && !call.isApart && call.result.seq === named}
        />
      ))}
      {more}
    </div>
  );
  if (message === undefined || caller === null) return cards;
  const words = blocksOfMessage({ ...message }, body?.source ?? "{}").filter(
    ({ kind }) => kind !== "call",
  );
  return (
    <EntryFrame
      seq={caller.seq}
      kind={ENTRY.kinds[message.role] ?? ENTRY.message}
      name={message.name}
      at={message.created_at}
      source={body?.source ?? "{}"}
      isNamed={named === caller.seq}
      tone={message.role === "user" ? "said" : "answered"}
      labels={calls.length > 1 && <span className="label">{STEP.callsOf(calls.length)}</span>}
    >
      <BlockViews blocks={words} />
      {cards}
    </EntryFrame>
  );
}

/** The call as the message has it: by its id, or, where the dialect has none, by its place. */
export function madeAs(made: readonly ShownCall[], call: Call, index: number): ShownCall | undefined {
  return made.find(({ id }) => id !== undefined && id === call.id) ?? made[index];
}
