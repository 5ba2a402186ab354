/**
 * The pages of a PDF, drawn when they come near and freed when they are far away. What draws them is loaded then, and works in a
 * worker of our own origin; scripts and forms of the document are never run.
 */
import type { Pagefault } from "@pagefault/client";
import { Failure, usePagefault, visibleText } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";
import type { PDFDocumentProxy } from "pdfjs-dist";
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";

import { Loading } from "../shared/states";
import { MEDIA } from "../words/media";
import "./media.css";

const MOST_BYTES = 100_000_000;
const WIDEST_PX = 900;
/** Pages this near are drawn, and those that are farther away than that are freed. */
const NEAR = "400px 0px";
const FAR = "3000px 0px";

interface Size {
  readonly width: number;
  readonly height: number;
}

export function PdfPages({ id }: { id: string }) {
  const client = usePagefault();
  const opened = useQuery({
    queryKey: ["pdf", id],
    queryFn: ({ signal }) => openPdf(client, id, signal),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
  const pdf = opened.data;
  const [usual, setUsual] = useState<Size>();
  // Most pages of a document are as large as its first, and need no more room once they are drawn.
  const noteSize = useCallback((size: Size) => setUsual((known) => known ?? size), []);
  useEffect(() => () => void pdf?.loadingTask.destroy(), [pdf]);
  if (opened.isError) {
    return isOfPdf(opened.error) ? (
      <p className="medium-broken">{MEDIA.brokenPdf(opened.error.message)}</p>
    ) : (
      <Failure failure={opened.error} />
    );
  }
  if (pdf === undefined) return <Loading what={MEDIA.pdf} />;
  return (
    <div className="pdf" role="region" tabIndex={0} aria-label={MEDIA.pages(pdf.numPages)}>
      <p className="small quiet">{MEDIA.pages(pdf.numPages)}</p>
      {Array.from({ length: pdf.numPages }, (_, index) => (
        <PdfPage key={index} pdf={pdf} number={index + 1} usual={usual} onSize={noteSize} />
      ))}
    </div>
  );
}

interface PdfPageProps {
  readonly pdf: PDFDocumentProxy;
  readonly number: number;
  /** How large it is taken to be until it is drawn. */
  readonly usual: Size | undefined;
  readonly onSize: (size: Size) => void;
}

function PdfPage({ pdf, number, usual, onSize }: PdfPageProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const isNear = useIsNear(box);
  const [size, setSize] = useState<Size>();
  const [words, setWords] = useState("");

  useEffect(() => {
    const shown = canvas.current;
    if (!isNear || shown === null) return undefined;
    const life = new AbortController();
    const onLayout = (laidOut: Size) => {
      setSize(laidOut);
      onSize(laidOut);
    };
    drawPage(pdf, number, shown, { onLayout, signal: life.signal })
      .then((text) => life.signal.aborted || setWords(text))
      .catch(() => life.signal.aborted || setWords(MEDIA.brokenPage));
    return () => {
      life.abort();
      // Its pixels are many; its place stays as it is.
      shown.width = 0;
      shown.height = 0;
    };
  }, [pdf, number, isNear, onSize]);

  const known = size ?? usual;
  return (
    <div ref={box} className="pdf-page">
      <canvas
        ref={canvas}
        role="img"
        aria-label={MEDIA.page(number, visibleText(words))}
        style={
          known && { width: known.width, aspectRatio: `${known.width} / ${known.height}` }
        }
      />
    </div>
  );
}

/** Whether an element is near what is seen; it is let go only when it is far from it. */
function useIsNear(element: RefObject<Element | null>): boolean {
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const watched = element.current;
    if (watched === null) return undefined;
    const observers = [
      observed(watched, NEAR, (isInside) => isInside && setNear(true)),
      observed(watched, FAR, (isInside) => isInside || setNear(false)),
    ];
    return () => {
      for (const observer of observers) observer.disconnect();
    };
  }, [element]);
  return isNear;
}

function observed(
  element: Element,
  margin: string,
  changed: (isInside: boolean) => void,
): IntersectionObserver {
  // The margin of the root does not reach into boxes that scroll; `scrollMargin` does.
  const options: IntersectionObserverInit & { scrollMargin: string } = {
    rootMargin: margin,
    scrollMargin: margin,
  };
  const observer = new IntersectionObserver((changes) => {
    const last = changes.at(-1);
    if (last !== undefined) changed(last.isIntersecting);
  }, options);
  observer.observe(element);
  return observer;
}

async function openPdf(
  client: Pagefault,
  id: string,
  signal: AbortSignal,
): Promise<PDFDocumentProxy> {
  const [{ getDocument, GlobalWorkerOptions }, worker] = await Promise.all([
    import("pdfjs-dist"),
    import("pdfjs-dist/build/pdf.worker.mjs?url"),
  ]);
  GlobalWorkerOptions.workerSrc = worker.default;
  const answer = await client.request(`/api/resources/${id}/content`, { signal });
  if (Number(answer.headers.get("content-length") ?? 0) > MOST_BYTES) {
    void answer.body?.cancel();
    throw Object.assign(new Error(MEDIA.largePdf), { name: "LargePdf" });
  }
  const data = new Uint8Array(await answer.arrayBuffer());
  const loading = getDocument({ data, enableXfa: false, disableFontFace: true, verbosity: 0 });
  // Who has hidden it meanwhile wants neither the document nor its worker.
  signal.addEventListener("abort", () => void loading.destroy());
  return loading.promise;
}

interface Drawing {
  readonly onLayout: (size: Size) => void;
  readonly signal: AbortSignal;
}

async function drawPage(
  pdf: PDFDocumentProxy,
  number: number,
  canvas: HTMLCanvasElement,
  { onLayout, signal }: Drawing,
): Promise<string> {
  const page = await pdf.getPage(number);
  const [, , width] = page.view;
  const scale = (WIDEST_PX / Math.max(1, width ?? 1)) * Math.min(2, window.devicePixelRatio);
  const viewport = page.getViewport({ scale });
  if (signal.aborted) return "";
  canvas.width = viewport.width;
  canvas.height = viewport.height;
  onLayout({ width: canvas.width, height: canvas.height });
  const task = page.render({ canvas, viewport, annotationMode: 0 });
  // Who has gone on meanwhile needs it no more, and may come back to the same canvas.
  const cancel = () => task.cancel();
  signal.addEventListener("abort", cancel);
  await task.promise;
  signal.removeEventListener("abort", cancel);
  const { items } = await page.getTextContent();
  page.cleanup();
  return items.map((item) => ("str" in item ? item.str : "")).join(" ");
}

/** Whether the document itself is to blame: it is broken, or locked. */
function isOfPdf(failure: unknown): failure is Error {
  return failure instanceof Error && /Pdf|PDF|Password/.test(failure.name);
}
