/** What a rendering left out or changed, and how to get at it. */
import type { LossEntry } from "@pagefault/client";
import { visibleText } from "@pagefault/react";

export function LossTable({ loss }: { loss: readonly LossEntry[] }) {
  if (loss.length === 0) return <p className="loss-none">Nothing was lost.</p>;
  return (
    <div className="loss" tabIndex={0} role="region" aria-label="What was lost">
      <table>
        <caption>What was lost</caption>
        <thead>
          <tr>
            <th scope="col">Where</th>
            <th scope="col">Became</th>
            <th scope="col">Why</th>
            <th scope="col">To get it</th>
          </tr>
        </thead>
        <tbody>
          {loss.map((entry, index) => (
            <tr key={index}>
              <td>
                <code>{visibleText(entry.pointer)}</code>
              </td>
              <td>
                {entry.from} → {entry.to}
              </td>
              <td>
                {visibleText(entry.reason)} <code className="quiet">{entry.code}</code>
              </td>
              <td>
                <code>{visibleText(entry.restore)}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
