/** A page's file at a level, saved by the browser; a refusal is told here and not in a new tab. */
import type { Level } from "@pagefault/client";
import { useMutation } from "@tanstack/react-query";

import { pagefault } from "../api/client";
import { Failure } from "../shared/states";
import { PAGES } from "../words/pages";
import { levelName } from "./pageWords";

interface Props {
  pageId: string;
  level: Level;
}

export function PageDownload({ pageId, level }: Props) {
  const download = useMutation({
    // A link could not carry the key, and would show a refusal as a page of JSON.
    mutationFn: async () => {
      const answer = await pagefault().pages.download(pageId, { level });
      save(await answer.blob(), fileName(answer.headers, pageId));
    },
  });
  return (
    <div className="page-download">
      <button
        type="button"
        className="button"
        disabled={download.isPending}
        onClick={() => download.mutate()}
      >
        {download.isPending ? PAGES.downloading : PAGES.download(levelName(level))}
      </button>
      {download.isError && (
        <Failure failure={download.error} onRetry={() => download.mutate()} />
      )}
    </div>
  );
}

function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken the file over once this click has been handled.
  setTimeout(() => URL.revokeObjectURL(url));
}

/** The name the service gives the file (RFC 6266), the exact one if there are two. */
function fileName(headers: Headers, pageId: string): string {
  const disposition = headers.get("Content-Disposition") ?? "";
  const exact = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
  const plain = /filename="([^"]*)"/i.exec(disposition)?.[1];
  return exact !== undefined ? decodeURIComponent(exact) : (plain ?? pageId);
}
