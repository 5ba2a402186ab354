/** A file as a session that is not stored, in the views of one that is. */
import { PagefaultProvider, visibleName } from "@pagefault/react";

import { Empty, Loading, Refused } from "../shared/states";
import { usePageTitle } from "../shared/usePageTitle";
import { FILE_TEXTS } from "../shell/WithClient";
import { SessionTimeline } from "../timeline/TimelineView";
import { FILE } from "../words/file";
import { OpenFile } from "./OpenFile";
import { StoreFile, idOf } from "./StoreFile";
import { FileContext, type OpenedFile, openFile, useOpenedFile } from "./openedFile";
import "./file.css";

export function FileView() {
  const opened = useOpenedFile();
  usePageTitle(opened === null ? FILE.title : FILE.titleOf(visibleName(opened.file.name)));
  return (
    <div className="file-view">
      {opened === null ? (
        <section className="view">
          <h1>{FILE.title}</h1>
          <Empty title={FILE.noneTitle}>
            <p>{FILE.none}</p>
            <OpenFile />
          </Empty>
        </section>
      ) : (
        <Opened {...opened} />
      )}
    </div>
  );
}

function Opened({ file, session, failure }: OpenedFile) {
  const name = visibleName(file.name);
  if (failure !== null) {
    return (
      <div className="file-refused">
        <h1>{FILE.refused(name)}</h1>
        <Refused {...{ failure }} what={FILE.takes} onRetry={() => void openFile(file)} />
        <OpenFile />
      </div>
    );
  }
  if (session === null) return <Loading what={name} />;
  return (
    <>
      <StoreFile key={file.name} {...{ file, session }} />
      <PagefaultProvider client={session.client} signedLinks texts={FILE_TEXTS}>
        <FileContext value={session}>
          <SessionTimeline key={file.name} sessionId={session.sessionId ?? idOf(file.name)} />
        </FileContext>
      </PagefaultProvider>
    </>
  );
}
