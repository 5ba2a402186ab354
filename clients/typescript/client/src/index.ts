/** The client of Pagefault: `new Pagefault(url)` has all of it. */
export { Pagefault, Tools, type RawRequest } from "./pagefault.ts";
export { Session, Sessions, type FitQuery, type FitResult } from "./sessions.ts";
export {
  Conversation,
  type ProviderMessage,
  type RenderQuery,
  type SessionTurns,
  type TurnOptions,
  type TurnStep,
} from "./conversation.ts";
export { Pages, type PageLevel } from "./pages.ts";
export { ToolResults, type CreateToolResultOptions, type ToolResultDraft } from "./toolResults.ts";
export { Aliases, Resources } from "./resources.ts";
export { ResourceReader } from "./reader.ts";
export type { ByteRange, ContentOptions } from "./content.ts";
export type { UploadOptions, UploadSource } from "./uploads.ts";
export type { EventOptions, StreamState } from "./events.ts";
export type { SessionName, StoreOptions, Target, ToolCaller, WrapOptions } from "./wrap.ts";
export { List, type Slice } from "./lists.ts";
export { resourceId } from "./references.ts";
export type {
  ApiPromise,
  ClientOptions,
  Conditions,
  Provided,
  RequestHeaders,
  RequestOptions,
  WithResponse,
} from "./transport.ts";
export * from "./errors.ts";
export { UnstorableError } from "./values.ts";
export type * from "./generated/types.gen.ts";
