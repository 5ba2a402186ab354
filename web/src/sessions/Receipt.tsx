/** The receipt for a session that was deleted: what went, what stays, and who uses that. */
import type { DeletionReceipt } from "@pagefault/client";
import { fileSize, visibleName } from "@pagefault/react";

import { ACTIONS, SESSIONS } from "../words/sessions";

interface ReceiptProps {
  readonly receipt: DeletionReceipt;
  readonly onClose: () => void;
}

export function Receipt({ receipt, onClose }: ReceiptProps) {
  const { deleted, resources } = receipt;
  const { toolResults, pageFaults, messages, interactions, answers, pages } = deleted;
  const entries = toolResults + pageFaults + messages + interactions + answers;
  const gone = resources.filter(({ status }) => status === "deleted");
  const kept = resources.filter(({ status }) => status === "kept");
  const size = gone.reduce((sum, resource) => sum + resource.size, 0);
  return (
    <div className="ask" role="status">
      <h2 id="delete-title">{ACTIONS.deletedTitle(visibleName(receipt.id))}</h2>
      <p>{ACTIONS.deletedWhat(SESSIONS.entries(entries), SESSIONS.pages(pages))}</p>
      {gone.length > 0 && <p>{ACTIONS.filesGone(gone.length, fileSize(size))}</p>}
      {kept.length > 0 && (
        <>
          <p>{ACTIONS.filesKept(kept.length)}</p>
          <ul className="receipt-kept">
            {kept.map(({ uri, size: bytes, usedBy }) => (
              <li key={uri}>
                <code>{uri}</code> ({fileSize(bytes)}):{" "}
                {usedBy
                  .map(({ kind, count, exampleId }) =>
                    ACTIONS.usedBy(kind, count, visibleName(exampleId)),
                  )
                  .join(", ")}
              </li>
            ))}
          </ul>
        </>
      )}
      <button type="button" className="button" onClick={onClose}>
        {ACTIONS.close}
      </button>
    </div>
  );
}
