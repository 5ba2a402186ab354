/** What is shown where a view cannot be: an unknown address, or a fault of the viewer's own. */
import { useEffect, useState } from "react";
import { Link, useRouteError } from "react-router";

import { usePageTitle } from "../shared/usePageTitle";
import { SHELL } from "../words/shell";
import { reloadIfOutdated } from "./outdatedBuild";

export function UnknownAddress() {
  usePageTitle(SHELL.notHereTitle);
  return (
    <section className="view">
      <h1>{SHELL.notHere}</h1>
      <p>
        <Link to="/sessions">{SHELL.sessions}</Link> · <Link to="/pages">{SHELL.pages}</Link>
      </p>
    </section>
  );
}

export function BrokenView() {
  const failure = useRouteError();
  const [isReloading, setReloading] = useState(true);
  usePageTitle(SHELL.brokenTitle);
  useEffect(() => setReloading(reloadIfOutdated(failure)), [failure]);
  if (isReloading) return null;
  return (
    <main className="view" role="alert">
      <h1>{SHELL.broken}</h1>
      <p>{failure instanceof Error ? failure.message : SHELL.brokenNoReason}</p>
      <p className="quiet">{SHELL.brokenSafe}</p>
      <button type="button" className="button" onClick={() => window.location.reload()}>
        {SHELL.reload}
      </button>
    </main>
  );
}
