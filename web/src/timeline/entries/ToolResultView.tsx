/** A tool result: its parts, and beside them its data. */
import type { ToolMessage } from "@pagefault/client";
import { memberOf } from "@pagefault/client/json";
import { ToolResult, visibleName } from "@pagefault/react";

import { JsonDetails } from "../../json/JsonDetails";
import { EntryFrame } from "./EntryFrame";

export function ToolResultView({ entry, source }: { entry: ToolMessage; source: string }) {
  const { meta } = entry.sanitized;
  const structured = structuredContent(source);
  return (
    <EntryFrame
      seq={entry.seq}
      kind="Tool result"
      name={entry.name}
      at={entry.createdAt}
      source={source}
      tone={meta.success ? "tool" : "tool failed"}
      labels={
        <>
          {!meta.success && <span className="label bad">Failed</span>}
          <code className="quiet small">{visibleName(entry.toolCallId)}</code>
        </>
      }
    >
      <ToolResult result={entry.sanitized} />
      {structured !== undefined && <JsonDetails title="Structured content" source={structured} />}
    </EntryFrame>
  );
}

function structuredContent(source: string): string | undefined {
  const sanitized = memberOf(source, "sanitized") ?? "{}";
  return memberOf(memberOf(sanitized, "meta") ?? "{}", "structuredContent");
}
