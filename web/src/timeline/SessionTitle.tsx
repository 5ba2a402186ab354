/** The title of a session, all of it: the service names a session by at most 120 characters. */
import type { OutlineEntry } from "@pagefault/client";
import { itemsOf, memberOf } from "@pagefault/client/json";
import { usePagefault, visibleName } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { HEADER } from "../words/timeline";
import { textOfEntry } from "./entryText";

interface SessionTitleProps {
  readonly sessionId: string;
  /** As the service names it; null if nobody said anything. */
  readonly title: string | null;
  readonly entries: readonly OutlineEntry[];
}

export function SessionTitle({ sessionId, title, entries }: SessionTitleProps) {
  const name = visibleName(useWholeTitle(sessionId, title, entries) ?? sessionId);
  const heading = useRef<HTMLHeadingElement>(null);
  const [isCut, setCut] = useState(false);
  const [isOpen, setOpen] = useState(false);

  useEffect(() => {
    const box = heading.current;
    if (box === null || isOpen) return undefined;
    // A wide screen has two lines, which are cut below.
    const measure = () =>
      setCut(box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight + 1);
    const watcher = new ResizeObserver(measure);
    watcher.observe(box);
    measure();
    return () => watcher.disconnect();
  }, [name, isOpen]);

  return (
    <>
      {/* A very long one scrolls. */}
      <h1
        ref={heading}
        className={isOpen ? "whole" : undefined}
        tabIndex={isOpen ? 0 : undefined}
        title={name}
      >
        {name}
      </h1>
      {isCut && (
        <button
          type="button"
          className="button plain small title-more"
          aria-label={HEADER.wholeTitle}
          title={HEADER.wholeTitle}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <span aria-hidden="true">{isOpen ? "▴" : "▾"}</span>
        </button>
      )}
    </>
  );
}

/** The first line of the user, whole once its entry is read. */
function useWholeTitle(
  sessionId: string,
  title: string | null,
  entries: readonly OutlineEntry[],
): string | null {
  const client = usePagefault();
  const isCut = title?.endsWith("…") === true;
  const seq = isCut ? entries.find((entry) => entry.title === title)?.seq : undefined;
  const whole = useQuery({
    queryKey: ["title", sessionId, title, seq],
    queryFn: async ({ signal }) => {
      const path = `/api/sessions/${encodeURIComponent(sessionId)}/messages`;
      const query = { after: (seq ?? 1) - 1, limit: 1 };
      const answer = await (await client.request(path, { query, signal })).text();
      const [source = "{}"] = itemsOf(memberOf(answer, "items") ?? "[]");
      const begun = title?.slice(0, -1) ?? "";
      const lines = (await textOfEntry(source, client)).split(/\r\n|\r|\n/u);
      const words = lines.map((line) => line.trim().split(/\s+/u).join(" "));
      return words.find((line) => line.startsWith(begun)) ?? null;
    },
    enabled: seq !== undefined,
    staleTime: Infinity,
    // Another file may have the same name.
    gcTime: 0,
  });
  return whole.data ?? title;
}
