// Writes a file with `.br` and one with `.gz` beside each text of the build from 1 KiB on. The service sends them with
// `Content-Encoding`, so nothing is compressed while a browser waits.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

const FOLDER = process.argv[2] ?? "dist";
const TEXTS = /\.(?:css|html|js|json|map|mjs|svg|wasm)$/;
const LEAST_BYTES = 1024;

for (const name of readdirSync(FOLDER, { recursive: true })) {
  if (!TEXTS.test(name)) continue;
  const path = join(FOLDER, name);
  const body = readFileSync(path);
  if (body.length < LEAST_BYTES) continue;
  writeFileSync(`${path}.br`, brotliCompressSync(body));
  writeFileSync(`${path}.gz`, gzipSync(body, { level: 9 }));
}
