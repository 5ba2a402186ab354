/** What a model gets of a session, or two models: what fills the window, each entry, and the losses. */
import { NotFoundError } from "@pagefault/client";
import { visibleName } from "@pagefault/react";
import { useMemo, useState } from "react";
import { Link, useLocation, useNavigate, useParams, useSearchParams } from "react-router";

import { useKeys } from "../keys/useKeys";
import { TARGETS } from "../pages/pageWords";
import { useSessionRecord } from "../sessions/marks";
import { Empty } from "../shared/states";
import { usePageTitle } from "../shared/usePageTitle";
import { KEYS } from "../words/keys";
import { MODEL } from "../words/model";
import { TIMELINE } from "../words/timeline";
import { ModelOptionsForm } from "./ModelOptionsForm";
import { TargetRendering } from "./TargetRendering";
import { TurnDifference } from "./TurnDifference";
import { type Choices, FEWEST_TOKENS, type ModelOptions, useFewestTokens } from "./useModel";
import "../reading/reading.css";
import "./model.css";

export function ModelView() {
  const { sessionId = "" } = useParams();
  const [search, setSearch] = useSearchParams();
  const { hash } = useLocation();
  const navigate = useNavigate();
  const chosen = JSON.stringify(optionsIn(search));
  const options = useMemo(() => JSON.parse(chosen) as ModelOptions, [chosen]);
  const beside = TARGETS.find((each) => each === search.get("beside"));
  const areCutAlone = search.get("evicted") === "1";
  const [isBudgetNear, setBudgetNear] = useState(false);
  const fewest = useFewestTokens(sessionId, options, isBudgetNear && options.at === undefined);
  const name = visibleName(sessionId);
  const session = useSessionRecord(sessionId);
  usePageTitle(MODEL.title(name));
  const path = encodeURIComponent(sessionId);
  const seq = /^#entry-(\d+)$/.exec(hash)?.[1];
  const back = { pathname: `/sessions/${path}`, hash: hash.replace("#entry-", "#") };

  useKeys([{ key: "m", said: KEYS.timeline, run: () => void navigate(back) }]);

  function choose(changes: Choices) {
    setSearch(
      (before) => {
        const changed = new URLSearchParams(before);
        for (const [name, value] of Object.entries(changes)) {
          // Without a name, the usual frontier is meant; an empty one is none.
          if (value === "" && name !== "frontier") changed.delete(name);
          else changed.set(name, value);
        }
        return changed;
      },
      // Browsers undo a click on a checkbox whose state is not changed at once.
      { replace: true, preventScrollReset: true, flushSync: "evicted" in changes },
    );
  }

  if (session.error instanceof NotFoundError) {
    return (
      <section className="view">
        <h1>{MODEL.title(name)}</h1>
        <Empty title={TIMELINE.absentTitle(name)}>
          <p>{TIMELINE.absent}</p>
          <Link to="/sessions">{TIMELINE.allSessions}</Link>
        </Empty>
      </section>
    );
  }
  const title = session.data?.title == null ? name : MODEL.quoted(visibleName(session.data.title));
  const targets = beside === undefined ? [options] : [options, { ...options, target: beside }];
  return (
    <section className={`view model-view ${beside === undefined ? "" : "two-targets"}`}>
      <header className="row">
        <h1 title={title}>{MODEL.title(title)}</h1>
        <code className="small quiet">{name}</code>
        <Link to={back}>{MODEL.back}</Link>
        <Link to={`/doctor?session=${path}`}>{MODEL.doctor}</Link>
      </header>
      <div
        onFocus={() => setBudgetNear(true)}
        onPointerEnter={() => setBudgetNear(true)}
      >
        <ModelOptionsForm {...{ options, beside, choose }} fewest={fewest ?? FEWEST_TOKENS} />
      </div>
      <div className="model-targets">
        {targets.map((each, index) => (
          <TargetRendering key={index} {...{ sessionId, choose, areCutAlone }} options={each} isBeside={index > 0} seq={seq === undefined ? undefined : Number(seq)} />
        ))}
      </div>
      <TurnDifference {...{ sessionId, search, choose }} options={{ ...options, at: undefined, frontier: search.get("frontier") || undefined }} />
    </section>
  );
}

function optionsIn(search: URLSearchParams): ModelOptions {
  const number = (name: string) => {
    const text = search.get(name) ?? "";
    return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
  };
  const at = number("at");
  return {
    target: TARGETS.find((each) => each === search.get("target")) ?? "anthropic",
    // An earlier rendering had the budget of its turn.
    maxTokens: at === undefined ? number("maxTokens") : undefined,
    maxImages: number("maxImages"),
    // Turns move this one, so it has what the model last got.
    frontier: (search.get("frontier") ?? "main") || undefined,
    at,
  };
}
