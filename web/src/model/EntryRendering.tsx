/** One answer of a tool, whole, as a model gets it; with its pictures, as they were and as they are sent. */
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

interface EntryRenderingProps {
  readonly sessionId: string;
  readonly seq: number;
  readonly target: string;
}

const REFERENCE = /@blob:[0-9a-f]{32}/g;

export function EntryRendering({ sessionId, seq, target }: EntryRenderingProps) {
  const read = useQuery({
    queryKey: ["entry-rendering", sessionId, seq, target],
    queryFn: async ({ signal }) => {
      const path = `/api/sessions/${encodeURIComponent(sessionId)}/messages/${seq}`;
      const entry = (await (await pagefault().request(path, { signal })).json()) as HistoryEntry;
      const query = { target, media: "reference" };
      if (entry.entry !== "tool_result") return null;
      const rendered = await pagefault().request(`/api/tool-results/${entry.id}/render`, {
        query,
        signal,
      });
      const source = await rendered.text();
      const { loss } = JSON.parse(source) as RenderedRecord;
      return { messages: itemsOf(memberOf(source, "messages") ?? "[]"), loss };
    },
  });
  if (read.isError) return <Failure failure={read.error} />;
  if (read.data === undefined) return <Loading what={MODEL.loading} />;
  if (read.data === null) return null;
  const { messages, loss } = read.data;
  const references = [...new Set(messages.join("").match(REFERENCE))];
  return (
    <div className="entry-rendering">
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
      <LossTable loss={loss} />
    </div>
  );
}
