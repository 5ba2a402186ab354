// A page of another origin than the service: hooks and components, with the newest React and with 18.
import { Pagefault } from "@pagefault/client";
import {
  PagefaultProvider,
  ToolResult,
  usePage,
  useResourceContent,
  useSession,
} from "@pagefault/react";
import "@pagefault/react/styles.css";
import { StrictMode, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";

declare global {
  interface Window {
    pagefault: Pagefault;
    progress: number[];
    upload: (bytes: number) => Promise<string>;
  }
}

const query = new URLSearchParams(location.search);
const pf = new Pagefault(query.get("service") ?? "", { apiKey: query.get("key") });
window.pagefault = pf;
window.progress = [];
window.upload = async (bytes) => {
  const file = new File([new Uint8Array(bytes)], "zeros.bin");
  const record = await pf.resources.upload(file, {
    pieceBytes: 300_000,
    onProgress: ({ sent }) => window.progress.push(sent),
  });
  return record.uri;
};

function History() {
  const { entries, status, live, history, hasEarlier } = useSession("shown");
  return (
    <section aria-label="history" data-status={status} data-live={live}>
      {hasEarlier && <button onClick={() => void history.loadEarlier()}>Earlier</button>}
      <ol>
        {entries.map(({ seq, entry }) => (
          <li key={seq}>
            {entry.entry === "tool_result" ? <ToolResult result={entry.sanitized} /> : "said"}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Notes() {
  const { page, isLoading, failure } = usePage("notes");
  return (
    <p id="notes">{isLoading ? "loading" : failure === null ? page?.caption : String(failure)}</p>
  );
}

function Resource() {
  const [uri, setUri] = useState("");
  const { descriptor, url, failure } = useResourceContent(uri);
  const told = useMemo(
    () =>
      JSON.stringify({
        size: descriptor?.size,
        isSigned: url?.includes("token="),
        failure: String(failure),
      }),
    [descriptor, url, failure],
  );
  return (
    <>
      <input aria-label="uri" value={uri} onChange={(event) => setUri(event.target.value)} />
      <output>{told}</output>
    </>
  );
}

createRoot(document.body.appendChild(document.createElement("main"))).render(
  <StrictMode>
    <PagefaultProvider client={pf} signedLinks={query.has("links") || pf.hasKey}>
      <History />
      <Notes />
      <Resource />
    </PagefaultProvider>
  </StrictMode>,
);
