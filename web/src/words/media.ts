/** What the views of media say. */
import { counted, numberText } from "@pagefault/react";

export const MEDIA = {
  pdf: "the document",
  pages: (count: number) => counted(count, "page"),
  page: (number: number, words: string) => `Page ${numberText(number)}: ${words}`,
  brokenPage: "This page cannot be drawn.",
  brokenPdf: (reason: string) => `This document cannot be shown: ${reason}`,
  largePdf: "it is too large to be drawn here. Download it.",
  compare: "What a model gets of it",
  target: "Model",
  same: "The same image.",
  reduced: "A reduced copy:",
  lost: "It is not sent.",
  loading: "what a model gets",
};
