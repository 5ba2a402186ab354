/** What can be done with a session: read it as a model, compare, export, delete. */
import {
  APIStatusError,
  type DeletionReceipt,
  type OutlineEntry,
  type SessionRecord,
} from "@pagefault/client";
import { Failure, fileSize, visibleName } from "@pagefault/react";
import { useQueryClient } from "@tanstack/react-query";
import { Suspense, lazy, useMemo, useRef, useState } from "react";
import { Link, useNavigate } from "react-router";

import { pagefault } from "../api/client";
import { useKeys } from "../keys/useKeys";
import { COST } from "../words/cost";
import { MODEL } from "../words/model";
import { ACTIONS, SESSIONS } from "../words/sessions";
import { Receipt } from "./Receipt";
import { MOST_DOCUMENT_BYTES, documentSizeOf } from "./documentSize";
import { exportFile } from "./exportFile";
import { useSessionRecord } from "./marks";

const PriceDialog = lazy(() => import("../cost/PriceDialog"));

interface SessionActionsProps {
  readonly sessionId: string;
  /** All entries, as soon as all are there. */
  readonly entries: readonly OutlineEntry[] | undefined;
}

export function SessionActions({ sessionId, entries }: SessionActionsProps) {
  const queries = useQueryClient();
  const dialog = useRef<HTMLDialogElement>(null);
  const [session, setSession] = useState<SessionRecord>();
  const [receipt, setReceipt] = useState<DeletionReceipt>();
  const [said, setSaid] = useState("");
  const [failure, setFailure] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const [wasTooLarge, setTooLarge] = useState(false);
  const files = useSessionRecord(sessionId, isOpen).data?.bytesReferenced;
  const documentSize = useMemo(
    () => (isOpen && entries !== undefined && files !== undefined ? documentSizeOf(entries, files) : undefined),
    [isOpen, entries, files],
  );
  const isTooLarge = wasTooLarge || (documentSize ?? 0) > MOST_DOCUMENT_BYTES;
  const menu = useRef<HTMLDetailsElement>(null);
  const [arePricesOpen, openPrices] = useState(false);
  const navigate = useNavigate();
  const path = encodeURIComponent(sessionId);
  const name = visibleName(sessionId);

  async function trying(what: () => Promise<void>) {
    setFailure(null);
    setBusy(true);
    try {
      await what();
    } catch (problem) {
      setSaid("");
      setFailure(problem);
    }
    setBusy(false);
  }

  function closeMenu() {
    if (menu.current !== null) menu.current.open = false;
  }

  const save = (answer: Promise<Response>, ending: string) =>
    trying(async () => {
      const size = await exportFile(answer, `${sessionId}.${ending}`, (bytes, whole) =>
        setSaid(ACTIONS.exporting(fileSize(bytes), whole === undefined ? undefined : fileSize(whole))),
      );
      setSaid(ACTIONS.exported(fileSize(size)));
    });

  const saveDocument = (media: "inline" | "none") =>
    save(
      pagefault()
        .request(`/api/sessions/${path}/document`, { query: { media } })
        .catch((problem: unknown) => {
          if (problem instanceof APIStatusError && problem.status === 413) setTooLarge(true);
          throw problem;
        }),
      "html",
    );

  const ask = () =>
    trying(async () => {
      setReceipt(undefined);
      setSession(await pagefault().session(sessionId).get());
      closeMenu();
      dialog.current?.showModal();
    });

  function leave() {
    dialog.current?.close();
    void navigate("/sessions");
  }

  const remove = () =>
    trying(async () => {
      const told = await pagefault().session(sessionId).delete();
      setReceipt(told);
      await queries.invalidateQueries({ queryKey: ["sessions"] });
      // The answer with the receipt was lost, and all that is left to do is to go.
      if (told === undefined) leave();
    });

  const exportBundle = () => void save(pagefault().session(sessionId).bundle(), "zip");

  useKeys([
    { key: null, said: ACTIONS.compare, run: () => void navigate(`/compare?a=${path}`) },
    { key: null, said: COST.open, run: () => openPrices(true) },
    ...(isBusy
      ? []
      : [
          { key: null, said: ACTIONS.export, run: exportBundle },
          {
            key: null,
            said: ACTIONS.exportDocument(undefined, isTooLarge),
            run: () => void saveDocument("inline"),
          },
          ...(isTooLarge
            ? [
                {
                  key: null,
                  said: ACTIONS.exportWithoutFiles,
                  run: () => void saveDocument("none"),
                },
              ]
            : []),
          { key: null, said: ACTIONS.deleteThis, run: () => void ask() },
        ]),
  ]);

  return (
    <>
      <details
        ref={menu}
        className="menu"
        onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
        onKeyDown={({ key }) => key === "Escape" && closeMenu()}
        onBlur={({ currentTarget, relatedTarget }) => {
          if (relatedTarget !== null && !currentTarget.contains(relatedTarget)) closeMenu();
        }}
      >
        <summary className="button">{ACTIONS.open}</summary>
        <div className="menu-items">
          <Link className="phone-only" to={`/sessions/${path}/model`}>
            {MODEL.open}
          </Link>
          <Link to={`/compare?a=${path}`}>{ACTIONS.compare}</Link>
          <button type="button" disabled={isBusy} onClick={exportBundle}>
            {ACTIONS.export}
          </button>
          <button type="button" disabled={isBusy} onClick={() => void saveDocument("inline")}>
            {ACTIONS.exportDocument(
              // An estimate has two digits: `180.0 kB` would have four.
              documentSize === undefined ? undefined : fileSize(documentSize).replace(/\D0(?=\s)/, ""),
              isTooLarge,
            )}
          </button>
          {isTooLarge && (
            <button type="button" disabled={isBusy} onClick={() => void saveDocument("none")}>
              {ACTIONS.exportWithoutFiles}
            </button>
          )}
          <button
            type="button"
            onClick={() => {
              closeMenu();
              openPrices(true);
            }}
          >
            {COST.open}
          </button>
          <button type="button" className="bad" disabled={isBusy} onClick={() => void ask()}>
            {ACTIONS.delete}
          </button>
        </div>
      </details>
      <span className="small quiet" role="status">
        {said}
      </span>
      {failure !== null && <Failure failure={failure} />}
      {arePricesOpen && (
        <Suspense>
          <PriceDialog {...{ sessionId, entries }} onClose={() => openPrices(false)} />
        </Suspense>
      )}
      <dialog ref={dialog} className="ask-dialog" aria-labelledby="delete-title">
        {receipt !== undefined ? (
          <Receipt receipt={receipt} onClose={leave} />
        ) : (
          session !== undefined && (
            <div className="ask">
              <h2 id="delete-title">{ACTIONS.deleteTitle(name)}</h2>
              <p>
                {ACTIONS.deleteWhat(
                  SESSIONS.entries(entriesOf(session)),
                  SESSIONS.pages(session.counts.pages),
                )}
              </p>
              {failure !== null && <Failure failure={failure} />}
              <div className="row">
                <button type="button" className="button" onClick={() => dialog.current?.close()}>
                  {ACTIONS.cancel}
                </button>
                <button
                  type="button"
                  className="button danger"
                  disabled={isBusy}
                  onClick={() => void remove()}
                >
                  {ACTIONS.deleteNow}
                </button>
              </div>
            </div>
          )
        )}
      </dialog>
    </>
  );
}

export function entriesOf({ counts }: SessionRecord): number {
  const { toolResults, pageFaults, messages, interactions, answers } = counts;
  return toolResults + pageFaults + messages + interactions + answers;
}
