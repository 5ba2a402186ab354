/** Gives the client of this tab, and the viewer's own views of texts, to `@pagefault/react`. */
import { PagefaultProvider } from "@pagefault/react";
import type { ReactNode } from "react";

import { useAccess } from "../access/key";
import { pagefault } from "../api/client";
import { AppView } from "../apps/AppView";
import { BesideImage } from "../media/BesideImage";
import { PdfPages } from "../media/PdfPages";
import { PreviewedText } from "../reading/PreviewedText";
import { ReadableText } from "../reading/ReadableText";
import { RichText } from "../reading/RichText";

/** The views of texts of a session that is not stored. */
export const FILE_TEXTS = {
  Text: RichText,
  Previewed: PreviewedText,
  Stored: ReadableText,
  Pdf: PdfPages,
};

// What the service shows and renders of stored sessions only.
const TEXTS = { ...FILE_TEXTS, App: AppView, BesideImage };

/** Gives the client to the hooks and components of `@pagefault/react`. */
export function WithClient({ children }: { children: ReactNode }) {
  useAccess();
  return (
    <PagefaultProvider client={pagefault()} texts={TEXTS}>
      {children}
    </PagefaultProvider>
  );
}
