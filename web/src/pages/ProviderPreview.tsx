/** A page at a level as the messages of a provider, and beside it what had to be left out. */
import type { Level, PageRecord } from "@pagefault/client";
import { laidOut } from "@pagefault/client/json";
import { useState } from "react";

import { Failure, Loading } from "../shared/states";
import { LongText } from "./LongText";
import { LossTable } from "./LossTable";
import { type Target, TARGETS } from "./pageWords";
import { withShortBase64 } from "./shortBase64";
import { type PageRendering, usePageRendering } from "./usePages";
import { PAGES } from "../words/pages";

/** More base64 than this is not fetched only to be shortened. */
const MOST_INLINE_BYTES = 4_000_000;

interface Props {
  page: PageRecord;
  level: Level;
}

export function ProviderPreview({ page, level }: Props) {
  const [target, setTarget] = useState<Target>("openai-chat");
  const media = (page.size_bytes ?? 0) > MOST_INLINE_BYTES ? "reference" : "inline";
  const rendering = usePageRendering(page.page_id, { target, level, media });

  return (
    <>
      <label className="row">
        {PAGES.for}
        <select
          value={target}
          onChange={(event) => {
            setTarget(TARGETS.find((each) => each === event.target.value) ?? target);
          }}
        >
          {TARGETS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      {rendering.isPending && <Loading what={PAGES.loadingRendering} />}
      {rendering.isError && (
        <Failure failure={rendering.error} onRetry={() => void rendering.refetch()} />
      )}
      {rendering.isSuccess && (
        <>
          <p className="quiet small" role="status">
            {rendering.data.record.profile}
            {PAGES.andTokensSent(rendering.data.record.tokensEst)}
            {media === "reference" && PAGES.large}
          </p>
          <div className="preview-sides">
            <LongText text={shownMessages(rendering.data)} isCode />
            <LossTable loss={rendering.data.record.loss} />
          </div>
        </>
      )}
    </>
  );
}

/** What one pastes into the provider's request: the messages, and the system's words if any. */
function shownMessages({ system, messages }: PageRendering): string {
  const source = system === undefined ? messages : `{"system":${system},"messages":${messages}}`;
  return laidOut(withShortBase64(source));
}
