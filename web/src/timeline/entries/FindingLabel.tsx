/** How many findings of the doctor an entry has; they lead to what is to be done. */
import { visibleText } from "@pagefault/react";
import { useContext } from "react";
import { Link } from "react-router";

import { LINE } from "../../words/timeline";
import { SessionContext } from "../sessionContext";
import { FindingsContext, useDoctorPath } from "../useFindings";

export function FindingLabel({ seq }: { seq: number }) {
  const sessionId = useContext(SessionContext);
  const doctor = useDoctorPath(sessionId);
  const findings = useContext(FindingsContext).get(seq) ?? [];
  if (findings.length === 0) return null;
  const reasons = findings.map(({ demands, fix }) => visibleText(LINE.reason(demands, fix)));
  return (
    <Link className="label warn" to={doctor} title={reasons.join("\n")}>
      {LINE.findings(findings.length)}
    </Link>
  );
}
