/** A session of the list in two lines: what it is about; when, how much, and what failed in it. */
import type { SessionRecord } from "@pagefault/client";
import { Failure, fileSize, numberText, useNearViewport, visibleName } from "@pagefault/react";
import { useEffect, useRef } from "react";
import { NavLink, useMatch, useSearchParams } from "react-router";

import { StoredThumbnail } from "../timeline/entries/Thumbnail";
import { TimeText } from "../shared/TimeText";
import { spanText } from "../shared/formats";
import { SESSIONS } from "../words/sessions";
import { PinButton } from "./PinButton";
import { entriesOf } from "./SessionActions";
import { TagLink } from "./TagLink";
import { orderIn, searchOfList } from "./listOrder";
import { useMarking } from "./marks";

interface SessionRowProps {
  readonly session: SessionRecord;
  /** Whether it is one of those that are to be compared; without `onTick` none can be. */
  readonly isTicked?: boolean;
  readonly onTick?: (isTicked: boolean) => void;
}

export function SessionRow({ session, isTicked = false, onTick }: SessionRowProps) {
  const [search] = useSearchParams();
  const { id, title, counts, pinned = false, tags = [] } = session;
  const marking = useMarking(id);
  const isByTokens = orderIn(search).sort === "tokens";
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
        {typeof session.lastImage === "string" && <LastImage uri={session.lastImage} />}
        <span className="session-title">{name}</span>
        <span className="session-facts small quiet">
          <TimeText at={session.updatedAt} isShort />
          {counts.failures > 0 && (
            <span className="bad-text">{SESSIONS.failures(counts.failures)}</span>
          )}
          <span>{SESSIONS.entries(entriesOf(session))}</span>
          {isByTokens && (
            <span title={SESSIONS.tokensHint}>{SESSIONS.tokens(numberText(session.tokensEst))}</span>
          )}
          {lasted >= 1_000 && <span>{SESSIONS.lasted(spanText(lasted))}</span>}
          {counts.images > 0 && <span>{SESSIONS.images(counts.images)}</span>}
          {counts.pages > 0 && <span>{SESSIONS.pages(counts.pages)}</span>}
          {counts.resources > 0 && (
            <span>{SESSIONS.files(counts.resources, fileSize(session.bytesReferenced))}</span>
          )}
          {title !== null && <span className="session-id">{visibleName(id)}</span>}
        </span>
      </NavLink>
      <div className="session-tools">
        <PinButton
          name={name}
          isPinned={pinned}
          isBusy={marking.isPending}
          onPin={(isPinned) => marking.mutate({ pinned: isPinned })}
        />
        {onTick !== undefined && (
          <input
            type="checkbox"
            aria-label={SESSIONS.tick(name)}
            title={SESSIONS.tickHint}
            checked={isTicked}
            onChange={({ target }) => onTick(target.checked)}
          />
        )}
      </div>
      {tags[0] !== undefined && (
        <span className="session-tags" title={tags.map(visibleName).join(", ")}>
          <TagLink tag={tags[0]} />
          {tags.length > 1 && <span className="small quiet">+{tags.length - 1}</span>}
        </span>
      )}
      {marking.isError && <Failure failure={marking.error} />}
    </li>
  );
}

/** The last image of a session, which is loaded once its line is near. */
function LastImage({ uri }: { uri: string }) {
  const place = useRef<HTMLSpanElement>(null);
  const isNear = useNearViewport(place);
  return (
    <span ref={place} className="session-image">
      {isNear && <StoredThumbnail reference={uri} />}
    </span>
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
