/** Whose events the sessions view listens to: its list and its timeline share one stream. */
import { createContext } from "react";

export const EventsContext = createContext<"project" | "session">("project");
