/** One entry of a history, whatever its kind; drawn once, since entries never change. */
import type { HistoryMessage, PageFaultMessage } from "@pagefault/client";
import type { SessionEntry } from "@pagefault/react";
import { memo } from "react";

import { isAnswer, isInteraction, isToolResult } from "../history";
import { AnswerView, InteractionView } from "./InteractionView";
import { MessageView } from "./MessageView";
import { ToolResultView } from "./ToolResultView";

export const EntryView = memo(function EntryView({ shown }: { shown: SessionEntry }) {
  const { entry, source } = shown;
  if (isToolResult(entry)) return <ToolResultView entry={entry} source={source} />;
  if (isInteraction(entry)) return <InteractionView entry={entry} source={source} />;
  if (isAnswer(entry)) return <AnswerView entry={entry} source={source} />;
  return <MessageView entry={entry as HistoryMessage | PageFaultMessage} source={source} />;
});
