/** What is shown while the first view is loaded. */
import { Loading } from "../shared/states";

export function Opening() {
  return (
    <main>
      <Loading what="the viewer" />
    </main>
  );
}
