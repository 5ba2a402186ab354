/** Saves a resource under its name. */
import { useState } from "react";

import { useAccess } from "../access/key";
import { problemOf } from "../api/problem";
import { visibleName } from "../shared/visibleText";
import { resourceId } from "./references";
import { downloadLink } from "./useResourceContent";

interface DownloadLinkProps {
  readonly reference: string;
  readonly name?: string | null | undefined;
}

export function DownloadLink({ reference, name }: DownloadLinkProps) {
  const { key } = useAccess();
  const [refusal, setRefusal] = useState<string>();
  const id = resourceId(reference) ?? "";
  const said = (
    <>
      Download<span className="unseen"> {name ? visibleName(name) : "the file"}</span>
    </>
  );
  if (key === null) {
    return (
      <a href={`/api/resources/${id}/content?download=1`} download>
        {said}
      </a>
    );
  }

  // A link cannot carry the key: a short one is made when it is wanted.
  async function save() {
    try {
      saveFrom(await downloadLink(id));
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
