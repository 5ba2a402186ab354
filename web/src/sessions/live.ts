/** Which sessions are live, and whose events the sessions view listens to. */
import { createContext } from "react";

/** A session is live as long as its last write is not older. */
export const LIVE_SECONDS = 300;

/** The list and the timeline share one stream. */
export const EventsContext = createContext<"project" | "session">("project");
