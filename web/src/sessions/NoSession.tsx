/** What stands beside the list while no session is open. */
import { usePageTitle } from "../shared/usePageTitle";

export function NoSession() {
  usePageTitle("Sessions");
  return <p className="no-session quiet">Choose a session to read what was written to it.</p>;
}
