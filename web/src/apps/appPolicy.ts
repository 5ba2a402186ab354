/** The hosts that a page of an app may reach: those that its server has declared. */
import type { AppPolicy } from "@pagefault/client";

const APP = "pagefault/app";
/** Origins on the web: no addresses, no names of this machine or network. */
const ORIGIN =
  /^(?:https|wss):\/\/(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}(?::\d{1,5})?$/;
const MOST = 20;
/** Of each of the four lists, so that all fit into the token of a link. */
const MOST_CHARS = 200;

type Members = Readonly<Record<string, unknown>>;

/** The policy of a page in the `_meta` of its part. */
export function appPolicy(meta: Members): Required<AppPolicy> {
  const csp = membersOf(membersOf(meta[APP])["csp"]);
  return {
    connectDomains: originsIn(csp["connectDomains"]),
    resourceDomains: originsIn(csp["resourceDomains"]),
    frameDomains: originsIn(csp["frameDomains"]),
    baseUriDomains: originsIn(csp["baseUriDomains"]),
  };
}

/** All hosts of a policy, each once. */
export function hostsOf(policy: Required<AppPolicy>): readonly string[] {
  return [...new Set(Object.values(policy).flat())].map((origin) => origin.replace(/^\w+:\/\//, ""));
}

function originsIn(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  const origins = value.map((item) => String(item).toLowerCase().replace(/\/$/, ""));
  const declared = origins.filter((origin) => ORIGIN.test(origin)).slice(0, MOST);
  return declared.filter((_, index) => declared.slice(0, index + 1).join("").length <= MOST_CHARS);
}

function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null ? (value as Members) : {};
}
