/** The client of this tab, with its key. With another key it is another client, and all is read anew. */
import { Pagefault } from "@pagefault/client";

import { accessKey, keyWasRefused } from "../access/key";

let made: { readonly key: string | null; readonly client: Pagefault } | undefined;

/** The client with the present key. */
export function pagefault(): Pagefault {
  const key = accessKey();
  if (made === undefined || made.key !== key) made = { key, client: clientWith(key) };
  return made.client;
}

function clientWith(key: string | null): Pagefault {
  const client: Pagefault = new Pagefault("", {
    apiKey: key,
    // The address of a stream has a ticket, as that of every other program in a browser.
    ticket: key === null ? undefined : async () => (await client.eventTicket()).ticket,
    onUnauthorized: keyWasRefused,
  });
  return client;
}
