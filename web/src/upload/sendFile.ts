/**
 * A file sent in one request. `fetch` cannot tell how much has gone out, so this is the older way.
 */
import { accessKey, keyWasRefused } from "../access/key";
import type { ResourceRecord } from "../api/generated";
import { problemOf, ProblemError } from "../api/problem";

export interface Sending {
  /** The resource the file has become; rejects with a `ProblemError`, or `null` if given up. */
  readonly done: Promise<ResourceRecord>;
  readonly giveUp: () => void;
}

/** Send a file to the resources, telling how many of its bytes have gone out. */
export function sendFile(file: File, onProgress: (sentBytes: number) => void): Sending {
  const request = new XMLHttpRequest();
  const key = accessKey();
  const done = new Promise<ResourceRecord>((resolve, reject) => {
    request.upload.onprogress = (event) => onProgress(event.loaded);
    request.onload = () => {
      const answer = answerOf(request);
      if (request.status === 200 || request.status === 201) resolve(answer as ResourceRecord);
      else reject(refusalOf(request, answer, key));
    };
    request.onerror = () => reject(new ProblemError(problemOf(undefined)));
    request.onabort = () => reject(null);
  });
  request.open("POST", `/api/resources?filename=${encodeURIComponent(file.name)}`);
  request.setRequestHeader("Content-Type", file.type || "application/octet-stream");
  if (key !== null) request.setRequestHeader("Authorization", `Bearer ${key}`);
  request.send(file);
  return { done, giveUp: () => request.abort() };
}

function answerOf(request: XMLHttpRequest): unknown {
  try {
    return JSON.parse(request.responseText);
  } catch {
    return undefined;
  }
}

function refusalOf(request: XMLHttpRequest, answer: unknown, key: string | null): ProblemError {
  if (request.status === 401) keyWasRefused(key);
  const headers = { "X-Request-ID": request.getResponseHeader("X-Request-ID") ?? "" };
  return new ProblemError(problemOf(answer, new Response(null, { status: request.status, headers })));
}
