/** Keeps an entry that cannot be drawn from taking the others with it: its JSON is shown instead. */
import { Component, type ReactNode } from "react";

import { JsonText } from "../../json/JsonDetails";
import { ENTRY } from "../../words/timeline";

interface EntryBoundaryProps {
  readonly seq: number;
  readonly source: string;
  readonly children: ReactNode;
}

export class EntryBoundary extends Component<EntryBoundaryProps, { isBroken: boolean }> {
  override state = { isBroken: false };

  static getDerivedStateFromError() {
    return { isBroken: true };
  }

  override render() {
    const { seq, source, children } = this.props;
    if (!this.state.isBroken) return children;
    return (
      <article className="entry" aria-label={ENTRY.numbered(seq)} data-seq={seq}>
        <p className="quiet">{ENTRY.cannotDraw(seq)}</p>
        <JsonText source={source} />
      </article>
    );
  }
}
