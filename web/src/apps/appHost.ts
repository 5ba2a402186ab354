/**
 * The host side of MCP Apps: an app gets the input and the result of its call, and nothing else.
 *
 * Source: extension of MCP `io.modelcontextprotocol/ui`, "MCP Apps", 2026-01-26.
 */
import { isDark } from "../shell/colourScheme";
import { APPS } from "../words/apps";

/** The call whose result an app shows. */
export interface AppCall {
  readonly tool: string;
  readonly input: unknown;
  /** The `CallToolResult`. */
  readonly result: unknown;
}

interface Message {
  readonly jsonrpc: unknown;
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly protocolVersion?: unknown; readonly height?: unknown };
}

const VERSIONS = ["2026-01-26", "2025-11-21"];
const METHOD_NOT_FOUND = -32601;
const LEAST_PX = 80;
const MOST_PX = 1_200;

/** The messages that answer one of an app; none for anything else. */
export function answersTo(data: unknown, call: AppCall): readonly object[] {
  if (!isMessage(data) || typeof data.method !== "string") return [];
  if (typeof data.id === "string" || typeof data.id === "number") {
    return [{ jsonrpc: "2.0", id: data.id, ...answerOf(data, call.tool) }];
  }
  if (data.method !== "ui/notifications/initialized") return [];
  return [
    notification("ui/notifications/tool-input", { arguments: call.input }),
    notification("ui/notifications/tool-result", call.result),
  ];
}

/** The height in pixels that an app asks for, within limits; null if the message is another one. */
export function heightIn(data: unknown): number | null {
  if (!isMessage(data) || data.method !== "ui/notifications/size-changed") return null;
  const height = data.params?.height;
  if (typeof height !== "number" || !Number.isFinite(height)) return null;
  return Math.min(Math.max(Math.ceil(height), LEAST_PX), MOST_PX);
}

function answerOf({ method, params }: Message, tool: string): object {
  if (method === "ping") return { result: {} };
  if (method !== "ui/initialize") {
    return { error: { code: METHOD_NOT_FOUND, message: APPS.refused } };
  }
  const asked = VERSIONS.find((version) => version === params?.protocolVersion);
  return {
    result: {
      protocolVersion: asked ?? VERSIONS[0],
      hostInfo: { name: "Pagefault", version: "1" },
      hostCapabilities: {},
      hostContext: {
        toolInfo: { tool: { name: tool, inputSchema: { type: "object" } } },
        theme: isDark() ? "dark" : "light",
        displayMode: "inline",
        availableDisplayModes: ["inline"],
        containerDimensions: { maxHeight: MOST_PX },
        locale: navigator.language,
        timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        platform: "web",
      },
    },
  };
}

function notification(method: string, params: unknown) {
  return { jsonrpc: "2.0", method, params };
}

function isMessage(data: unknown): data is Message {
  return typeof data === "object" && data !== null && (data as Message).jsonrpc === "2.0";
}
