/** What is shown where a view cannot be: an unknown address, or a fault of the viewer's own. */
import { Link, useRouteError } from "react-router";

import { usePageTitle } from "../shared/usePageTitle";

export function UnknownAddress() {
  usePageTitle("Not here");
  return (
    <section className="view">
      <h1>There is nothing at this address</h1>
      <p>
        Go to the <Link to="/sessions">sessions</Link> or the <Link to="/pages">pages</Link>.
      </p>
    </section>
  );
}

export function BrokenView() {
  const failure = useRouteError();
  usePageTitle("Broken");
  return (
    <main className="view" role="alert">
      <h1>This view broke</h1>
      <p>{failure instanceof Error ? failure.message : "It does not say why."}</p>
      <p className="quiet">Nothing is lost: everything shown here is kept by the service.</p>
      <button type="button" className="button" onClick={() => window.location.reload()}>
        Load it again
      </button>
    </main>
  );
}
