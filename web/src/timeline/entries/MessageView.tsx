/** A message of a conversation, in whatever dialect its author keeps it. */
import type { HistoryMessage, PageFaultMessage } from "@pagefault/client";
import { visibleName } from "@pagefault/react";

import { ENTRY } from "../../words/timeline";
import { blocksOfMessage } from "../messageBlocks";
import { BlockViews } from "./BlockView";
import { EntryFrame } from "./EntryFrame";

interface MessageViewProps {
  readonly entry: HistoryMessage | PageFaultMessage;
  readonly source: string;
  readonly isNamed: boolean;
}

const TONES = { user: "said", assistant: "answered", model: "answered" } as const;

export function MessageView({ entry, source, isNamed }: MessageViewProps) {
  const blocks = blocksOfMessage({ ...entry }, source);
  const tone = TONES[entry.role as keyof typeof TONES] ?? "aside";
  const isSystem = entry.role === "system" || entry.role === "developer";
  const body =
    blocks.length === 0 ? (
      <p className="quiet">{ENTRY.noContent}</p>
    ) : (
      <BlockViews blocks={blocks} />
    );
  return (
    <EntryFrame
      seq={entry.seq}
      kind={ENTRY.kinds[entry.role] ?? ENTRY.message}
      name={"name" in entry ? entry.name : undefined}
      at={entry.created_at}
      {...{ source, isNamed, tone }}
      labels={
        entry.tool_call_id != null && (
          <code className="quiet small">{visibleName(entry.tool_call_id)}</code>
        )
      }
    >
      {isSystem && blocks.length > 0 ? (
        <details className="instructions">
          <summary>{ENTRY.system}</summary>
          {body}
        </details>
      ) : (
        body
      )}
    </EntryFrame>
  );
}
