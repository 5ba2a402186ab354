/** What stands beside the list while no session is open: how a first one comes to be, where there is none. */
import { useQuery } from "@tanstack/react-query";

import { pagefault } from "../api/client";
import { usePageTitle } from "../shared/usePageTitle";
import { SESSIONS } from "../words/sessions";
import { FirstRun } from "./FirstRun";

export function NoSession() {
  usePageTitle(SESSIONS.title);
  const any = useQuery({
    queryKey: ["sessions", "any"],
    queryFn: async ({ signal }) => (await pagefault().sessions.list({ limit: 1, signal }).slice(null)).items,
  });
  return (
    <div className="no-session">
      {any.data?.length === 0 ? <FirstRun /> : <p className="quiet">{SESSIONS.choose}</p>}
    </div>
  );
}
