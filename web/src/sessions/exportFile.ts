/**
 * Saves an answer of the service as a file; returns its size.
 *
 * Says how much of it has come, and first, before any of it has, how large it is, if the service names that.
 */
export async function exportFile(
  response: Promise<Response>,
  name: string,
  onProgress: (bytes: number, whole: number | undefined) => void,
): Promise<number> {
  const answer = await response;
  const pieces: BlobPart[] = [];
  let size = 0;
  // Of a compressed answer it would be another size.
  const isPlain = !answer.headers.has("content-encoding");
  const whole = (isPlain && Number(answer.headers.get("content-length"))) || undefined;
  onProgress(size, whole);
  const reader = answer.body?.getReader();
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    pieces.push(part.value);
    size += part.value.byteLength;
    onProgress(size, whole);
  }
  // Of no type, so that a document is saved, and never opened in the origin of the viewer.
  const url = URL.createObjectURL(new Blob(pieces, { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to save it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  return size;
}
