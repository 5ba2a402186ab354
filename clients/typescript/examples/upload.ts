// Uploads a file, however large, and prints a link to it.
//
//     node upload.ts talk.mp4
//
// It needs Node.js 22.18 or later, and @pagefault/client beside it; from a clone of Pagefault:
//
//     make clients-typescript
//     .venv/bin/node clients/typescript/examples/upload.ts talk.mp4
//
// Started again after it was stopped, it goes on where it was.

import { openAsBlob } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import process from "node:process";

import { GoneError, NotFoundError, Pagefault } from "@pagefault/client";

const path = process.argv[2];
if (path === undefined) throw new Error("Name a file.");
const pf = new Pagefault();
const note = `${path}.upload`;

async function send(file: Blob, uploadId: string | undefined) {
  return pf.resources.upload(file, {
    filename: basename(path!),
    uploadId,
    onStart: (id) => void writeFile(note, id),
    onProgress: ({ sent }) => console.error(`${Math.floor((100 * sent) / (file.size || 1))} %`),
  });
}

const file = await openAsBlob(path);
const begun = await readFile(note, "utf8").catch(() => undefined);
const resource = await send(file, begun).catch((failure: unknown) => {
  // What was begun long ago is no longer kept.
  if (begun !== undefined && (failure instanceof NotFoundError || failure instanceof GoneError))
    return send(file, undefined);
  throw failure;
});
await rm(note, { force: true });
console.log(resource.uri);
console.log((await pf.resources.signedUrl(resource.uri)).url);
