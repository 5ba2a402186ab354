/**
 * How the viewer asks the service: the generated client, with the key of this tab.
 *
 * `answered(listSessions({ query, signal }))` gives the body, or throws a `ProblemError`; a 401
 * also makes the shell ask for the key.
 */
import { accessKey, keyWasRefused } from "../access/key";
import { client } from "./generated/client.gen";
import { problemOf, ProblemError } from "./problem";

client.setConfig({ baseUrl: "", auth: () => accessKey() ?? undefined });

interface Outcome<Body> {
  data?: Body | undefined;
  error?: unknown;
  response?: Response | undefined;
}

/** The body of a generated call's answer. */
export async function answered<Body>(request: Promise<Outcome<Body>>): Promise<Body> {
  const key = accessKey();
  const { data, error, response } = await request;
  if (response?.ok === true && data !== undefined) return data;
  throw refused(error, response, key);
}

/** The response to a request that the generated client has no call for, such as a part of a file. */
export async function fetched(path: string, init: RequestInit = {}): Promise<Response> {
  const key = accessKey();
  const headers = new Headers(init.headers);
  if (key !== null) headers.set("Authorization", `Bearer ${key}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers });
  } catch (failure) {
    throw refused(failure, undefined, key);
  }
  if (response.ok) return response;
  throw refused(await response.json().catch(() => undefined), response, key);
}

function refused(failure: unknown, response: Response | undefined, key: string | null): unknown {
  // A request that was given up is no failure to tell about.
  if (failure instanceof DOMException && failure.name === "AbortError") return failure;
  if (response?.status === 401) keyWasRefused(key);
  return new ProblemError(problemOf(failure, response));
}
