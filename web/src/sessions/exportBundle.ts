/** Saves a session's bundle as a file, and says how much of it has come; returns its size. */
import { pagefault } from "../api/client";

export async function exportBundle(
  sessionId: string,
  onProgress: (bytes: number) => void,
): Promise<number> {
  const answer = await pagefault().session(sessionId).bundle();
  const pieces: BlobPart[] = [];
  let size = 0;
  const reader = answer.body?.getReader();
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    pieces.push(part.value);
    size += part.value.byteLength;
    onProgress(size);
  }
  const url = URL.createObjectURL(new Blob(pieces, { type: "application/zip" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${sessionId}.zip`;
  link.click();
  // The browser has begun to save it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  return size;
}
