/** One entry that is no part of a step, whatever its kind. */
import type { HistoryMessage, PageFaultMessage } from "@pagefault/client";
import type { SessionEntry } from "@pagefault/react";

import { isAnswer, isInteraction } from "../history";
import { AnswerView, InteractionView } from "./InteractionView";
import { MessageView } from "./MessageView";

export function EntryView({ shown, isNamed }: { shown: SessionEntry; isNamed: boolean }) {
  const { entry, source } = shown;
  const frame = { source, isNamed };
  if (isInteraction(entry)) return <InteractionView entry={entry} {...frame} />;
  if (isAnswer(entry)) return <AnswerView entry={entry} {...frame} />;
  return <MessageView entry={entry as HistoryMessage | PageFaultMessage} {...frame} />;
}
