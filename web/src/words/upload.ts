/** What the view of uploads says. */
import { counted, numberText } from "@pagefault/react";

import type { UploadState } from "../upload/uploads";

export const UPLOAD = {
  title: "Upload",
  clear: "Clear the list",
  files: "Files",
  drop: "Drop files here, or choose them:",
  note: "Each becomes a resource, kept once however often it comes. One is sent after the other.",
  cancel: "Cancel",
  again: "Send again",
  reference: "Reference of the resource",
  copy: "Copy",
  copied: "Copied",
  open: "Open",
  states: {
    waiting: "waiting",
    sending: "sending",
    kept: "kept",
    refused: "refused",
    "given-up": "given up",
  } satisfies Record<UploadState["is"], string>,
  progress: (name: string) => `Progress of ${name}`,
  beingKept: "being kept …",
  kept: (kept: number, all: number, refused: number) => {
    const failures = refused > 0 ? `, ${numberText(refused)} failed` : "";
    return `${numberText(kept)} of ${counted(all, "file")} kept${failures}`;
  },
};
