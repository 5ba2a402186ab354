/** The place of an entry that is being loaded. */
import { ENTRY } from "../../words/timeline";

export function UnloadedEntry({ seq }: { seq: number }) {
  return (
    <article className="entry waiting" data-seq={seq} id={`entry-${seq}`} aria-busy="true">
      <p className="quiet small">{ENTRY.loading}</p>
    </article>
  );
}
