/** The chosen entry beside the timeline: as it is, its JSON, and what the model got of it. */
import type { OutlineEntry } from "@pagefault/client";
import type { SessionEntries } from "@pagefault/react";
import { visibleName } from "@pagefault/react";
import { useMemo, useState, useSyncExternalStore } from "react";

import { useIsStored } from "../file/openedFile";
import { JsonText } from "../json/JsonDetails";
import { EntryRendering } from "../model/EntryRendering";
import { Loading } from "../shared/states";
import { INSPECTOR, TIMELINE } from "../words/timeline";
import { CallArguments } from "./entries/CallArguments";
import { EntryBoundary } from "./entries/EntryBoundary";
import { UnseenLink } from "./entries/EntryFrame";
import { EntryView } from "./entries/EntryView";
import { ResultBody } from "./entries/ResultBody";
import { madeAs } from "./entries/StepView";
import { isAnswer, isInteraction, titleOf } from "./history";
import { callsOf } from "./messageBlocks";
import type { Row } from "./rows";

interface InspectorProps {
  readonly sessionId: string;
  readonly entry: OutlineEntry;
  readonly rows: readonly Row[];
  readonly bodies: SessionEntries;
}

const TABS = ["entry", "model", "json"] as const;
type Tab = (typeof TABS)[number];

// The same width as in panes.css.
const WIDE = window.matchMedia("(min-width: 100rem)");

/** Whether there is room for three panes. */
export function useIsWide(): boolean {
  return useSyncExternalStore(watchWidth, () => WIDE.matches);
}

export function Inspector({ sessionId, entry, rows, bodies }: InspectorProps) {
  const [tab, setTab] = useState<Tab>("entry");
  const isStored = useIsStored();
  const body = bodies.find(entry.seq);
  return (
    <aside className="inspector" aria-label={INSPECTOR.name}>
      <header className="inspector-header">
        <h2>
          {visibleName(titleOf(entry))} <span className="quiet">#{entry.seq}</span>
        </h2>
        <UnseenLink seq={entry.seq} />
        <div className="row" role="group" aria-label={INSPECTOR.shown}>
          {TABS.filter((each) => isStored || each !== "model").map((each) => (
            <button
              key={each}
              type="button"
              className="tab small"
              aria-pressed={tab === each}
              onClick={() => setTab(each)}
            >
              {INSPECTOR.tabs[each]}
            </button>
          ))}
        </div>
      </header>
      <div className="inspector-body scroller" role="region" tabIndex={0} aria-label={INSPECTOR.tabs[tab]}>
        {body === undefined ? (
          <Loading what={TIMELINE.history} />
        ) : (
          <EntryBoundary key={entry.seq} seq={entry.seq} source={body.source}>
            {tab === "entry" && <Whole {...{ entry, rows, bodies }} />}
            {tab === "model" && (
              <EntryRendering sessionId={sessionId} seq={entry.seq} target="anthropic" />
            )}
            {tab === "json" && <JsonText source={body.source} />}
          </EntryBoundary>
        )}
      </div>
    </aside>
  );
}

/** The entry in full, with the arguments of the call that it answers. */
function Whole({ entry, rows, bodies }: Pick<InspectorProps, "entry" | "rows" | "bodies">) {
  const source = useMemo(() => argumentsOf(entry.seq, rows, bodies), [entry, rows, bodies]);
  const body = bodies.find(entry.seq);
  if (body === undefined) return null;
  if (isInteraction(body.entry) || isAnswer(body.entry)) return <EntryView shown={body} isNamed={false} />;
  return (
    <>
      {source !== undefined && <CallArguments source={source} />}
      <ResultBody shown={body} />
    </>
  );
}

/** The JSON of the arguments of the call that an entry answers, where its message is loaded. */
function argumentsOf(seq: number, rows: readonly Row[], bodies: SessionEntries): string | undefined {
  for (const row of rows) {
    if (row.kind !== "step" || row.caller === null) continue;
    const index = row.calls.findIndex(({ result }) => result?.seq === seq);
    const call = row.calls[index];
    const message = bodies.find(row.caller.seq);
    if (call === undefined) continue;
    if (message === undefined) return undefined;
    return madeAs(callsOf({ ...message.entry }, message.source), call, index)?.source;
  }
  return undefined;
}

function watchWidth(changed: () => void): () => void {
  WIDE.addEventListener("change", changed);
  return () => WIDE.removeEventListener("change", changed);
}
