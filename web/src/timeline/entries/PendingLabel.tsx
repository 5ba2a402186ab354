/** Says that a call has no answer: not yet, or never, where the doctor finds that the session went on. */
import { useContext } from "react";

import { STEP } from "../../words/timeline";
import { FindingsContext } from "../useFindings";

export function PendingLabel({ callId }: { callId: string }) {
  const findings = [...useContext(FindingsContext).values()].flat();
  const isPassedOver = findings.some((each) => each.rule === "no-answer" && each.callId === callId);
  return <span className="label warn">{isPassedOver ? STEP.unanswered : STEP.pending}</span>;
}
