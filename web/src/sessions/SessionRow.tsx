/** A session of the list in two lines: what it is about; when, how much, and what failed in it. */
import type { SessionRecord } from "@pagefault/client";
import { fileSize, visibleName } from "@pagefault/react";
import { useEffect, useRef } from "react";
import { NavLink, useMatch, useSearchParams } from "react-router";

import { TimeText } from "../shared/TimeText";
import { spanText } from "../shared/formats";
import { SESSIONS } from "../words/sessions";
import { entriesOf } from "./SessionActions";
import { searchOfList } from "./listOrder";

interface SessionRowProps {
  readonly session: SessionRecord;
  /** Whether it is one of those that are to be compared; without `onTick` none can be. */
  readonly isTicked?: boolean;
  readonly onTick?: (isTicked: boolean) => void;
}

export function SessionRow({ session, isTicked = false, onTick }: SessionRowProps) {
  const [search] = useSearchParams();
  const { id, title, counts } = session;
  const row = useRef<HTMLLIElement>(null);
  const isOpen = useOpenSession() === id;
  const lasted = Date.parse(session.updatedAt) - Date.parse(session.createdAt);
  const name = visibleName(title ?? id);

  // Who comes by an address, or by Back, sees which one is open.
  useEffect(() => {
    if (isOpen && row.current !== null) scrollToRow(row.current);
  }, [isOpen]);

  return (
    <li ref={row} className="session-place">
      <NavLink
        className="session-row"
        title={`${name}\n${visibleName(id)}`}
        to={{ pathname: `/sessions/${encodeURIComponent(id)}`, search: searchOfList(search) }}
      >
        <span className="session-title">
          {session.pinned === true && <span aria-label={SESSIONS.pinned}>★ </span>}
          {name}
        </span>
        <span className="session-facts small quiet">
          <TimeText at={session.updatedAt} isShort />
          {counts.failures > 0 && (
            <span className="bad-text">{SESSIONS.failures(counts.failures)}</span>
          )}
          <span>{SESSIONS.entries(entriesOf(session))}</span>
          {lasted >= 1_000 && <span>{SESSIONS.lasted(spanText(lasted))}</span>}
          {session.tags?.map((tag) => (
            <span key={tag} className="label">
              {visibleName(tag)}
            </span>
          ))}
          {counts.images > 0 && <span>{SESSIONS.images(counts.images)}</span>}
          {counts.pages > 0 && <span>{SESSIONS.pages(counts.pages)}</span>}
          {counts.resources > 0 && (
            <span>{SESSIONS.files(counts.resources, fileSize(session.bytesReferenced))}</span>
          )}
          {title !== null && <span className="session-id">{visibleName(id)}</span>}
        </span>
      </NavLink>
      {onTick !== undefined && (
        <input
          type="checkbox"
          aria-label={SESSIONS.tick(name)}
          title={SESSIONS.tickHint}
          checked={isTicked}
          onChange={({ target }) => onTick(target.checked)}
        />
      )}
    </li>
  );
}

/** The session that is open in any view of it. */
export function useOpenSession(): string | undefined {
  return useMatch("/sessions/:sessionId/*")?.params.sessionId;
}

/** Bring a row into view in its list; `scrollIntoView` would have Tab begin behind it. */
function scrollToRow(row: HTMLElement): void {
  const box = row.closest(".scroller");
  if (box === null) return;
  const [edges, place] = [box.getBoundingClientRect(), row.getBoundingClientRect()];
  if (place.top < edges.top) box.scrollTop += place.top - edges.top;
  else if (place.bottom > edges.bottom) box.scrollTop += place.bottom - edges.bottom;
}
