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
import { access, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";

import { GoneError, NotFoundError, Pagefault } from "@pagefault/client";

// What goes wrong is said in a line.
process.on("uncaughtException", ({ name, message }) => {
  console.error(`${name}: ${message}`);
  if (name === "APIConnectionError") console.error("Start Pagefault, or name its URL in PAGEFAULT_URL.");
  if (name === "AuthenticationError") console.error("Set PAGEFAULT_API_KEY to a key of it.");
  process.exit(1);
});

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: "boolean", short: "h" } },
});
const [path] = positionals;
if (values.help || path === undefined) {
  console.log(`node upload.ts FILE

PAGEFAULT_URL and PAGEFAULT_API_KEY are those of Pagefault.`);
  process.exit(values.help ? 0 : 2);
}
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

// `openAsBlob` says of a missing file that it cannot be made a blob.
await access(path);
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
