/** What a model gets of an image of a tool result: the same, a reduced copy, or nothing, and why. */
import { resourceId, type RenderedRecord } from "@pagefault/client";
import { Failure, useResourceContent, visibleText } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";
import { createContext, useContext, useState } from "react";

import { pagefault } from "../api/client";
import { TARGETS } from "../pages/pageWords";
import { Loading } from "../shared/states";
import { MEDIA } from "../words/media";
import "./media.css";

/** The tool result that an image is of; null where it is of none. */
export const ToolResultContext = createContext<ShownResult | null>(null);

interface ShownResult {
  readonly id: string;
  /** The URIs of its resources. */
  readonly resources: readonly string[];
}

const REFERENCE = /@blob:([0-9a-f]{32})/g;

export function BesideImage({ reference }: { reference: string }) {
  const result = useContext(ToolResultContext);
  const [target, setTarget] = useState<string>("anthropic");
  if (result === null) return null;
  return (
    <div className="beside-image">
      <label className="row">
        {MEDIA.compare}
        <select value={target} onChange={(event) => setTarget(event.target.value)}>
          {TARGETS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <Became
        resultId={result.id}
        kept={result.resources}
        target={target}
        id={resourceId(reference) ?? ""}
      />
    </div>
  );
}

interface BecameProps {
  readonly resultId: string;
  readonly kept: readonly string[];
  readonly target: string;
  readonly id: string;
}

function Became({ resultId, kept, target, id }: BecameProps) {
  const read = useQuery({
    queryKey: ["image-for-model", resultId, target],
    queryFn: async ({ signal }) => {
      const query = { target, media: "reference" };
      const path = `/api/tool-results/${resultId}/render`;
      const source = await (await pagefault().request(path, { query, signal })).text();
      const { messages, loss } = JSON.parse(source) as RenderedRecord;
      const text = JSON.stringify(messages);
      return { sent: [...text.matchAll(REFERENCE)].map(([, sent]) => sent ?? ""), loss };
    },
  });
  if (read.isError) return <Failure failure={read.error} />;
  if (read.data === undefined) return <Loading what={MEDIA.loading} />;
  const { sent, loss } = read.data;
  const known = new Set(kept.map((uri) => resourceId(uri)));
  if (sent.includes(id)) return <p>{MEDIA.same}</p>;
  const told = loss.filter(({ restore }) => restore.includes(id));
  // Copies are in the order of the images that they are of.
  const reduced = loss.filter(({ to }) => to === "smaller");
  const place = reduced.findIndex(({ restore }) => restore.includes(id));
  const copy = place === -1 ? undefined : sent.filter((each) => !known.has(each))[place];
  return (
    <div className="beside-shown">
      <p>{copy === undefined ? MEDIA.lost : MEDIA.reduced}</p>
      {told.map(({ code, reason }) => (
        <p key={code} className="small">
          {visibleText(reason)}
        </p>
      ))}
      {copy !== undefined && <Copy id={copy} />}
    </div>
  );
}

function Copy({ id }: { id: string }) {
  const { url } = useResourceContent(id);
  return <img src={url} alt={MEDIA.compare} />;
}
