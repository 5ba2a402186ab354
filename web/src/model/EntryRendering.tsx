/** One entry, whole, as a model gets it; with its pictures, as they were and as they are sent. */
import type { HistoryEntry } from "@pagefault/client";
import { itemsOf, memberOf } from "@pagefault/client/json";
import { Failure, MediaPart } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";

import { pagefault } from "../api/client";
import { LossTable } from "../pages/LossTable";
import type { RenderedRecord } from "@pagefault/client";
import { JsonTree } from "../reading/JsonTree";
import { Loading } from "../shared/states";
import { MODEL } from "../words/model";
import { ReadMessages } from "./ReadMessages";

interface EntryRenderingProps {
  readonly sessionId: string;
  readonly seq: number;
  readonly target: string;
  /** Whether its messages are drawn as one reads them, not as they are sent. */
  readonly isRead?: boolean;
  /** Whether the session has less of it; by itself it may be whole. */
  readonly isCut?: boolean;
}

const REFERENCE = /@blob:[0-9a-f]{32}/g;

export function EntryRendering(props: EntryRenderingProps) {
  const { sessionId, seq, target, isRead = false, isCut = false } = props;
  const read = useQuery({
    queryKey: ["entry-rendering", sessionId, seq, target],
    queryFn: async ({ signal }) => {
      const session = `/api/sessions/${encodeURIComponent(sessionId)}`;
      const read = await pagefault().request(`${session}/messages/${seq}`, { signal });
      const entry = (await read.json()) as HistoryEntry;
      // A result is rendered by itself; what else there is, as the newest of its turn.
      const isResult = entry.entry === "tool_result";
      const path = isResult ? `/api/tool-results/${entry.id}/render` : `${session}/render`;
      const place = isResult ? {} : { since: seq - 1, upTo: seq };
      const query = { target, media: "reference", ...place };
      const source = await (await pagefault().request(path, { query, signal })).text();
      const { loss } = JSON.parse(source) as RenderedRecord;
      const messages = itemsOf(memberOf(source, "messages") ?? "[]");
      const system = memberOf(source, "system");
      // What the system says stands apart from the messages of some targets.
      return { messages: system === undefined ? messages : [system, ...messages], loss };
    },
  });
  if (read.isError) return <Failure failure={read.error} />;
  if (read.data === undefined) return <Loading what={MODEL.loading} />;
  const { messages, loss } = read.data;
  return (
    <div className="entry-rendering">
      {isRead ? <ReadMessages messages={messages} /> : <SentMessages messages={messages} />}
      {(loss.length > 0 || !isCut) && <LossTable loss={loss} />}
    </div>
  );
}

/** Messages as they are sent, and the media in them. */
function SentMessages({ messages }: { messages: readonly string[] }) {
  const references = [...new Set(messages.join("").match(REFERENCE))];
  return (
    <>
      {references.length > 0 && (
        <div className="model-media">
          {references.map((reference) => (
            <MediaPart key={reference} medium={{ reference }} />
          ))}
        </div>
      )}
      {messages.map((message, index) => (
        <JsonTree key={index} source={message} />
      ))}
      {messages.length === 0 && <p className="quiet">{MODEL.noMessage}</p>}
    </>
  );
}
