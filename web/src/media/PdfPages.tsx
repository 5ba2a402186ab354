/**
 * The pages of a PDF, drawn when they come near. What draws them is loaded then, and works in a
 * worker of our own origin; scripts and forms of the document are never run.
 */
import { Failure, visibleText } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";
import type { PDFDocumentProxy } from "pdfjs-dist";
import { useEffect, useRef, useState } from "react";

import { pagefault } from "../api/client";
import { Loading } from "../shared/states";
import { MEDIA } from "../words/media";
import "./media.css";

const MOST_BYTES = 100_000_000;
const WIDEST_PX = 900;

export function PdfPages({ id }: { id: string }) {
  const opened = useQuery({
    queryKey: ["pdf", id],
    queryFn: ({ signal }) => openPdf(id, signal),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
  const pdf = opened.data;
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
        <PdfPage key={index} pdf={pdf} number={index + 1} />
      ))}
    </div>
  );
}

function PdfPage({ pdf, number }: { pdf: PDFDocumentProxy; number: number }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [isNear, setNear] = useState(false);
  const [words, setWords] = useState("");

  useEffect(() => {
    const watched = box.current;
    if (watched === null || isNear) return undefined;
    const observer = new IntersectionObserver(
      (changes) => changes.some(({ isIntersecting }) => isIntersecting) && setNear(true),
      { rootMargin: "400px 0px" },
    );
    observer.observe(watched);
    return () => observer.disconnect();
  }, [isNear]);

  useEffect(() => {
    if (!isNear) return undefined;
    let isOver = false;
    void drawPage(pdf, number, canvas.current, () => isOver)
      .then((text) => isOver || setWords(text))
      .catch(() => isOver || setWords(MEDIA.brokenPage));
    return () => {
      isOver = true;
    };
  }, [pdf, number, isNear]);

  return (
    <div ref={box} className="pdf-page">
      <canvas ref={canvas} role="img" aria-label={MEDIA.page(number, visibleText(words))} />
    </div>
  );
}

async function openPdf(id: string, signal: AbortSignal): Promise<PDFDocumentProxy> {
  const [{ getDocument, GlobalWorkerOptions }, worker] = await Promise.all([
    import("pdfjs-dist"),
    import("pdfjs-dist/build/pdf.worker.mjs?url"),
  ]);
  GlobalWorkerOptions.workerSrc = worker.default;
  const answer = await pagefault().request(`/api/resources/${id}/content`, { signal });
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

async function drawPage(
  pdf: PDFDocumentProxy,
  number: number,
  canvas: HTMLCanvasElement | null,
  isOver: () => boolean,
): Promise<string> {
  const page = await pdf.getPage(number);
  const [, , width] = page.view;
  const scale = (WIDEST_PX / Math.max(1, width ?? 1)) * Math.min(2, window.devicePixelRatio);
  const viewport = page.getViewport({ scale });
  if (canvas === null || isOver()) return "";
  canvas.width = viewport.width;
  canvas.height = viewport.height;
  await page.render({ canvas, viewport, annotationMode: 0 }).promise;
  const { items } = await page.getTextContent();
  return items.map((item) => ("str" in item ? item.str : "")).join(" ");
}

/** Whether the document itself is to blame: it is broken, or locked. */
function isOfPdf(failure: unknown): failure is Error {
  return failure instanceof Error && /Pdf|PDF|Password/.test(failure.name);
}
