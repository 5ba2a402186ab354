/** Sending with progress in a browser: `fetch` cannot tell how much has gone out. */

/** A `fetch` that tells how many bytes of its body have gone out; undefined where there is none. */
export function fetchWithProgress(onSent: (bytes: number) => void): typeof fetch | undefined {
  if (typeof XMLHttpRequest === "undefined") return undefined;
  return (input, init = {}) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      const signal = init.signal ?? undefined;
      const giveUp = () => request.abort();
      request.upload.onprogress = (event) => onSent(event.loaded);
      request.onload = () => resolve(responseOf(request));
      request.onerror = () => reject(new TypeError("The connection failed"));
      request.onabort = () => reject(signal?.reason);
      request.onloadend = () => signal?.removeEventListener("abort", giveUp);
      signal?.addEventListener("abort", giveUp);
      request.open(init.method ?? "GET", String(input));
      request.responseType = "arraybuffer";
      new Headers(init.headers).forEach((value, name) => request.setRequestHeader(name, value));
      request.send(init.body as XMLHttpRequestBodyInit);
    });
}

function responseOf(request: XMLHttpRequest): Response {
  const headers = new Headers();
  for (const line of request.getAllResponseHeaders().trim().split("\r\n")) {
    const [name, ...value] = line.split(": ");
    if (name) headers.set(name, value.join(": "));
  }
  const body = request.status === 204 ? null : (request.response as ArrayBuffer);
  return new Response(body, { status: request.status, headers });
}
