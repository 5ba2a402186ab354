/** What a rendering left out or changed, and how to get at it. */
import type { LossEntry } from "@pagefault/client";
import { visibleText } from "@pagefault/react";
import { PAGES } from "../words/pages";
import "./loss.css";

export function LossTable({ loss }: { loss: readonly LossEntry[] }) {
  if (loss.length === 0) return <p className="loss-none">{PAGES.nothingLost}</p>;
  return (
    <div className="loss" tabIndex={0} role="region" aria-label={PAGES.lost}>
      <table>
        <caption>{PAGES.lost}</caption>
        <thead>
          <tr>
            <th scope="col">{PAGES.where}</th>
            <th scope="col">{PAGES.became}</th>
            <th scope="col">{PAGES.why}</th>
            <th scope="col">{PAGES.toGetIt}</th>
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
                {entry.from === "nothing" ? PAGES.notStored : <code>{visibleText(entry.restore)}</code>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
