/**
 * The page of an MCP App beside the result of its tool.
 *
 * It comes from the content host, with the policy that its server has declared, and runs in a sandbox
 * without an origin. A page that may reach other hosts is opened by a click.
 */
import { APIStatusError, type FilePart, resourceId } from "@pagefault/client";
import { Failure, visibleName } from "@pagefault/react";
import { useQuery } from "@tanstack/react-query";
import { useContext, useEffect, useMemo, useRef, useState } from "react";

import { pagefault } from "../api/client";
import { ToolResultContext } from "../media/BesideImage";
import { Loading } from "../shared/states";
import { APPS } from "../words/apps";
import { AppCallContext } from "./appCall";
import { type AppCall, answersTo, heightIn } from "./appHost";
import { appPolicy, hostsOf } from "./appPolicy";
import "./apps.css";

const USUAL_PX = 320;

export function AppView({ part }: { part: FilePart }) {
  const policy = useMemo(() => appPolicy(part._meta ?? {}), [part]);
  const hosts = useMemo(() => hostsOf(policy), [policy]);
  const [isOpen, setOpen] = useState(hosts.length === 0);
  const name = visibleName(part.uri ?? part.filename ?? "");
  return (
    <div className="app">
      <p className="small quiet">{APPS.page(name)}</p>
      {isOpen ? (
        <OpenApp part={part} policy={policy} name={name} />
      ) : (
        <p className="row">
          <button type="button" className="button" onClick={() => setOpen(true)}>
            {APPS.open}
          </button>
          <span className="small">{APPS.hosts(hosts.map(visibleName).join(", "))}</span>
        </p>
      )}
    </div>
  );
}

interface OpenAppProps {
  readonly part: FilePart;
  readonly policy: ReturnType<typeof appPolicy>;
  readonly name: string;
}

function OpenApp({ part, policy, name }: OpenAppProps) {
  const id = resourceId(part.data) ?? "";
  const resultId = useContext(ToolResultContext)?.id ?? "";
  const { tool, input } = useContext(AppCallContext);
  const loaded = useQuery({
    queryKey: ["app", resultId, id],
    queryFn: async ({ signal }) => {
      const client = pagefault();
      const query = { target: "mcp", audience: "everyone" };
      const path = `/api/tool-results/${resultId}/render`;
      const { url } = await client.resources.signedUrl(id, { app: policy });
      const answer = await client.request(path, { query, signal });
      const { messages } = (await answer.json()) as { messages: readonly unknown[] };
      return { url, result: messages[0] };
    },
    // A new link would load the page again.
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
  const call = useMemo(
    () => ({ tool, input, result: loaded.data?.result }),
    [tool, input, loaded.data],
  );
  if (loaded.isError) {
    const { error } = loaded;
    const isWithoutHost = error instanceof APIStatusError && error.code === "no-content-host";
    return isWithoutHost ? <p className="quiet">{APPS.noHost}</p> : <Failure failure={error} />;
  }
  if (loaded.data === undefined) return <Loading what={APPS.what} />;
  return <AppFrame url={loaded.data.url} name={name} call={call} />;
}

interface AppFrameProps {
  readonly url: string;
  readonly name: string;
  readonly call: AppCall;
}

function AppFrame({ url, name, call }: AppFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(USUAL_PX);
  useEffect(() => {
    const listen = ({ source, data }: MessageEvent<unknown>) => {
      const app = frame.current?.contentWindow;
      if (app == null || source !== app) return;
      setHeight((before) => heightIn(data) ?? before);
      // The page has no origin that could be named; the policy of this one keeps others out of it.
      for (const message of answersTo(data, call)) app.postMessage(message, "*");
    };
    window.addEventListener("message", listen);
    return () => window.removeEventListener("message", listen);
  }, [call]);
  return (
    <iframe
      ref={frame}
      src={url}
      title={APPS.page(name)}
      sandbox="allow-scripts"
      referrerPolicy="no-referrer"
      style={{ height }}
    />
  );
}
