/** What stands beside the list while no session is open. */
import { usePageTitle } from "../shared/usePageTitle";
import { SESSIONS } from "../words/sessions";

export function NoSession() {
  usePageTitle(SESSIONS.title);
  return <p className="no-session quiet">{SESSIONS.choose}</p>;
}
