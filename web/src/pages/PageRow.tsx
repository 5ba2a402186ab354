/** A page in a list: its id, what it is about, how large it is, and where a search found it. */
import type { PageSummary, SearchHit } from "@pagefault/client";
import { visibleText } from "@pagefault/react";
import { Link } from "react-router";

import { TimeText } from "../shared/TimeText";
import { measuresOf } from "./pageWords";
import { PAGES } from "../words/pages";

export function PageRow({ page }: { page: PageSummary | SearchHit }) {
  const about = page.hint ?? page.caption ?? page.transcript;
  const snippet = "snippet" in page ? page.snippet : null;
  return (
    <li className="page-row">
      <div className="row">
        <Link className="page-id" to={`/pages/${encodeURIComponent(page.page_id)}`}>
          {page.page_id}
        </Link>
        <span className="label">{page.modality}</span>
        {page.pinned && <span className="label warn">{PAGES.pinned}</span>}
        <span className="quiet small">{page.page_type}</span>
      </div>
      {snippet !== null ? (
        <p className="page-snippet">{visibleText(snippet)}</p>
      ) : (
        about !== null && <p className="page-about">{visibleText(about)}</p>
      )}
      <p className="row quiet small">
        <span>{measuresOf(page)}</span>
        {page.session_id !== null && (
          <span>
            {PAGES.in}{" "}
            <Link to={`/sessions/${encodeURIComponent(page.session_id)}`}>{page.session_id}</Link>
          </span>
        )}
        <TimeText at={page.updated_at} />
      </p>
    </li>
  );
}
