/** The client of this tab, with its key. With another key it is another client, and all is read anew. */
import { Pagefault } from "@pagefault/client";
import { PagefaultProvider } from "@pagefault/react";
import type { ReactNode } from "react";

import { BesideImage } from "../media/BesideImage";
import { PdfPages } from "../media/PdfPages";
import { RichText } from "../reading/RichText";
import { SearchedText } from "../reading/SearchedText";
import { accessKey, keyWasRefused, useAccess } from "../access/key";

const TEXTS = { Text: RichText, Stored: SearchedText, Pdf: PdfPages, BesideImage };

let made: { readonly key: string | null; readonly client: Pagefault } | undefined;

/** The client with the present key. */
export function pagefault(): Pagefault {
  const key = accessKey();
  if (made === undefined || made.key !== key) made = { key, client: clientWith(key) };
  return made.client;
}

/** Gives the client to the hooks and components of `@pagefault/react`. */
export function WithClient({ children }: { children: ReactNode }) {
  useAccess();
  return (
    <PagefaultProvider client={pagefault()} texts={TEXTS}>
      {children}
    </PagefaultProvider>
  );
}

function clientWith(key: string | null): Pagefault {
  const client: Pagefault = new Pagefault("", {
    key,
    // The address of a stream has a ticket, as that of every other program in a browser.
    ticket: key === null ? undefined : async () => (await client.eventTicket()).ticket,
    onUnauthorized: keyWasRefused,
  });
  return client;
}
