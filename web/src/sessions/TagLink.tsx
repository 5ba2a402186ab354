/** A tag, which leads to the sessions that have it too. */
import { visibleName } from "@pagefault/react";
import { useContext } from "react";
import { Link, useLocation } from "react-router";

import { SESSIONS } from "../words/sessions";
import { EventsContext } from "./live";

export function TagLink({ tag }: { tag: string }) {
  const { pathname, search, hash } = useLocation();
  // A narrow screen shows the list or a session; else the session stays open beside the list.
  const isListShown = useContext(EventsContext) === "project";
  const wanted = new URLSearchParams(search);
  wanted.set("tag", tag);
  const to = isListShown
    ? { pathname, search: `${wanted}`, hash }
    : { pathname: "/sessions", search: `${new URLSearchParams({ tag })}` };
  return (
    <Link className="label tag" to={to} title={SESSIONS.tagged(visibleName(tag))}>
      {visibleName(tag)}
    </Link>
  );
}
