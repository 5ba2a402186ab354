/** Saves a resource under its name. */
import { problemOf, resourceId } from "@pagefault/client";
import { useState } from "react";

import { usePagefault, useResources } from "./context.ts";
import { visibleName } from "./visibleText.ts";
import { WORDS } from "./words.ts";

interface DownloadLinkProps {
  readonly reference: string;
  readonly name?: string | null | undefined;
}

export function DownloadLink({ reference, name }: DownloadLinkProps) {
  const client = usePagefault();
  const resources = useResources();
  const [refusal, setRefusal] = useState<string>();
  const id = resourceId(reference) ?? "";
  const said = (
    <>
      {WORDS.download}
      <span className="unseen"> {name ? visibleName(name) : WORDS.theFile}</span>
    </>
  );
  if (!resources.needsLinks) {
    return (
      <a href={client.url(`/api/resources/${id}/content`, { download: 1 })} download>
        {said}
      </a>
    );
  }

  // A link cannot carry the key: a short one is made when it is wanted.
  async function save() {
    try {
      saveFrom((await resources.sign(id, "attachment")).url);
      setRefusal(undefined);
    } catch (failure) {
      setRefusal(problemOf(failure).detail);
    }
  }

  return (
    <>
      <button type="button" className="button plain" onClick={() => void save()}>
        {said}
      </button>
      {refusal !== undefined && <span role="alert">{refusal}</span>}
    </>
  );
}

function saveFrom(url: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = "";
  link.click();
}
