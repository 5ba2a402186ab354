/**
 * What the blocks of a message show, whatever model's dialect it is written in.
 *
 * Text, media and calls are recognised in the blocks of OpenAI, Anthropic, Gemini and Bedrock; a
 * block of any other kind is shown as JSON, whole. JSON is taken from the text the message was read
 * from, so that its numbers keep their digits. An entry with a `dialect` has its message in a member.
 */
import { itemsOf, memberAt } from "@pagefault/client/json";
import type { Medium } from "@pagefault/react";

import { ENTRY } from "../words/timeline";

export type ShownBlock =
  | { kind: "text"; text: string }
  | { kind: "medium"; medium: Medium }
  | { kind: "reasoning"; text: string }
  | { kind: "call"; id: string | undefined; name: string; source: string | undefined }
  | { kind: "result"; blocks: readonly ShownBlock[]; isError: boolean }
  | { kind: "other"; title: string; source: string };

export interface ShownCall {
  readonly id: string | undefined;
  readonly name: string;
  /** The JSON of the arguments. */
  readonly source: string | undefined;
}

type Members = Readonly<Record<string, unknown>>;

const CALLS = ["tool_use", "tool-call", "function_call", "custom_tool_call"];
const OUTPUTS = ["function_call_output", "custom_tool_call_output"];

/** The blocks of a message, in whichever member its dialect has them. */
export function blocksOfMessage(entry: Members, source: string): readonly ShownBlock[] {
  const [message, json] = messageIn(entry, source);
  // Gemini calls the blocks of a message its parts.
  const member = "parts" in message && message["content"] == null ? "parts" : "content";
  const content = message[member];
  if (membersOf(content) !== undefined) return [shown(content, memberAt(json, member) ?? "null")];
  const isBlock = message !== entry && !(member in message) && !("tool_calls" in message);
  return isBlock ? [shown(message, json)] : blocksOf(content, memberAt(json, member));
}

/** The message of an entry, out of what its dialect has around it, and its JSON. */
function messageIn(entry: Members, source: string): readonly [Members, string] {
  if (typeof entry["dialect"] !== "string") return [entry, source];
  const message = membersOf(entry["message"]) ?? {};
  const json = memberAt(source, "message") ?? "{}";
  for (const name of ["data", "kwargs", "content"]) {
    const inner = membersOf(message[name]);
    if (inner !== undefined && ("content" in inner || "parts" in inner)) {
      return [inner, memberAt(json, name) ?? "{}"];
    }
  }
  return [message, json];
}

/** The calls of a message: those among its blocks, then those that are listed beside them. */
export function callsOf(entry: Members, source: string): readonly ShownCall[] {
  const among = blocksOfMessage(entry, source).filter((block) => block.kind === "call");
  const [, json] = messageIn(entry, source);
  const listed = itemsOf(memberAt(json, "tool_calls") ?? "[]").map(listedCall);
  const legacy = memberAt(json, "function_call");
  const isListed = legacy?.startsWith("{") === true;
  return [...among, ...listed, ...(isListed ? [listedCall(legacy)] : [])];
}

function listedCall(call: string): ShownCall {
  const called = memberAt(call, "function") ?? memberAt(call, "custom") ?? call;
  return {
    id: text(memberAt(call, "id")),
    name: text(memberAt(called, "name")) ?? "",
    source: memberAt(called, "arguments") ?? memberAt(called, "input") ?? memberAt(called, "args"),
  };
}

function text(source: string | undefined): string | undefined {
  return source === undefined ? undefined : words(JSON.parse(source) as unknown);
}

/** The blocks of a message's content: a text, a list of blocks, or null; `source` is its JSON. */
export function blocksOf(content: unknown, source = "null"): readonly ShownBlock[] {
  if (content === null || content === undefined || content === "") return [];
  if (typeof content === "string") return [{ kind: "text", text: content }];
  if (!Array.isArray(content)) return [other(content, source)];
  const sources = itemsOf(source);
  return content.map((block: unknown, index) => shown(block, sources[index] ?? "null"));
}

function shown(block: unknown, source: string): ShownBlock {
  if (typeof block === "string") return { kind: "text", text: block };
  const members = membersOf(block);
  if (members === undefined) return other(block, source);
  const medium = mediumOf(members);
  if (medium !== undefined) return { kind: "medium", medium };
  return (
    callOf(members, source) ?? resultOf(members, source) ?? textOf(members) ?? other(block, source)
  );
}

function textOf(block: Members): ShownBlock | undefined {
  const thought = block["thinking"] ?? (block["thought"] === true ? block["text"] : undefined);
  if (typeof thought === "string") return { kind: "reasoning", text: thought };
  const text = block["text"] ?? block["refusal"];
  return typeof text === "string" ? { kind: "text", text } : undefined;
}

function callOf(block: Members, source: string): ShownBlock | undefined {
  const holder = ["functionCall", "function_call", "toolUse"].find((name) => name in block);
  const call = (holder === undefined ? block : membersOf(block[holder])) ?? {};
  const isCall = holder !== undefined || CALLS.includes(String(block["type"]));
  const name = call["name"] ?? call["toolName"];
  if (!isCall || typeof name !== "string") return undefined;
  const callSource = holder === undefined ? source : (memberAt(source, holder) ?? "{}");
  const input = ["input", "args", "arguments"].flatMap((each) => memberAt(callSource, each) ?? [])[0];
  const id = words(call["call_id"] ?? call["id"] ?? call["toolUseId"] ?? call["toolCallId"]);
  return { kind: "call", id, name, source: input };
}

function resultOf(block: Members, source: string): ShownBlock | undefined {
  const result = membersOf(block["toolResult"]) ?? block;
  const isOutput = OUTPUTS.includes(String(block["type"]));
  if (result === block && block["type"] !== "tool_result" && !isOutput) return undefined;
  const isError = result["is_error"] === true || result["status"] === "error";
  const member = isOutput ? "output" : "content";
  const path = result === block ? [member] : ["toolResult", member];
  return { kind: "result", blocks: blocksOf(result[member], memberAt(source, ...path)), isError };
}

function mediumOf(block: Members): Medium | undefined {
  return openAiMedium(block) ?? sourceMedium(block) ?? geminiMedium(block) ?? bedrockMedium(block);
}

function openAiMedium(block: Members): Medium | undefined {
  const image = block["image_url"];
  const imageUrl = typeof image === "string" ? image : membersOf(image)?.["url"];
  if (typeof imageUrl === "string") return { reference: imageUrl };
  const audio = membersOf(block["input_audio"]);
  if (typeof audio?.["data"] === "string") {
    return { reference: audio["data"], mimeType: `audio/${words(audio["format"]) ?? "wav"}` };
  }
  const file = membersOf(block["file"]) ?? block;
  if (typeof file["file_data"] !== "string") return undefined;
  return { reference: file["file_data"], filename: words(file["filename"]) };
}

/** Anthropic's `source`, and the plain `{type, data, mimeType}` of MCP and LangChain. */
function sourceMedium(block: Members): Medium | undefined {
  const source = membersOf(block["source"]);
  const holder = source ?? block;
  const isMedium = ["image", "audio", "video", "file", "document"].includes(String(block["type"]));
  const reference = holder["data"] ?? holder["url"] ?? holder["image"] ?? holder["base64"];
  if (!isMedium || typeof reference !== "string") return undefined;
  const mimeType = words(holder["media_type"] ?? holder["mimeType"] ?? holder["mime_type"]);
  if (mimeType?.startsWith("text/") === true && source?.["type"] === "text") return undefined;
  return { reference, mimeType, filename: words(block["title"] ?? block["filename"]) };
}

function geminiMedium(block: Members): Medium | undefined {
  const inline = membersOf(block["inlineData"] ?? block["inline_data"]);
  const file = membersOf(block["fileData"] ?? block["file_data"]);
  const reference = inline?.["data"] ?? file?.["fileUri"] ?? file?.["file_uri"];
  if (typeof reference !== "string") return undefined;
  const holder = inline ?? file ?? {};
  return { reference, mimeType: words(holder["mimeType"] ?? holder["mime_type"]) };
}

function bedrockMedium(block: Members): Medium | undefined {
  for (const [family, type] of [
    ["image", "image"],
    ["audio", "audio"],
    ["video", "video"],
    ["document", "application"],
  ] as const) {
    const holder = membersOf(block[family]);
    const bytes = membersOf(holder?.["source"])?.["bytes"];
    if (typeof bytes !== "string") continue;
    return {
      reference: bytes,
      mimeType: `${type}/${words(holder?.["format"]) ?? "octet-stream"}`,
      filename: words(holder?.["name"]),
    };
  }
  return undefined;
}

function other(value: unknown, source: string): ShownBlock {
  const type = membersOf(value)?.["type"];
  return { kind: "other", title: typeof type === "string" ? type : ENTRY.block, source };
}

function membersOf(value: unknown): Members | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Members)
    : undefined;
}

function words(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
