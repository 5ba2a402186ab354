/** What is shown while the first view is loaded. */
import { Loading } from "../shared/states";
import { SHELL } from "../words/shell";

export function Opening() {
  return (
    <main>
      <Loading what={SHELL.viewer} />
    </main>
  );
}
