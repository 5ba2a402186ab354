// This file is generated; `npm run generate` writes it anew.
// @ts-nocheck

export type ClientOptions = {
    baseUrl: `${string}://${string}` | (string & {});
};

/**
 * AliasPage
 *
 * A page of aliases, newest first.
 */
export type AliasPage = {
    /**
     * Items
     */
    items: Array<AliasRecord>;
    /**
     * Nextcursor
     */
    nextCursor: string | null;
};

/**
 * AliasRecord
 *
 * An alias, the resource it names, and since when it names that one.
 */
export type AliasRecord = {
    /**
     * Alias
     */
    alias: string;
    /**
     * Uri
     */
    uri: string;
    /**
     * Createdat
     */
    createdAt: string;
    resource: ResourceDescriptor;
};

/**
 * AnswerEntry
 *
 * The answer of an interaction, set after it.
 */
export type AnswerEntry = {
    /**
     * Seq
     */
    seq: number;
    /**
     * Id
     */
    id: string;
    /**
     * Created At
     */
    created_at: string;
    /**
     * Interaction Id
     */
    interaction_id: string;
    output: ChatMessage;
};

/**
 * AttachedFile
 *
 * A file that was stored before: its `blob:` URI, bare id or alias, and its type.
 *
 * Source: spec 001, "AttachedFile".
 */
export type AttachedFile = {
    /**
     * Id
     */
    id: string;
    /**
     * Mime Type
     */
    mime_type?: string | null;
};

/**
 * Attachment
 *
 * An attached file: the id the client gave, and the resource it is.
 */
export type Attachment = {
    /**
     * Id
     */
    id: string;
    /**
     * Status
     *
     * `unknown` where nobody knew the id when the interaction was written, `missing` where the store has lost the record of the resource.
     */
    status: 'available' | 'missing' | 'unknown';
    resource?: ResourceDescriptor | null;
};

export type Audience = 'assistant' | 'user';

/**
 * AudioContent
 *
 * What is said in a recording.
 */
export type AudioContent = {
    /**
     * Type
     */
    type: 'audio';
    /**
     * Transcript
     */
    transcript: string | null;
    /**
     * Timestamps
     */
    timestamps: Array<unknown> | null;
    /**
     * Duration Seconds
     */
    duration_seconds: number | null;
};

/**
 * ChatMessage
 *
 * What was said, and by whom; the answer of an interaction. Source: spec 001, "Interaction".
 */
export type ChatMessage = {
    role: Role;
    /**
     * Content
     */
    content: string;
    /**
     * Name
     */
    name?: string | null;
    /**
     * Tool Call Id
     */
    tool_call_id?: string | null;
    /**
     * Timestamp
     *
     * RFC 3339; without an offset it is UTC. Seconds since 1970 are taken too.
     */
    timestamp?: string;
};

/**
 * ContentPart
 *
 * A piece of a user's turn: text, files, or both. Source: spec 001, "ContentPart".
 */
export type ContentPart = {
    /**
     * Text
     */
    text?: string | null;
    /**
     * Attachments
     */
    attachments?: Array<AttachedFile>;
};

/**
 * CreatedPages
 *
 * Pages that were created together, in the order they were given.
 */
export type CreatedPages = {
    /**
     * Items
     */
    items: Array<PageSummary>;
};

/**
 * DeletionReceipt
 *
 * What the deletion of a session removed. Bytes of deleted resources go with the next sweep.
 */
export type DeletionReceipt = {
    /**
     * Id
     */
    id: string;
    deleted: EntryCounts;
    /**
     * Resources
     */
    resources: Array<ReleasedResource>;
};

/**
 * Diagnosis
 *
 * What is wrong with a history, and the history healed.
 */
export type Diagnosis = {
    /**
     * Target
     */
    target: string;
    /**
     * Profile
     *
     * Target and version of its limits and rules.
     */
    profile: string;
    /**
     * Dialect
     *
     * What most of the history is written in, if that shows.
     */
    dialect: string | null;
    /**
     * Findings
     *
     * In the order of the messages; empty if all is well.
     */
    findings: Array<Finding>;
    /**
     * Loss
     *
     * What the healed history lacks, or has that nobody said.
     */
    loss: Array<LossEntry>;
    /**
     * Tokensest
     *
     * About how many tokens the healed one costs.
     */
    tokensEst: number;
    /**
     * System
     *
     * With `apply`: what the system said, where that is apart.
     */
    system?: string | null;
    /**
     * Messages
     *
     * With `apply`: the healed history, to be sent to the provider.
     */
    messages?: Array<{
        [key: string]: unknown;
    }> | null;
};

export type Embedding = Array<number>;

/**
 * EntryCounts
 *
 * How many entries of each kind a history has, and how many pages belong to it.
 */
export type EntryCounts = {
    /**
     * Toolresults
     */
    toolResults: number;
    /**
     * Pagefaults
     */
    pageFaults: number;
    /**
     * Messages
     */
    messages: number;
    /**
     * Interactions
     */
    interactions: number;
    /**
     * Answers
     */
    answers: number;
    /**
     * Pages
     */
    pages: number;
};

/**
 * EventTicket
 *
 * What a browser shows in `?ticket=` instead of a key, to begin listening until it expires.
 */
export type EventTicket = {
    /**
     * Ticket
     */
    ticket: string;
    /**
     * Expiresat
     */
    expiresAt: string;
};

/**
 * FilePart
 *
 * Audio, video or any other file: `@blob:…` or an https URL.
 */
export type FilePart = {
    /**
     * Annotations
     *
     * MCP annotations (audience, priority), kept.
     */
    annotations?: {
        [key: string]: unknown;
    } | null;
    /**
     * Uri
     *
     * Where the tool says the part is from.
     */
    uri?: string | null;
    /**
     * Name
     */
    name?: string | null;
    /**
     * Meta
     */
    _meta?: {
        [key: string]: unknown;
    } | null;
    /**
     * Type
     */
    type: 'file';
    /**
     * Data
     */
    data: string;
    /**
     * Mimetype
     */
    mimeType: string;
    /**
     * Mediakind
     */
    mediaKind: 'audio' | 'video' | 'binary';
    /**
     * Filename
     */
    filename?: string | null;
};

/**
 * Finding
 *
 * One thing that is wrong with a history.
 */
export type Finding = {
    /**
     * Seq
     *
     * The entry of the session; absent outside of one.
     */
    seq?: number | null;
    /**
     * Pointer
     *
     * JSON pointer into what was sent, or into the entry of the session.
     */
    pointer: string;
    /**
     * Rule
     *
     * Stable; docs/doctor.md has all.
     */
    rule: string;
    /**
     * Demands
     *
     * What the rule demands, for people.
     */
    demands: string;
    /**
     * Limit
     *
     * What is allowed, where that is a number or a list.
     */
    limit?: number | string | null;
    /**
     * Actual
     *
     * What was found.
     */
    actual?: number | string | null;
    /**
     * Fix
     *
     * What the healed history has instead.
     */
    fix: string;
    /**
     * Source
     *
     * Who demands it.
     */
    source: string;
};

/**
 * Frontier
 *
 * What of a history is shown at a smaller level, in the order in which it is evicted.
 *
 * Each number is the `seq` up to which one kind of thing is. It never becomes smaller.
 * `orphans` are answers that were shown behind a call that nobody had recorded; each keeps it,
 * since what was shown is not changed.
 *
 * Source: `context`, "A prefix that stays".
 */
export type Frontier = {
    /**
     * Toolmedia
     *
     * Media in results of tools.
     */
    toolMedia?: number;
    /**
     * Saidmedia
     *
     * Media in what people said.
     */
    saidMedia?: number;
    /**
     * Tooltexts
     *
     * Long texts in results of tools.
     */
    toolTexts?: number;
    /**
     * Toolresults
     *
     * Results of tools, whole.
     */
    toolResults?: number;
    /**
     * Saidtexts
     *
     * Long texts in what people said.
     */
    saidTexts?: number;
    /**
     * Orphans
     *
     * The `seq` of answers that keep the call that was written for them.
     */
    orphans?: Array<number>;
};

/**
 * Health
 *
 * The process answers.
 */
export type Health = {
    /**
     * Status
     */
    status: 'ok';
};

export type HistoryEntry = ToolMessage | PageFaultMessage | InteractionEntry | AnswerEntry | HistoryMessage;

/**
 * HistoryMessage
 *
 * A message that a client appended, as it was written, with the number it took.
 *
 * Source: spec 000, "Extend `HistoryMessage.content` type".
 */
export type HistoryMessage = {
    /**
     * Seq
     */
    seq: number;
    /**
     * Id
     */
    id: string;
    /**
     * Created At
     */
    created_at: string;
    /**
     * Role
     */
    role: string;
    /**
     * Content
     */
    content?: string | Array<{
        [key: string]: unknown;
    }> | null;
    /**
     * Name
     */
    name?: string | null;
    /**
     * Tool Calls
     */
    tool_calls?: Array<{
        [key: string]: unknown;
    }> | null;
    /**
     * Tool Call Id
     */
    tool_call_id?: string | null;
    [key: string]: unknown;
};

/**
 * ImageContent
 *
 * An image: by `url` (or `@blob:` reference) or as plain `base64`, or only its caption.
 */
export type ImageContent = {
    /**
     * Type
     */
    type: 'image';
    /**
     * Caption
     */
    caption: string | null;
    /**
     * Url
     */
    url: string | null;
    /**
     * Base64
     */
    base64: string | null;
    embedding: Embedding | null;
};

export type ImageDetail = 'low' | 'high' | 'auto';

/**
 * ImagePart
 *
 * An image: `@blob:…`, an https URL, or plain base64 below the inline limit.
 */
export type ImagePart = {
    /**
     * Annotations
     *
     * MCP annotations (audience, priority), kept.
     */
    annotations?: {
        [key: string]: unknown;
    } | null;
    /**
     * Uri
     *
     * Where the tool says the part is from.
     */
    uri?: string | null;
    /**
     * Name
     */
    name?: string | null;
    /**
     * Meta
     */
    _meta?: {
        [key: string]: unknown;
    } | null;
    /**
     * Type
     */
    type: 'image';
    /**
     * Image
     */
    image: string;
    /**
     * Mimetype
     */
    mimeType: string;
};

/**
 * ImageUrl
 *
 * Where the image is: an address, a data URI, or a `@blob:` reference.
 */
export type ImageUrl = {
    /**
     * Url
     */
    url: string;
    /**
     * Detail
     */
    detail: 'low' | 'high' | 'auto';
};

/**
 * ImageUrlBlock
 *
 * An image as a model takes it.
 */
export type ImageUrlBlock = {
    /**
     * Type
     */
    type: 'image_url';
    image_url: ImageUrl;
};

export type InputKind = 'multimodal' | 'text' | 'dict';

/**
 * Interaction
 *
 * One cycle of a user's request and the assistant's response.
 *
 * An `input` that is not exactly a `MultiModalInput` is a legacy object, and none of its keys is
 * lost. Source: spec 001, "Session Interaction".
 */
export type Interaction = {
    /**
     * Input
     */
    input: MultiModalInput | string | {
        [key: string]: unknown;
    };
    output?: ChatMessage | null;
    /**
     * Timestamp
     *
     * RFC 3339; without an offset it is UTC. Seconds since 1970 are taken too.
     */
    timestamp?: string;
};

/**
 * InteractionEntry
 *
 * An interaction as it was written; an answer that was set later is an entry of its own.
 */
export type InteractionEntry = {
    /**
     * Seq
     */
    seq: number;
    /**
     * Id
     */
    id: string;
    /**
     * Created At
     */
    created_at: string;
    input_kind: InputKind;
    /**
     * Bound
     *
     * The URIs of resources by the aliases they were attached by, and null by the id of a resource that was not there; absent where there is neither.
     */
    bound?: {
        [key: string]: string | null;
    } | null;
    interaction: Interaction;
};

/**
 * InteractionPage
 *
 * A page of a session's interactions, in the order of `seq`.
 */
export type InteractionPage = {
    /**
     * Items
     */
    items: Array<InteractionRecord>;
    /**
     * Nextcursor
     */
    nextCursor: string | null;
};

/**
 * InteractionRecord
 *
 * A stored interaction with its answer, and each attached file once, in order of first use.
 */
export type InteractionRecord = {
    /**
     * Id
     */
    id: string;
    /**
     * Session Id
     */
    session_id: string;
    /**
     * Seq
     */
    seq: number;
    input_kind: InputKind;
    /**
     * Attachments
     */
    attachments: Array<Attachment>;
    interaction: Interaction;
};

/**
 * JsonKey
 *
 * A member of a value, and how to ask for it.
 */
export type JsonKey = {
    /**
     * Key
     */
    key: string | number;
    /**
     * Pointer
     */
    pointer: string;
    /**
     * Type
     */
    type: 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';
    /**
     * Length
     */
    length?: number | null;
};

/**
 * JsonShape
 *
 * What a value that is too large looks like, and how to go deeper.
 */
export type JsonShape = {
    /**
     * Type
     */
    type: 'number' | 'string' | 'array' | 'object';
    /**
     * Size
     *
     * Bytes of the value as compact JSON.
     */
    size: number;
    /**
     * Length
     *
     * Members, items or characters.
     */
    length?: number | null;
    /**
     * Keys
     *
     * The first members, 200 at most.
     */
    keys?: Array<JsonKey> | null;
    /**
     * Start
     *
     * The beginning of a long string.
     */
    start?: string | null;
    /**
     * Hint
     */
    hint: string;
};

/**
 * JsonValueAt
 *
 * The value at a JSON pointer.
 */
export type JsonValueAt = {
    /**
     * Uri
     */
    uri: string;
    /**
     * Mimetype
     */
    mimeType: string;
    /**
     * Pointer
     */
    pointer: string;
    /**
     * Truncated
     *
     * Whether the value has more than 64 KiB.
     */
    truncated: boolean;
    shape: JsonShape | null;
    /**
     * Value
     *
     * Null where `truncated` is true.
     */
    value: unknown;
};

/**
 * Level
 *
 * How much of a page is shown; a higher level is never longer.
 */
export type Level = 0 | 1 | 2 | 3;

/**
 * LossEntry
 *
 * One thing that a rendering left out, changed or invented.
 *
 * A step down the ladder, an omission, or a call or an answer that nobody recorded.
 */
export type LossEntry = {
    /**
     * Seq
     *
     * The entry of the session; absent outside of one.
     */
    seq?: number | null;
    /**
     * Pointer
     *
     * JSON pointer into the record, or the entry of the session's history.
     */
    pointer: string;
    /**
     * From
     */
    from: string;
    /**
     * To
     */
    to: string;
    /**
     * Code
     *
     * Stable.
     */
    code: string;
    /**
     * Reason
     *
     * For people.
     */
    reason: string;
    /**
     * Restore
     *
     * How to get at what was left out.
     */
    restore: string;
};

/**
 * ManifestPage
 *
 * A page as a manifest names it.
 */
export type ManifestPage = {
    /**
     * Page Id
     */
    page_id: string;
    modality: Modality;
    page_type: PageType;
    /**
     * Levels
     */
    levels: Array<string>;
    /**
     * Hint
     */
    hint: string | null;
    /**
     * Importance
     */
    importance: number;
    /**
     * Pinned
     */
    pinned: boolean;
    /**
     * Size Tokens
     */
    size_tokens: number;
    /**
     * Line
     *
     * The same for a model, on one line.
     */
    line: string;
};

export type McpRevision = '2024-11-05' | '2025-03-26' | '2025-06-18' | '2025-11-25' | '2026-07-28';

export type MediaWish = 'inline' | 'signed-url' | 'reference';

/**
 * MessagePage
 *
 * A page of a session's history, in the order of `seq`.
 */
export type MessagePage = {
    /**
     * Items
     */
    items: Array<HistoryEntry>;
    /**
     * Nextcursor
     */
    nextCursor: string | null;
};

export type Modality = 'text' | 'image' | 'audio' | 'video' | 'structured';

/**
 * MultiModalInput
 *
 * A rich user turn. Source: spec 001, "MultiModalInput".
 */
export type MultiModalInput = {
    /**
     * Parts
     */
    parts: Array<ContentPart>;
};

/**
 * PageBlocksRecord
 *
 * A page as the content of a tool message: text, or text and image.
 */
export type PageBlocksRecord = {
    /**
     * Content
     */
    content: string | Array<TextBlock | ImageUrlBlock>;
    /**
     * The level that is shown: the fullest that holds what is shown.
     */
    level: Level;
    /**
     * The level that was asked for, or the page's own.
     */
    requested_level: Level;
    /**
     * Truncated
     */
    truncated: boolean;
    /**
     * Total Chars
     *
     * How long the level's text is in all.
     */
    total_chars: number;
    /**
     * Next Offset
     *
     * Where to go on; null at the end.
     */
    next_offset: number | null;
};

/**
 * PageFaultMessage
 *
 * A page that a model has faulted in, as history keeps it: media by reference.
 */
export type PageFaultMessage = {
    /**
     * Seq
     */
    seq: number;
    /**
     * Id
     */
    id: string;
    /**
     * Created At
     */
    created_at: string;
    /**
     * Role
     */
    role: 'tool';
    /**
     * Tool Call Id
     */
    tool_call_id: string | null;
    /**
     * Content
     */
    content: string | Array<TextBlock | ImageUrlBlock>;
};

/**
 * PageLevelRecord
 *
 * One level of a page.
 */
export type PageLevelRecord = {
    /**
     * Page Id
     */
    page_id: string;
    level: Level;
    /**
     * Name
     */
    name: string;
    /**
     * Origin
     */
    origin: 'stored' | 'supplied' | 'derived';
    /**
     * Content
     *
     * Text, JSON, an address or a `@blob:` reference.
     */
    content: unknown;
    media: PageMedia | null;
    /**
     * Size Bytes
     */
    size_bytes: number | null;
    /**
     * Size Tokens
     */
    size_tokens: number;
};

/**
 * PageList
 *
 * A page of the list of pages, newest first.
 */
export type PageList = {
    /**
     * Items
     */
    items: Array<PageSummary>;
    /**
     * Nextcursor
     */
    nextCursor: string | null;
};

/**
 * PageManifest
 *
 * What a model is told of a session's pages: pinned, then important, then new ones first.
 */
export type PageManifest = {
    /**
     * Session Id
     */
    session_id: string;
    /**
     * Pages
     */
    pages: Array<ManifestPage>;
    /**
     * Total
     *
     * How many pages the session has in all.
     */
    total: number;
    /**
     * Text
     *
     * All lines, to be put before a model.
     */
    text: string;
};

/**
 * PageMedia
 *
 * What is known, by measuring, of the medium a page's content holds or refers to.
 */
export type PageMedia = {
    /**
     * Uri
     *
     * `@blob:…`; null while the medium stays in a data URI.
     */
    uri: string | null;
    /**
     * Mime Type
     */
    mime_type: string;
    /**
     * Size Bytes
     */
    size_bytes: number;
    /**
     * Filename
     */
    filename: string | null;
    /**
     * Width
     */
    width: number | null;
    /**
     * Height
     */
    height: number | null;
    /**
     * Duration Seconds
     */
    duration_seconds: number | null;
};

/**
 * PageRecord
 *
 * A page: what is said about it, and its content.
 */
export type PageRecord = {
    /**
     * Page Id
     */
    page_id: string;
    /**
     * Session Id
     */
    session_id: string | null;
    modality: Modality;
    page_type: PageType;
    /**
     * Mime Type
     */
    mime_type: string | null;
    /**
     * Caption
     */
    caption: string | null;
    /**
     * Transcript
     */
    transcript: string | null;
    /**
     * Dimensions
     */
    dimensions: [
        number,
        number
    ] | null;
    /**
     * Duration Seconds
     */
    duration_seconds: number | null;
    /**
     * Schema Name
     */
    schema_name: string | null;
    /**
     * Scenes
     */
    scenes: Array<string | {
        [key: string]: unknown;
    }> | null;
    /**
     * Hint
     */
    hint: string | null;
    /**
     * Importance
     */
    importance: number;
    /**
     * Pinned
     */
    pinned: boolean;
    /**
     * Provenance
     */
    provenance: Array<string>;
    /**
     * Metadata
     */
    metadata: {
        [key: string]: unknown;
    };
    /**
     * The level it is shown at unless another is asked for.
     */
    compression_level: Level;
    /**
     * Levels
     *
     * The levels that exist: stored, supplied or derived.
     */
    levels: Array<Level>;
    /**
     * What was measured of the medium in the content.
     */
    media: PageMedia | null;
    /**
     * Size Bytes
     *
     * Of the content; null for an address that was not fetched.
     */
    size_bytes: number | null;
    /**
     * Size Tokens
     *
     * What the content costs a model, estimated.
     */
    size_tokens: number;
    /**
     * Created At
     */
    created_at: string;
    /**
     * Updated At
     */
    updated_at: string;
    /**
     * Version
     */
    version: number;
    /**
     * When what is said: objects such as `{start, end, text}`, or seconds.
     */
    timestamps: Timestamps | null;
    /**
     * A vector of the content, as it was sent.
     */
    embedding: Embedding | null;
    /**
     * Last Accessed
     */
    last_accessed: string | null;
    /**
     * Access Count
     */
    access_count: number;
    /**
     * Content
     *
     * Text, JSON, an address, a small data URI, or a `@blob:` reference.
     */
    content: unknown;
};

/**
 * PageSummary
 *
 * A page without its content, as lists show it.
 */
export type PageSummary = {
    /**
     * Page Id
     */
    page_id: string;
    /**
     * Session Id
     */
    session_id: string | null;
    modality: Modality;
    page_type: PageType;
    /**
     * Mime Type
     */
    mime_type: string | null;
    /**
     * Caption
     */
    caption: string | null;
    /**
     * Transcript
     */
    transcript: string | null;
    /**
     * Dimensions
     */
    dimensions: [
        number,
        number
    ] | null;
    /**
     * Duration Seconds
     */
    duration_seconds: number | null;
    /**
     * Schema Name
     */
    schema_name: string | null;
    /**
     * Scenes
     */
    scenes: Array<string | {
        [key: string]: unknown;
    }> | null;
    /**
     * Hint
     */
    hint: string | null;
    /**
     * Importance
     */
    importance: number;
    /**
     * Pinned
     */
    pinned: boolean;
    /**
     * Provenance
     */
    provenance: Array<string>;
    /**
     * Metadata
     */
    metadata: {
        [key: string]: unknown;
    };
    /**
     * The level it is shown at unless another is asked for.
     */
    compression_level: Level;
    /**
     * Levels
     *
     * The levels that exist: stored, supplied or derived.
     */
    levels: Array<Level>;
    /**
     * What was measured of the medium in the content.
     */
    media: PageMedia | null;
    /**
     * Size Bytes
     *
     * Of the content; null for an address that was not fetched.
     */
    size_bytes: number | null;
    /**
     * Size Tokens
     *
     * What the content costs a model, estimated.
     */
    size_tokens: number;
    /**
     * Created At
     */
    created_at: string;
    /**
     * Updated At
     */
    updated_at: string;
    /**
     * Version
     */
    version: number;
    /**
     * When what is said: objects such as `{start, end, text}`, or seconds.
     */
    timestamps: Timestamps | null;
    /**
     * A vector of the content, as it was sent.
     */
    embedding: Embedding | null;
    /**
     * Last Accessed
     */
    last_accessed: string | null;
    /**
     * Access Count
     */
    access_count: number;
};

/**
 * PageToolMessage
 *
 * A page as a tool message, ready to be given to a model.
 */
export type PageToolMessage = {
    /**
     * Role
     */
    role: 'tool';
    /**
     * Tool Call Id
     */
    tool_call_id: string | null;
    /**
     * Content
     */
    content: string | Array<TextBlock | ImageUrlBlock>;
};

export type PageType = 'transcript' | 'summary' | 'artifact' | 'claim' | 'procedure' | 'index';

export type Part = ({
    type: 'text';
} & TextPart) | ({
    type: 'image';
} & ImagePart) | ({
    type: 'file';
} & FilePart);

/**
 * Readiness
 *
 * Both stores answer.
 */
export type Readiness = {
    /**
     * Status
     */
    status: 'ready';
    /**
     * Database
     */
    database: 'ok';
    /**
     * Blobs
     */
    blobs: 'ok';
};

/**
 * ReleasedResource
 *
 * What became of a resource the session used.
 */
export type ReleasedResource = {
    /**
     * Uri
     */
    uri: string;
    /**
     * Size
     */
    size: number;
    /**
     * Status
     */
    status: 'deleted' | 'kept';
    /**
     * Usedby
     */
    usedBy: Array<ResourceUser>;
};

/**
 * RenderedRecord
 *
 * A record as the messages of one provider, and what had to be left out.
 */
export type RenderedRecord = {
    /**
     * Target
     */
    target: string;
    /**
     * Profile
     *
     * Target and version of its limits and rules.
     */
    profile: string;
    /**
     * Messages
     *
     * To be pasted into the provider's request.
     */
    messages: Array<{
        [key: string]: unknown;
    }>;
    /**
     * System
     *
     * What the system said, for targets that take it beside the messages.
     */
    system?: string | null;
    /**
     * Loss
     *
     * Empty exactly when nothing was lost.
     */
    loss: Array<LossEntry>;
    /**
     * Tokensest
     *
     * About how many tokens the messages cost.
     */
    tokensEst: number;
    /**
     * Where one was asked for: how far the history is evicted now.
     */
    frontier?: Frontier | null;
    /**
     * Stablethrough
     *
     * How many messages, from the first, are the same as in the rendering that moved this frontier last.
     */
    stableThrough?: number | null;
    /**
     * Prefixhash
     *
     * For each message, 16 hex digits that stand for it and all before it.
     */
    prefixHash?: Array<string> | null;
};

/**
 * RenderedToolResult
 *
 * A stored tool result, with its rendering where one is asked for.
 */
export type RenderedToolResult = {
    /**
     * Id
     */
    id: string;
    /**
     * Sessionid
     */
    sessionId: string | null;
    /**
     * Seq
     */
    seq: number | null;
    /**
     * Createdat
     */
    createdAt: string;
    /**
     * Toolname
     */
    toolName: string;
    /**
     * Toolcallid
     */
    toolCallId: string;
    sanitized: SanitizedToolResult;
    /**
     * Only with `render`; null where the rendering failed: all is stored.
     */
    rendering?: RenderedRecord | null;
};

/**
 * ResolvedArguments
 *
 * The value with content in the place of its references, and what became of each of them.
 */
export type ResolvedArguments = {
    /**
     * Arguments
     */
    arguments: unknown;
    /**
     * Resolved
     */
    resolved: Array<ResolvedReference>;
    /**
     * Unresolved
     */
    unresolved: Array<UnresolvedReference>;
};

/**
 * ResolvedReference
 *
 * A reference that was replaced.
 */
export type ResolvedReference = {
    /**
     * Pointer
     *
     * JSON pointer into `arguments`; empty for the whole of it.
     */
    pointer: string;
    /**
     * Uri
     */
    uri: string;
    /**
     * Mimetype
     */
    mimeType: string;
    /**
     * Size
     *
     * Size of the content in bytes.
     */
    size: number;
};

/**
 * ResourceDescriptor
 *
 * What a record says about a medium it refers to (spec 002, Canonical Types).
 */
export type ResourceDescriptor = {
    /**
     * Uri
     */
    uri: string;
    /**
     * Kind
     */
    kind: 'image' | 'audio' | 'video' | 'binary' | 'text';
    /**
     * Mimetype
     */
    mimeType: string;
    /**
     * Filename
     */
    filename?: string | null;
    /**
     * Mediakind
     */
    mediaKind?: 'audio' | 'video' | 'binary' | null;
    /**
     * Size
     *
     * Size in bytes.
     */
    size: number;
    /**
     * Digest
     *
     * `sha-256:` and 64 hex digits.
     */
    digest: string;
    /**
     * Width
     *
     * Pixels.
     */
    width?: number | null;
    /**
     * Height
     *
     * Pixels.
     */
    height?: number | null;
    /**
     * Durationseconds
     */
    durationSeconds?: number | null;
};

/**
 * ResourcePage
 *
 * A page of resources, newest first.
 */
export type ResourcePage = {
    /**
     * Items
     */
    items: Array<ResourceRecord>;
    /**
     * Nextcursor
     */
    nextCursor: string | null;
};

/**
 * ResourceRecord
 *
 * A stored resource: its descriptor, and since when it is kept.
 */
export type ResourceRecord = {
    /**
     * Uri
     */
    uri: string;
    /**
     * Kind
     */
    kind: 'image' | 'audio' | 'video' | 'binary' | 'text';
    /**
     * Mimetype
     */
    mimeType: string;
    /**
     * Filename
     */
    filename?: string | null;
    /**
     * Mediakind
     */
    mediaKind?: 'audio' | 'video' | 'binary' | null;
    /**
     * Size
     *
     * Size in bytes.
     */
    size: number;
    /**
     * Digest
     *
     * `sha-256:` and 64 hex digits.
     */
    digest: string;
    /**
     * Width
     *
     * Pixels.
     */
    width?: number | null;
    /**
     * Height
     *
     * Pixels.
     */
    height?: number | null;
    /**
     * Durationseconds
     */
    durationSeconds?: number | null;
    /**
     * Createdat
     */
    createdAt: string;
};

/**
 * ResourceUser
 *
 * What else uses a resource: how many of a kind, and one of them.
 */
export type ResourceUser = {
    /**
     * Kind
     */
    kind: string;
    /**
     * Count
     */
    count: number;
    /**
     * Exampleid
     */
    exampleId: string;
};

export type Role = 'system' | 'user' | 'assistant' | 'tool';

/**
 * SanitizedToolResult
 *
 * A tool result, canonical and small: parts to show, resources they refer to, meta.
 */
export type SanitizedToolResult = {
    /**
     * Parts
     */
    parts: Array<Part>;
    /**
     * Resources
     */
    resources: Array<ResourceDescriptor>;
    meta: ToolResultMeta;
};

/**
 * SearchHit
 *
 * A page that a search has found.
 */
export type SearchHit = {
    /**
     * Page Id
     */
    page_id: string;
    /**
     * Session Id
     */
    session_id: string | null;
    modality: Modality;
    page_type: PageType;
    /**
     * Mime Type
     */
    mime_type: string | null;
    /**
     * Caption
     */
    caption: string | null;
    /**
     * Transcript
     */
    transcript: string | null;
    /**
     * Dimensions
     */
    dimensions: [
        number,
        number
    ] | null;
    /**
     * Duration Seconds
     */
    duration_seconds: number | null;
    /**
     * Schema Name
     */
    schema_name: string | null;
    /**
     * Scenes
     */
    scenes: Array<string | {
        [key: string]: unknown;
    }> | null;
    /**
     * Hint
     */
    hint: string | null;
    /**
     * Importance
     */
    importance: number;
    /**
     * Pinned
     */
    pinned: boolean;
    /**
     * Provenance
     */
    provenance: Array<string>;
    /**
     * Metadata
     */
    metadata: {
        [key: string]: unknown;
    };
    /**
     * The level it is shown at unless another is asked for.
     */
    compression_level: Level;
    /**
     * Levels
     *
     * The levels that exist: stored, supplied or derived.
     */
    levels: Array<Level>;
    /**
     * What was measured of the medium in the content.
     */
    media: PageMedia | null;
    /**
     * Size Bytes
     *
     * Of the content; null for an address that was not fetched.
     */
    size_bytes: number | null;
    /**
     * Size Tokens
     *
     * What the content costs a model, estimated.
     */
    size_tokens: number;
    /**
     * Created At
     */
    created_at: string;
    /**
     * Updated At
     */
    updated_at: string;
    /**
     * Version
     */
    version: number;
    /**
     * When what is said: objects such as `{start, end, text}`, or seconds.
     */
    timestamps: Timestamps | null;
    /**
     * A vector of the content, as it was sent.
     */
    embedding: Embedding | null;
    /**
     * Last Accessed
     */
    last_accessed: string | null;
    /**
     * Access Count
     */
    access_count: number;
    /**
     * Snippet
     *
     * The passage it was found by; `…` marks where it is cut.
     */
    snippet: string | null;
};

/**
 * SearchHits
 *
 * What a search has found, best first.
 */
export type SearchHits = {
    /**
     * Items
     */
    items: Array<SearchHit>;
    /**
     * Nextcursor
     */
    nextCursor: string | null;
};

/**
 * SessionCounts
 *
 * The same, and how many resources are used.
 */
export type SessionCounts = {
    /**
     * Toolresults
     */
    toolResults: number;
    /**
     * Pagefaults
     */
    pageFaults: number;
    /**
     * Messages
     */
    messages: number;
    /**
     * Interactions
     */
    interactions: number;
    /**
     * Answers
     */
    answers: number;
    /**
     * Pages
     */
    pages: number;
    /**
     * Resources
     */
    resources: number;
};

/**
 * SessionPage
 *
 * A page of sessions, the one last written to first.
 */
export type SessionPage = {
    /**
     * Items
     */
    items: Array<SessionRecord>;
    /**
     * Nextcursor
     */
    nextCursor: string | null;
};

/**
 * SessionRecord
 *
 * A session. `lastSeq` is the number its newest write took.
 */
export type SessionRecord = {
    /**
     * Id
     */
    id: string;
    /**
     * Createdat
     */
    createdAt: string;
    /**
     * Updatedat
     */
    updatedAt: string;
    /**
     * Lastseq
     */
    lastSeq: number;
    counts: SessionCounts;
    /**
     * Bytesreferenced
     *
     * The bytes its resources are over, each blob once.
     */
    bytesReferenced: number;
    /**
     * Bytessaved
     *
     * What they would take more as base64 in each record that uses them.
     */
    bytesSaved: number;
};

/**
 * SignedUrl
 *
 * A link that needs no key, fit for `<img src>` and `<video src>`, until it expires.
 */
export type SignedUrl = {
    /**
     * Url
     */
    url: string;
    /**
     * Expiresat
     */
    expiresAt: string;
};

/**
 * StructuredContent
 *
 * Data: any JSON value.
 */
export type StructuredContent = {
    /**
     * Type
     */
    type: 'structured';
    /**
     * Data
     */
    data: unknown;
    /**
     * Schema Name
     */
    schema_name: string | null;
};

/**
 * TextBlock
 *
 * What is said about the image beside it.
 */
export type TextBlock = {
    /**
     * Type
     */
    type: 'text';
    /**
     * Text
     */
    text: string;
};

/**
 * TextContent
 *
 * Text: of a text page, and the tag every page has at REFERENCE.
 */
export type TextContent = {
    /**
     * Type
     */
    type: 'text';
    /**
     * Text
     */
    text: string;
};

/**
 * TextLines
 *
 * Lines of a text.
 */
export type TextLines = {
    /**
     * Uri
     */
    uri: string;
    /**
     * Mimetype
     */
    mimeType: string;
    /**
     * Totallines
     */
    totalLines: number;
    /**
     * Totalbytes
     */
    totalBytes: number;
    /**
     * From
     *
     * The first line; null where there is none.
     */
    from: number | null;
    /**
     * To
     *
     * The last line.
     */
    to: number | null;
    /**
     * Text
     *
     * The lines, with a line feed between them.
     */
    text: string;
    /**
     * Cutlines
     *
     * Lines of more than 8,000 characters; each ends with a note.
     */
    cutLines: Array<number>;
    /**
     * Truncated
     *
     * Whether more was asked for than fits 64 KiB.
     */
    truncated: boolean;
    /**
     * Nextline
     *
     * Where to go on, with `lines={nextLine}-`; null at the end.
     */
    nextLine: number | null;
};

/**
 * TextMatch
 *
 * A line that holds what was looked for. More than 500 characters are cut with `…`.
 */
export type TextMatch = {
    /**
     * Line
     */
    line: number;
    /**
     * Text
     */
    text: string;
    /**
     * Before
     */
    before: Array<string>;
    /**
     * After
     */
    after: Array<string>;
};

/**
 * TextMatches
 *
 * The lines of a text that hold something.
 */
export type TextMatches = {
    /**
     * Uri
     */
    uri: string;
    /**
     * Mimetype
     */
    mimeType: string;
    /**
     * Totallines
     */
    totalLines: number;
    /**
     * Totalbytes
     */
    totalBytes: number;
    /**
     * Matches
     */
    matches: Array<TextMatch>;
    /**
     * Totalmatches
     *
     * How many lines match, shown or not.
     */
    totalMatches: number;
    /**
     * Truncated
     */
    truncated: boolean;
    /**
     * Nextline
     *
     * Where to go on, with `lines={nextLine}-`; null at the end.
     */
    nextLine: number | null;
};

/**
 * TextPart
 *
 * Text to read. Above the preview limit it is a head, a line saying what is left, a tail.
 */
export type TextPart = {
    /**
     * Annotations
     *
     * MCP annotations (audience, priority), kept.
     */
    annotations?: {
        [key: string]: unknown;
    } | null;
    /**
     * Uri
     *
     * Where the tool says the part is from.
     */
    uri?: string | null;
    /**
     * Name
     */
    name?: string | null;
    /**
     * Meta
     */
    _meta?: {
        [key: string]: unknown;
    } | null;
    /**
     * Type
     */
    type: 'text';
    /**
     * Text
     */
    text: string;
};

export type TextPiece = TextLines | TextMatches | JsonValueAt;

export type Timestamps = Array<{
    [key: string]: unknown;
} | number | [
    number,
    number
]>;

/**
 * ToolDefinitions
 *
 * The tools of the memory, in the dialect of one target.
 */
export type ToolDefinitions = {
    /**
     * Target
     */
    target: string;
    /**
     * Tools
     *
     * To be put into the provider's request.
     */
    tools: Array<{
        [key: string]: unknown;
    }>;
};

/**
 * ToolMessage
 *
 * A tool result as it stands in history; `sanitized` is the stored record, byte for byte.
 */
export type ToolMessage = {
    /**
     * Seq
     */
    seq: number;
    /**
     * Id
     */
    id: string;
    /**
     * Role
     */
    role: 'tool';
    /**
     * Toolcallid
     */
    toolCallId: string;
    /**
     * Name
     */
    name: string;
    /**
     * Createdat
     */
    createdAt: string;
    sanitized: SanitizedToolResult;
};

/**
 * ToolResultMeta
 *
 * Which call this answers, and what belongs to the result as a whole.
 *
 * `structuredContent` is absent, not null, when the tool gave none.
 */
export type ToolResultMeta = {
    /**
     * Toolname
     */
    toolName: string;
    /**
     * Toolcallid
     */
    toolCallId: string;
    /**
     * Success
     */
    success: boolean;
    /**
     * Structuredcontent
     *
     * MCP structuredContent: any JSON value, media replaced by `@blob:`.
     */
    structuredContent?: unknown;
    /**
     * Display
     *
     * The tool's own hint for a user interface.
     */
    display?: unknown;
    /**
     * Meta
     */
    _meta?: {
        [key: string]: unknown;
    } | null;
    /**
     * Warnings
     */
    warnings?: Array<ToolResultWarning> | null;
    /**
     * Declaredmimetype
     *
     * Claims the bytes do not bear out: the part's JSON pointer in the record, and the MIME type the tool had claimed for it.
     */
    declaredMimeType?: {
        [key: string]: string;
    } | null;
};

/**
 * ToolResultPage
 *
 * A page of tool results, newest first.
 */
export type ToolResultPage = {
    /**
     * Items
     */
    items: Array<ToolResultRecord>;
    /**
     * Nextcursor
     */
    nextCursor: string | null;
};

/**
 * ToolResultRecord
 *
 * A stored tool result. `sessionId` and `seq` are null outside any session.
 */
export type ToolResultRecord = {
    /**
     * Id
     */
    id: string;
    /**
     * Sessionid
     */
    sessionId: string | null;
    /**
     * Seq
     */
    seq: number | null;
    /**
     * Createdat
     */
    createdAt: string;
    /**
     * Toolname
     */
    toolName: string;
    /**
     * Toolcallid
     */
    toolCallId: string;
    sanitized: SanitizedToolResult;
};

/**
 * ToolResultWarning
 *
 * Something that could not be taken as the tool meant it, at a JSON pointer into `result`.
 */
export type ToolResultWarning = {
    /**
     * Code
     */
    code: string;
    /**
     * Pointer
     */
    pointer: string;
    /**
     * Detail
     */
    detail: string;
};

/**
 * TurnReceipt
 *
 * What a turn appended, and the session as it is now.
 */
export type TurnReceipt = {
    /**
     * Seqs
     *
     * One for each entry, in order: of a tool call, that of its answer.
     */
    seqs: Array<number>;
    /**
     * Null where none was asked for, or where it failed.
     */
    rendering: RenderedRecord | null;
    /**
     * Problem
     *
     * Why there is no rendering although one was asked for; all is stored.
     */
    problem?: string | null;
};

/**
 * UnresolvedReference
 *
 * A reference that was left as it is.
 */
export type UnresolvedReference = {
    /**
     * Pointer
     *
     * JSON pointer into `arguments`; empty for the whole of it.
     */
    pointer: string;
    /**
     * Reference
     */
    reference: string;
    /**
     * Reason
     *
     * In words; what to do instead, where there is any.
     */
    reason: string;
};

/**
 * UploadRecord
 *
 * An upload: how far it is, and, once all has come, the resource it became.
 */
export type UploadRecord = {
    /**
     * Id
     */
    id: string;
    /**
     * Offset
     *
     * Bytes that have come and are kept.
     */
    offset: number;
    /**
     * Length
     *
     * Bytes of the whole file.
     */
    length: number;
    /**
     * Filename
     *
     * As it was claimed.
     */
    filename: string | null;
    /**
     * Mimetype
     *
     * As it was claimed.
     */
    mimeType: string | null;
    /**
     * Createdat
     */
    createdAt: string;
    /**
     * Expiresat
     *
     * Every piece that comes moves it on.
     */
    expiresAt: string;
    /**
     * Null while the upload is under way, or if it was deleted since.
     */
    resource: ResourceDescriptor | null;
};

/**
 * Version
 *
 * What answers, and in which version.
 */
export type Version = {
    /**
     * Name
     */
    name: 'pagefault';
    /**
     * Version
     *
     * The version of the service, `X.Y.Z`.
     */
    version: string;
};

/**
 * VideoContent
 *
 * What is seen and said in a video; `url` may be a `@blob:` reference.
 */
export type VideoContent = {
    /**
     * Type
     */
    type: 'video';
    /**
     * Scenes
     */
    scenes: Array<string | {
        [key: string]: unknown;
    }> | null;
    /**
     * Transcript
     */
    transcript: string | null;
    /**
     * Duration Seconds
     */
    duration_seconds: number | null;
    /**
     * Url
     */
    url: string | null;
};

/**
 * ProblemFault
 *
 * One thing that is wrong with the request, and where.
 */
export type ProblemFault = {
    /**
     * Pointer
     *
     * JSON pointer into the request body; for a parameter, `/query/`, `/path/`, `/header/` or `/cookie/` and its name.
     */
    pointer: string;
    /**
     * Detail
     */
    detail: string;
};

/**
 * Problem
 *
 * What went wrong, for programs (`code`, `errors`) and for people (`title`, `detail`).
 */
export type Problem = {
    /**
     * Type
     *
     * What kind of problem it is: a reference that this service resolves to an explanation.
     */
    type: string;
    /**
     * Title
     *
     * The kind in words, the same every time.
     */
    title: string;
    /**
     * Status
     *
     * The HTTP status.
     */
    status: number;
    /**
     * Detail
     *
     * What went wrong this time and what to do about it.
     */
    detail: string;
    /**
     * Instance
     *
     * The path of the request, without its query.
     */
    instance: string;
    /**
     * Code
     *
     * Stable and made for programs; the kind's own or a narrower one.
     */
    code: string;
    /**
     * Requestid
     *
     * Names the request in the service's log.
     */
    requestId: string;
    /**
     * Errors
     *
     * The single faults, at most 20; absent if there are none.
     */
    errors?: Array<ProblemFault>;
};

/**
 * AliasDraft
 *
 * What an alias is to name.
 */
export type AliasDraft = {
    /**
     * Uri
     *
     * The `blob:` URI of a resource, or its bare id.
     */
    uri: string;
};

/**
 * Examination
 *
 * A history: the request that a provider refused, or a list of messages, or a session.
 *
 * The messages are of any dialect, also each of another; `input` and `contents` are read as
 * `messages` are, and what the system says is read from where the dialects have it.
 */
export type Examination = {
    /**
     * Messages
     *
     * In any dialect.
     */
    messages?: Array<unknown> | null;
    /**
     * Sessionid
     *
     * Instead: a session kept here.
     */
    sessionId?: string | null;
    [key: string]: unknown;
};

/**
 * FaultRequest
 *
 * What a model asks for when it faults a page in.
 */
export type FaultRequest = {
    target_level?: Level;
    /**
     * Session Id
     */
    session_id?: string | null;
    /**
     * Tool Call Id
     */
    tool_call_id?: string | null;
    /**
     * Max Chars
     */
    max_chars?: number | null;
    /**
     * Offset
     */
    offset?: number;
    /**
     * Detail
     */
    detail?: 'low' | 'high' | 'auto';
    /**
     * Form
     *
     * `json`: `content` is one JSON string with the page in it.
     */
    form?: 'blocks' | 'json';
};

/**
 * HistoryMessageDraft
 *
 * A message as a client's own model dialect has it; further members are kept as they are.
 *
 * Source: spec 000, "Extend `HistoryMessage.content` type".
 */
export type HistoryMessageDraft = {
    /**
     * Role
     */
    role: 'system' | 'developer' | 'user' | 'assistant' | 'model' | 'tool' | 'function';
    /**
     * Content
     */
    content?: string | Array<{
        [key: string]: unknown;
    }> | null;
    /**
     * Name
     */
    name?: string | null;
    /**
     * Tool Calls
     */
    tool_calls?: Array<{
        [key: string]: unknown;
    }> | null;
    /**
     * Tool Call Id
     */
    tool_call_id?: string | null;
    [key: string]: unknown;
};

/**
 * InteractionDraft
 *
 * An interaction as a client writes it.
 *
 * With `input_kind` an input of another kind is refused; without it, an input that is not exactly
 * a `MultiModalInput` is kept as the object it is.
 */
export type InteractionDraft = {
    /**
     * Input
     */
    input: MultiModalInput | string | {
        [key: string]: unknown;
    };
    output?: ChatMessage | null;
    /**
     * Timestamp
     *
     * RFC 3339; without an offset it is UTC. Seconds since 1970 are taken too.
     */
    timestamp?: string;
    input_kind?: InputKind | null;
};

/**
 * PageDraft
 *
 * A page as a client writes it.
 *
 * `content` is text, any JSON value (modality structured), an `http(s)` URL, a `data:` URI, or
 * the `@blob:` reference of a resource. What the service itself says of a page (`version`,
 * `size_bytes` …) may stand in the body, and is passed over; so is what another runtime's dump of
 * a page says of that runtime's store (`storage_tier`, `dirty` …).
 */
export type PageDraft = {
    /**
     * Session Id
     */
    session_id?: string | null;
    modality?: Modality;
    page_type?: PageType;
    /**
     * Mime Type
     */
    mime_type?: string | null;
    /**
     * Caption
     */
    caption?: string | null;
    /**
     * Transcript
     */
    transcript?: string | null;
    /**
     * Dimensions
     *
     * Width and height in pixels.
     */
    dimensions?: [
        number,
        number
    ] | null;
    /**
     * Duration Seconds
     */
    duration_seconds?: number | null;
    /**
     * Schema Name
     */
    schema_name?: string | null;
    /**
     * Scenes
     */
    scenes?: Array<string | {
        [key: string]: unknown;
    }> | null;
    /**
     * Hint
     *
     * A line for whoever looks for the page.
     */
    hint?: string | null;
    /**
     * Importance
     */
    importance?: number;
    /**
     * Pinned
     */
    pinned?: boolean;
    /**
     * Provenance
     *
     * Ids of the pages it came from.
     */
    provenance?: Array<string>;
    /**
     * Metadata
     */
    metadata?: {
        [key: string]: unknown;
    };
    /**
     * The level it is shown at unless another is asked for.
     */
    compression_level?: Level;
    /**
     * When what is said: objects such as `{start, end, text}`, or seconds.
     */
    timestamps?: Timestamps | null;
    /**
     * A vector of the content.
     */
    embedding?: Embedding | null;
    /**
     * Page Id
     */
    page_id?: string | null;
    /**
     * Content
     *
     * Its FULL level: what fits the modality.
     */
    content?: unknown;
    /**
     * Represents
     *
     * One more id of `provenance`.
     */
    represents?: string | null;
    /**
     * Parent Page Id
     *
     * One more id of `provenance`.
     */
    parent_page_id?: string | null;
};

/**
 * PageBatch
 *
 * Up to 1,000 pages, created together or not at all.
 */
export type PageBatch = {
    /**
     * Pages
     */
    pages: Array<PageDraft>;
};

/**
 * PagePatch
 *
 * Only for the document: what a merge patch may hold, every field of it optional.
 */
export type PagePatch = {
    /**
     * Session Id
     */
    session_id?: string | null;
    modality?: Modality;
    page_type?: PageType;
    /**
     * Mime Type
     */
    mime_type?: string | null;
    /**
     * Caption
     */
    caption?: string | null;
    /**
     * Transcript
     */
    transcript?: string | null;
    /**
     * Dimensions
     *
     * Width and height in pixels.
     */
    dimensions?: [
        number,
        number
    ] | null;
    /**
     * Duration Seconds
     */
    duration_seconds?: number | null;
    /**
     * Schema Name
     */
    schema_name?: string | null;
    /**
     * Scenes
     */
    scenes?: Array<string | {
        [key: string]: unknown;
    }> | null;
    /**
     * Hint
     *
     * A line for whoever looks for the page.
     */
    hint?: string | null;
    /**
     * Importance
     */
    importance?: number;
    /**
     * Pinned
     */
    pinned?: boolean;
    /**
     * Provenance
     *
     * Ids of the pages it came from.
     */
    provenance?: Array<string>;
    /**
     * Metadata
     */
    metadata?: {
        [key: string]: unknown;
    };
    /**
     * The level it is shown at unless another is asked for.
     */
    compression_level?: Level;
    /**
     * When what is said: objects such as `{start, end, text}`, or seconds.
     */
    timestamps?: Timestamps | null;
    /**
     * A vector of the content.
     */
    embedding?: Embedding | null;
};

export type MemoryPart = 'instructions' | 'manifest';

/**
 * RenderRequest
 *
 * A stored record, named by exactly one id, and how it is to be rendered.
 */
export type RenderRequest = {
    /**
     * Target
     *
     * Whose dialect to write.
     */
    target: 'openai-compat' | 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock' | 'mcp' | 'langchain' | 'vercel' | 'vercel-6' | 'text';
    /**
     * Accept
     *
     * MIME types and ranges that the model can take; the rest degrades.
     */
    accept?: Array<string> | null;
    media?: MediaWish;
    detail?: ImageDetail | null;
    /**
     * Maxbytes
     */
    maxBytes?: number | null;
    /**
     * Maximages
     */
    maxImages?: number | null;
    audience?: Audience;
    /**
     * Of `mcp`: the revision of the protocol. Before 2026-07-28 `structuredContent` is an object or absent, before 2025-06-18 absent.
     */
    protocolVersion?: McpRevision;
    /**
     * Handles
     *
     * A line behind each stored medium names it: `[image @blob:…]`.
     */
    handles?: boolean;
    /**
     * Memory
     *
     * Of a session: a message of the system before all others, with the rules of the memory's tools, and with the session's pages.
     */
    memory?: Array<MemoryPart>;
    /**
     * Memorytokens
     *
     * The most tokens of the list of pages.
     */
    memoryTokens?: number;
    /**
     * Maxtokens
     *
     * The most tokens. What is old gives way to smaller levels of itself, and `loss` says what and how to get it back.
     */
    maxTokens?: number | null;
    /**
     * Evictbatch
     *
     * With a frontier: how many tokens below `maxTokens` a history that has passed it is brought, so that the turns that follow only append. A quarter of the limit by default.
     */
    evictBatch?: number | null;
    /**
     * Frontier
     *
     * Of a session: how far it was evicted before. A name: that is kept under it, and moved on by this request. An object, as the last answer has it: nothing is kept here.
     */
    frontier?: string | Frontier | null;
    /**
     * Cachemarkers
     *
     * Marks for `anthropic` (`cache_control`) and `bedrock` (`cachePoint`) at the last message, and, with a frontier, at the last one that was sent before. They count in no `prefixHash`.
     */
    cacheMarkers?: boolean;
    /**
     * Toolresultid
     */
    toolResultId?: string | null;
    /**
     * Pageid
     */
    pageId?: string | null;
    /**
     * Sessionid
     */
    sessionId?: string | null;
    /**
     * Of a page: 0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE).
     */
    level?: Level | null;
    /**
     * Toolcallid
     *
     * The call that a page answers.
     */
    toolCallId?: string | null;
    /**
     * Since
     *
     * Of a session: only entries after this `seq`.
     */
    since?: number;
};

/**
 * RepresentationDraft
 *
 * A level of a page as a client supplies it: words, data, or a smaller image.
 */
export type RepresentationDraft = {
    /**
     * Content
     *
     * Text, JSON for a structured page, or the medium of a REDUCED image
     */
    content: unknown;
};

/**
 * ResolveRequest
 *
 * A JSON value with references in it, and how they are wanted.
 */
export type ResolveRequest = {
    /**
     * Arguments
     *
     * Any JSON value; its keys are left alone.
     */
    arguments: unknown;
    /**
     * Sessionid
     */
    sessionId: string;
    /**
     * As
     *
     * What stands in the place of a reference afterwards.
     */
    as?: 'data-uri' | 'base64' | 'signed-url' | 'text';
};

/**
 * SessionRenderRequest
 *
 * How a session is to be rendered.
 */
export type SessionRenderRequest = {
    /**
     * Target
     *
     * Whose dialect to write.
     */
    target: 'openai-compat' | 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock' | 'mcp' | 'langchain' | 'vercel' | 'vercel-6' | 'text';
    /**
     * Accept
     *
     * MIME types and ranges that the model can take; the rest degrades.
     */
    accept?: Array<string> | null;
    media?: MediaWish;
    detail?: ImageDetail | null;
    /**
     * Maxbytes
     */
    maxBytes?: number | null;
    /**
     * Maximages
     */
    maxImages?: number | null;
    audience?: Audience;
    /**
     * Of `mcp`: the revision of the protocol. Before 2026-07-28 `structuredContent` is an object or absent, before 2025-06-18 absent.
     */
    protocolVersion?: McpRevision;
    /**
     * Handles
     *
     * A line behind each stored medium names it: `[image @blob:…]`.
     */
    handles?: boolean;
    /**
     * Memory
     *
     * Of a session: a message of the system before all others, with the rules of the memory's tools, and with the session's pages.
     */
    memory?: Array<MemoryPart>;
    /**
     * Memorytokens
     *
     * The most tokens of the list of pages.
     */
    memoryTokens?: number;
    /**
     * Maxtokens
     *
     * The most tokens. What is old gives way to smaller levels of itself, and `loss` says what and how to get it back.
     */
    maxTokens?: number | null;
    /**
     * Evictbatch
     *
     * With a frontier: how many tokens below `maxTokens` a history that has passed it is brought, so that the turns that follow only append. A quarter of the limit by default.
     */
    evictBatch?: number | null;
    /**
     * Frontier
     *
     * Of a session: how far it was evicted before. A name: that is kept under it, and moved on by this request. An object, as the last answer has it: nothing is kept here.
     */
    frontier?: string | Frontier | null;
    /**
     * Cachemarkers
     *
     * Marks for `anthropic` (`cache_control`) and `bedrock` (`cachePoint`) at the last message, and, with a frontier, at the last one that was sent before. They count in no `prefixHash`.
     */
    cacheMarkers?: boolean;
};

/**
 * SignedUrlRequest
 *
 * What a link shall permit.
 */
export type SignedUrlRequest = {
    /**
     * Expiresinseconds
     */
    expiresInSeconds?: number;
    /**
     * Disposition
     *
     * `attachment` downloads; types that could run code always do.
     */
    disposition?: 'inline' | 'attachment';
    /**
     * Filename
     *
     * Another name to download under.
     */
    filename?: string | null;
};

/**
 * ToolCallRequest
 *
 * A call that a model made of one of the tools, and how its answer is wanted.
 */
export type ToolCallRequest = {
    /**
     * Target
     *
     * Whose dialect to write.
     */
    target: 'openai-compat' | 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock' | 'mcp' | 'langchain' | 'vercel' | 'vercel-6' | 'text';
    /**
     * Accept
     *
     * MIME types and ranges that the model can take; the rest degrades.
     */
    accept?: Array<string> | null;
    media?: MediaWish;
    detail?: ImageDetail | null;
    /**
     * Maxbytes
     */
    maxBytes?: number | null;
    /**
     * Maximages
     */
    maxImages?: number | null;
    audience?: Audience;
    /**
     * Of `mcp`: the revision of the protocol. Before 2026-07-28 `structuredContent` is an object or absent, before 2025-06-18 absent.
     */
    protocolVersion?: McpRevision;
    /**
     * Handles
     *
     * A line behind each stored medium names it: `[image @blob:…]`.
     */
    handles?: boolean;
    /**
     * Memory
     *
     * Of a session: a message of the system before all others, with the rules of the memory's tools, and with the session's pages.
     */
    memory?: Array<MemoryPart>;
    /**
     * Memorytokens
     *
     * The most tokens of the list of pages.
     */
    memoryTokens?: number;
    /**
     * Maxtokens
     *
     * The most tokens. What is old gives way to smaller levels of itself, and `loss` says what and how to get it back.
     */
    maxTokens?: number | null;
    /**
     * Evictbatch
     *
     * With a frontier: how many tokens below `maxTokens` a history that has passed it is brought, so that the turns that follow only append. A quarter of the limit by default.
     */
    evictBatch?: number | null;
    /**
     * Frontier
     *
     * Of a session: how far it was evicted before. A name: that is kept under it, and moved on by this request. An object, as the last answer has it: nothing is kept here.
     */
    frontier?: string | Frontier | null;
    /**
     * Cachemarkers
     *
     * Marks for `anthropic` (`cache_control`) and `bedrock` (`cachePoint`) at the last message, and, with a frontier, at the last one that was sent before. They count in no `prefixHash`.
     */
    cacheMarkers?: boolean;
    /**
     * Id
     *
     * The call's, as the provider gave it.
     */
    id: string;
    /**
     * Name
     */
    name: string;
    /**
     * Arguments
     *
     * An object, or the JSON text that Chat Completions sends.
     */
    arguments?: unknown;
    /**
     * Scope
     *
     * How far handles lead: to the media of this session, or of the project.
     */
    scope?: 'session' | 'project';
};

/**
 * ToolResultRequest
 *
 * A raw tool result as the agent runtime hands it over.
 */
export type ToolResultRequest = {
    /**
     * Toolname
     */
    toolName: string;
    /**
     * Toolcallid
     */
    toolCallId: string;
    /**
     * Success
     */
    success?: boolean;
    /**
     * Sessionid
     */
    sessionId?: string | null;
    /**
     * Result
     *
     * What the tool returned: any JSON value at all.
     */
    result: unknown;
};

/**
 * ToolCall
 *
 * A call that a model made of one of the tools.
 */
export type ToolCall = {
    /**
     * Id
     *
     * The call's, as the provider gave it.
     */
    id: string;
    /**
     * Name
     */
    name: string;
    /**
     * Arguments
     *
     * An object, or the JSON text that Chat Completions sends.
     */
    arguments?: unknown;
    /**
     * Scope
     *
     * How far handles lead: to the media of this session, or of the project.
     */
    scope?: 'session' | 'project';
};

/**
 * TurnEntry
 *
 * An entry of a history: exactly one of its members.
 */
export type TurnEntry = {
    /**
     * Message
     *
     * As `POST /api/sessions/{session_id}/messages` takes it.
     */
    message?: {
        [key: string]: unknown;
    } | null;
    /**
     * Toolresult
     *
     * As `POST /api/tool-results` takes it, without `sessionId`.
     */
    toolResult?: {
        [key: string]: unknown;
    } | null;
    /**
     * A call of one of the memory's tools, which is run; its message is appended too, unless the history has it.
     */
    toolCall?: ToolCall | null;
};

/**
 * TurnRender
 *
 * How the session is to be rendered once the turn is appended.
 */
export type TurnRender = {
    /**
     * Target
     *
     * Whose dialect to write.
     */
    target: 'openai-compat' | 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock' | 'mcp' | 'langchain' | 'vercel' | 'vercel-6' | 'text';
    /**
     * Accept
     *
     * MIME types and ranges that the model can take; the rest degrades.
     */
    accept?: Array<string> | null;
    media?: MediaWish;
    detail?: ImageDetail | null;
    /**
     * Maxbytes
     */
    maxBytes?: number | null;
    /**
     * Maximages
     */
    maxImages?: number | null;
    audience?: Audience;
    /**
     * Of `mcp`: the revision of the protocol. Before 2026-07-28 `structuredContent` is an object or absent, before 2025-06-18 absent.
     */
    protocolVersion?: McpRevision;
    /**
     * Handles
     *
     * A line behind each stored medium names it: `[image @blob:…]`.
     */
    handles?: boolean;
    /**
     * Memory
     *
     * Of a session: a message of the system before all others, with the rules of the memory's tools, and with the session's pages.
     */
    memory?: Array<MemoryPart>;
    /**
     * Memorytokens
     *
     * The most tokens of the list of pages.
     */
    memoryTokens?: number;
    /**
     * Maxtokens
     *
     * The most tokens. What is old gives way to smaller levels of itself, and `loss` says what and how to get it back.
     */
    maxTokens?: number | null;
    /**
     * Evictbatch
     *
     * With a frontier: how many tokens below `maxTokens` a history that has passed it is brought, so that the turns that follow only append. A quarter of the limit by default.
     */
    evictBatch?: number | null;
    /**
     * Frontier
     *
     * Of a session: how far it was evicted before. A name: that is kept under it, and moved on by this request. An object, as the last answer has it: nothing is kept here.
     */
    frontier?: string | Frontier | null;
    /**
     * Cachemarkers
     *
     * Marks for `anthropic` (`cache_control`) and `bedrock` (`cachePoint`) at the last message, and, with a frontier, at the last one that was sent before. They count in no `prefixHash`.
     */
    cacheMarkers?: boolean;
    /**
     * Since
     *
     * Only entries after this `seq`.
     */
    since?: number;
};

/**
 * TurnRequest
 *
 * All that one step of an agent appends to a session, in order, and the rendering it wants.
 */
export type TurnRequest = {
    /**
     * Entries
     */
    entries: Array<TurnEntry>;
    /**
     * Expectedseq
     *
     * The last `seq` you know of; another one is a 409.
     */
    expectedSeq?: number | null;
    render?: TurnRender | null;
};

/**
 * ToolResultEvent
 *
 * A tool result was stored; `sanitized` is the stored record, byte for byte.
 */
export type ToolResultEvent = {
    /**
     * Sessionid
     *
     * Null for what is outside any session.
     */
    sessionId: string | null;
    /**
     * Seq
     *
     * The number the write took in its session, null outside.
     */
    seq: number | null;
    /**
     * Id
     *
     * Of what was written: a record, a page, a session.
     */
    id: string;
    /**
     * Createdat
     */
    createdAt: string;
    /**
     * Toolname
     */
    toolName: string;
    /**
     * Callid
     */
    callId: string;
    /**
     * Success
     */
    success: boolean;
    sanitized: SanitizedToolResult;
    /**
     * Rawresult
     *
     * What the tool returned; only while `DECTO_DEBUG_TOOL_RESULT_RAW` is on.
     */
    rawResult?: unknown;
};

/**
 * MessageEvent
 *
 * A message was appended to a session; `message` is the stored one, media as references.
 */
export type MessageEvent = {
    /**
     * Sessionid
     *
     * Null for what is outside any session.
     */
    sessionId: string | null;
    /**
     * Seq
     *
     * The number the write took in its session, null outside.
     */
    seq: number | null;
    /**
     * Id
     *
     * Of what was written: a record, a page, a session.
     */
    id: string;
    /**
     * Createdat
     */
    createdAt: string;
    /**
     * Role
     */
    role: string;
    /**
     * Message
     */
    message: {
        [key: string]: unknown;
    };
};

/**
 * InteractionEvent
 *
 * A user's turn was stored, as it was before its answer.
 */
export type InteractionEvent = {
    /**
     * Sessionid
     *
     * Null for what is outside any session.
     */
    sessionId: string | null;
    /**
     * Seq
     *
     * The number the write took in its session, null outside.
     */
    seq: number | null;
    /**
     * Id
     *
     * Of what was written: a record, a page, a session.
     */
    id: string;
    /**
     * Createdat
     */
    createdAt: string;
    inputKind: InputKind;
    interaction: Interaction;
};

/**
 * AnswerEvent
 *
 * The answer of an interaction was set; `id` is that of the interaction.
 */
export type AnswerEvent = {
    /**
     * Sessionid
     *
     * Null for what is outside any session.
     */
    sessionId: string | null;
    /**
     * Seq
     *
     * The number the write took in its session, null outside.
     */
    seq: number | null;
    /**
     * Id
     *
     * Of what was written: a record, a page, a session.
     */
    id: string;
    /**
     * Createdat
     */
    createdAt: string;
    inputKind: InputKind;
    output: ChatMessage;
};

/**
 * PageEvent
 *
 * A page was created, changed or deleted; `id` is its id.
 */
export type PageEvent = {
    /**
     * Sessionid
     *
     * Null for what is outside any session.
     */
    sessionId: string | null;
    /**
     * Seq
     *
     * The number the write took in its session, null outside.
     */
    seq: number | null;
    /**
     * Id
     *
     * Of what was written: a record, a page, a session.
     */
    id: string;
    /**
     * Createdat
     */
    createdAt: string;
    /**
     * Version
     *
     * Its version then; of a deleted page, the last.
     */
    version: number;
    modality: Modality;
    pageType: PageType;
};

/**
 * PageFaultEvent
 *
 * A page was faulted in; in a session, `messageId` is that of the message in its history.
 */
export type PageFaultEvent = {
    /**
     * Sessionid
     *
     * Null for what is outside any session.
     */
    sessionId: string | null;
    /**
     * Seq
     *
     * The number the write took in its session, null outside.
     */
    seq: number | null;
    /**
     * Id
     *
     * Of what was written: a record, a page, a session.
     */
    id: string;
    /**
     * Createdat
     */
    createdAt: string;
    /**
     * Level
     */
    level: 'FULL' | 'REDUCED' | 'ABSTRACT' | 'REFERENCE';
    /**
     * Callid
     */
    callId: string | null;
    /**
     * Messageid
     */
    messageId: string | null;
};

/**
 * ImportedEntries
 *
 * How many entries of each kind came with a session.
 */
export type ImportedEntries = {
    /**
     * Toolresults
     */
    toolResults: number;
    /**
     * Pagefaults
     */
    pageFaults: number;
    /**
     * Messages
     */
    messages: number;
    /**
     * Interactions
     */
    interactions: number;
    /**
     * Answers
     */
    answers: number;
};

/**
 * SessionImportedEvent
 *
 * A session came in as a bundle; `seq` is the last number it had. Its history has the rest.
 */
export type SessionImportedEvent = {
    /**
     * Sessionid
     *
     * Null for what is outside any session.
     */
    sessionId: string | null;
    /**
     * Seq
     *
     * The number the write took in its session, null outside.
     */
    seq: number | null;
    /**
     * Id
     *
     * Of what was written: a record, a page, a session.
     */
    id: string;
    /**
     * Createdat
     */
    createdAt: string;
    imported: ImportedEntries;
};

/**
 * SessionDeletedEvent
 *
 * A session was deleted with its history and its pages, and what its events said.
 */
export type SessionDeletedEvent = {
    /**
     * Sessionid
     *
     * Null for what is outside any session.
     */
    sessionId: string | null;
    /**
     * Seq
     *
     * The number the write took in its session, null outside.
     */
    seq: number | null;
    /**
     * Id
     *
     * Of what was written: a record, a page, a session.
     */
    id: string;
    /**
     * Createdat
     */
    createdAt: string;
    deleted: EntryCounts;
};

/**
 * ResetEvent
 *
 * The position that was asked for is not kept: load anew what you show.
 *
 * It is no event of the log. What follows in the stream is from `position` on.
 */
export type ResetEvent = {
    /**
     * Reason
     */
    reason: 'position-not-kept';
    /**
     * Position
     */
    position: number;
};

export type ListToolResultsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Sessionid
         */
        sessionId?: string | null;
        /**
         * Limit
         *
         * How many items a page holds.
         */
        limit?: number;
        /**
         * Cursor
         *
         * `nextCursor` of the page before.
         */
        cursor?: string | null;
    };
    url: '/api/tool-results';
};

export type ListToolResultsErrors = {
    /**
     * The cursor is not valid
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type ListToolResultsError = ListToolResultsErrors[keyof ListToolResultsErrors];

export type ListToolResultsResponses = {
    /**
     * Successful Response
     */
    200: ToolResultPage;
};

export type ListToolResultsResponse = ListToolResultsResponses[keyof ListToolResultsResponses];

export type CreateToolResultData = {
    body: ToolResultRequest;
    headers?: {
        /**
         * Idempotency-Key
         */
        'idempotency-key'?: string | null;
    };
    path?: never;
    query?: {
        /**
         * Render
         *
         * The target to render the record for, in the same answer.
         */
        render?: 'openai-compat' | 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock' | 'mcp' | 'langchain' | 'vercel' | 'vercel-6' | 'text';
        /**
         * Handles
         *
         * `1`: a line behind each stored medium names it, such as `[image @blob:… shot.png]`. A model can repeat the `@blob:` in its next call.
         */
        handles?: boolean;
    };
    url: '/api/tool-results';
};

export type CreateToolResultErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type CreateToolResultError = CreateToolResultErrors[keyof CreateToolResultErrors];

export type CreateToolResultResponses = {
    /**
     * The same call, answered before.
     */
    200: RenderedToolResult;
    /**
     * Successful Response
     */
    201: RenderedToolResult;
};

export type CreateToolResultResponse = CreateToolResultResponses[keyof CreateToolResultResponses];

export type GetToolResultData = {
    body?: never;
    path: {
        /**
         * Tool Result Id
         */
        tool_result_id: string;
    };
    query?: never;
    url: '/api/tool-results/{tool_result_id}';
};

export type GetToolResultErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetToolResultError = GetToolResultErrors[keyof GetToolResultErrors];

export type GetToolResultResponses = {
    /**
     * Successful Response
     */
    200: ToolResultRecord;
};

export type GetToolResultResponse = GetToolResultResponses[keyof GetToolResultResponses];

export type ListResourcesData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Limit
         *
         * How many items a page holds.
         */
        limit?: number;
        /**
         * Cursor
         *
         * `nextCursor` of the page before.
         */
        cursor?: string | null;
    };
    url: '/api/resources';
};

export type ListResourcesErrors = {
    /**
     * The cursor is not valid
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type ListResourcesError = ListResourcesErrors[keyof ListResourcesErrors];

export type ListResourcesResponses = {
    /**
     * Successful Response
     */
    200: ResourcePage;
};

export type ListResourcesResponse = ListResourcesResponses[keyof ListResourcesResponses];

export type CreateResourceData = {
    body: Blob | File;
    headers?: {
        /**
         * Repr-Digest
         *
         * RFC 9530: `sha-256=:…:`, verified.
         */
        'repr-digest'?: string | null;
    };
    path?: never;
    query?: {
        /**
         * Filename
         */
        filename?: string | null;
        /**
         * Alias
         *
         * What another system calls the file; see `PUT /api/aliases/{alias}`.
         */
        alias?: string | null;
    };
    url: '/api/resources';
};

export type CreateResourceErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type CreateResourceError = CreateResourceErrors[keyof CreateResourceErrors];

export type CreateResourceResponses = {
    /**
     * The same file, kept before.
     */
    200: ResourceRecord;
    /**
     * Successful Response
     */
    201: ResourceRecord;
};

export type CreateResourceResponse = CreateResourceResponses[keyof CreateResourceResponses];

export type DeleteResourceData = {
    body?: never;
    path: {
        /**
         * Uri
         *
         * The `blob:` URI, percent-encoded, or its 32 hex digits alone.
         */
        uri: string;
    };
    query?: never;
    url: '/api/resources/{uri}';
};

export type DeleteResourceErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type DeleteResourceError = DeleteResourceErrors[keyof DeleteResourceErrors];

export type DeleteResourceResponses = {
    /**
     * Successful Response
     */
    204: void;
};

export type DeleteResourceResponse = DeleteResourceResponses[keyof DeleteResourceResponses];

export type GetResourceData = {
    body?: never;
    path: {
        /**
         * Uri
         *
         * The `blob:` URI, percent-encoded, or its 32 hex digits alone.
         */
        uri: string;
    };
    query?: never;
    url: '/api/resources/{uri}';
};

export type GetResourceErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetResourceError = GetResourceErrors[keyof GetResourceErrors];

export type GetResourceResponses = {
    /**
     * Successful Response
     */
    200: ResourceRecord;
};

export type GetResourceResponse = GetResourceResponses[keyof GetResourceResponses];

export type HeadResourceData = {
    body?: never;
    path: {
        /**
         * Uri
         *
         * The `blob:` URI, percent-encoded, or its 32 hex digits alone.
         */
        uri: string;
    };
    query?: never;
    url: '/api/resources/{uri}';
};

export type HeadResourceErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type HeadResourceError = HeadResourceErrors[keyof HeadResourceErrors];

export type HeadResourceResponses = {
    /**
     * Successful Response
     */
    200: unknown;
};

export type CreateSignedUrlData = {
    body?: SignedUrlRequest;
    path: {
        /**
         * Uri
         *
         * The `blob:` URI, percent-encoded, or its 32 hex digits alone.
         */
        uri: string;
    };
    query?: never;
    url: '/api/resources/{uri}/signed-url';
};

export type CreateSignedUrlErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type CreateSignedUrlError = CreateSignedUrlErrors[keyof CreateSignedUrlErrors];

export type CreateSignedUrlResponses = {
    /**
     * Successful Response
     */
    200: SignedUrl;
};

export type CreateSignedUrlResponse = CreateSignedUrlResponses[keyof CreateSignedUrlResponses];

export type GetResourceContentData = {
    body?: never;
    path: {
        /**
         * Uri
         *
         * The `blob:` URI, percent-encoded, or its 32 hex digits alone.
         */
        uri: string;
    };
    query?: {
        /**
         * Token
         *
         * Of a signed URL.
         */
        token?: string | null;
        /**
         * Download
         *
         * Send it as an attachment.
         */
        download?: boolean;
        /**
         * Filename
         */
        filename?: string | null;
    };
    url: '/api/resources/{uri}/content';
};

export type GetResourceContentErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The link is not valid
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The range lies outside the content
     */
    416: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetResourceContentError = GetResourceContentErrors[keyof GetResourceContentErrors];

export type GetResourceContentResponses = {
    /**
     * The whole content.
     */
    200: Blob | File;
    /**
     * The asked ranges.
     */
    206: Blob | File;
};

export type GetResourceContentResponse = GetResourceContentResponses[keyof GetResourceContentResponses];

export type HeadResourceContentData = {
    body?: never;
    path: {
        /**
         * Uri
         *
         * The `blob:` URI, percent-encoded, or its 32 hex digits alone.
         */
        uri: string;
    };
    query?: {
        /**
         * Token
         *
         * Of a signed URL.
         */
        token?: string | null;
        /**
         * Download
         *
         * Send it as an attachment.
         */
        download?: boolean;
        /**
         * Filename
         */
        filename?: string | null;
    };
    url: '/api/resources/{uri}/content';
};

export type HeadResourceContentErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The link is not valid
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The range lies outside the content
     */
    416: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type HeadResourceContentError = HeadResourceContentErrors[keyof HeadResourceContentErrors];

export type HeadResourceContentResponses = {
    /**
     * The headers of the whole content.
     */
    200: unknown;
};

export type GetResourceTextData = {
    body?: never;
    path: {
        /**
         * Uri
         *
         * The `blob:` URI, percent-encoded, or its 32 hex digits alone.
         */
        uri: string;
    };
    query?: {
        /**
         * Lines
         *
         * `10-50`, `10-`, `10`, or `-50` for the last fifty; counted from 1, both included.
         */
        lines?: string | null;
        /**
         * Grep
         *
         * Only lines that hold this text; it is no pattern.
         */
        grep?: string | null;
        /**
         * Ignorecase
         *
         * Of `grep`: whether `A` is `a`.
         */
        ignoreCase?: boolean;
        /**
         * Context
         *
         * Of `grep`: how many lines around each match.
         */
        context?: number;
        /**
         * Pointer
         *
         * A JSON pointer (RFC 6901); empty for the whole.
         */
        pointer?: string | null;
    };
    url: '/api/resources/{uri}/text';
};

export type GetResourceTextErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * Too many requests at once; or: A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetResourceTextError = GetResourceTextErrors[keyof GetResourceTextErrors];

export type GetResourceTextResponses = {
    /**
     * The piece; its text alone with `Accept: text/plain`.
     */
    200: TextPiece;
};

export type GetResourceTextResponse = GetResourceTextResponses[keyof GetResourceTextResponses];

export type ListAliasesData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Uri
         *
         * Only the aliases of this resource.
         */
        uri?: string | null;
        /**
         * Limit
         *
         * How many items a page holds.
         */
        limit?: number;
        /**
         * Cursor
         *
         * `nextCursor` of the page before.
         */
        cursor?: string | null;
    };
    url: '/api/aliases';
};

export type ListAliasesErrors = {
    /**
     * The cursor is not valid
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type ListAliasesError = ListAliasesErrors[keyof ListAliasesErrors];

export type ListAliasesResponses = {
    /**
     * Successful Response
     */
    200: AliasPage;
};

export type ListAliasesResponse = ListAliasesResponses[keyof ListAliasesResponses];

export type DeleteAliasData = {
    body?: never;
    headers?: {
        /**
         * If-Match
         *
         * Write only over this version (its ETag), else 412.
         */
        'if-match'?: string | null;
    };
    path: {
        /**
         * Alias
         *
         * Visible ASCII without `/`, `\` and `"`, percent-encoded; not of the form of a resource's id or URI, nor `.` or `..`.
         */
        alias: string;
    };
    query?: never;
    url: '/api/aliases/{alias}';
};

export type DeleteAliasErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type DeleteAliasError = DeleteAliasErrors[keyof DeleteAliasErrors];

export type DeleteAliasResponses = {
    /**
     * Successful Response
     */
    204: void;
};

export type DeleteAliasResponse = DeleteAliasResponses[keyof DeleteAliasResponses];

export type GetAliasData = {
    body?: never;
    path: {
        /**
         * Alias
         *
         * Visible ASCII without `/`, `\` and `"`, percent-encoded; not of the form of a resource's id or URI, nor `.` or `..`.
         */
        alias: string;
    };
    query?: never;
    url: '/api/aliases/{alias}';
};

export type GetAliasErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetAliasError = GetAliasErrors[keyof GetAliasErrors];

export type GetAliasResponses = {
    /**
     * Successful Response
     */
    200: AliasRecord;
};

export type GetAliasResponse = GetAliasResponses[keyof GetAliasResponses];

export type PutAliasData = {
    body: AliasDraft;
    headers?: {
        /**
         * If-Match
         *
         * Write only over this version (its ETag), else 412.
         */
        'if-match'?: string | null;
        /**
         * If-None-Match
         *
         * `*`: write only if there is no such alias yet, else 412.
         */
        'if-none-match'?: string | null;
    };
    path: {
        /**
         * Alias
         *
         * Visible ASCII without `/`, `\` and `"`, percent-encoded; not of the form of a resource's id or URI, nor `.` or `..`.
         */
        alias: string;
    };
    query?: never;
    url: '/api/aliases/{alias}';
};

export type PutAliasErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type PutAliasError = PutAliasErrors[keyof PutAliasErrors];

export type PutAliasResponses = {
    /**
     * It was there, or names another one now.
     */
    200: AliasRecord;
    /**
     * Successful Response
     */
    201: AliasRecord;
};

export type PutAliasResponse = PutAliasResponses[keyof PutAliasResponses];

export type ResolveReferencesData = {
    body: ResolveRequest;
    path?: never;
    query?: never;
    url: '/api/resolve';
};

export type ResolveReferencesErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type ResolveReferencesError = ResolveReferencesErrors[keyof ResolveReferencesErrors];

export type ResolveReferencesResponses = {
    /**
     * Successful Response
     */
    200: ResolvedArguments;
};

export type ResolveReferencesResponse = ResolveReferencesResponses[keyof ResolveReferencesResponses];

export type ListPagesData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Limit
         *
         * How many items a page holds.
         */
        limit?: number;
        /**
         * Cursor
         *
         * `nextCursor` of the page before.
         */
        cursor?: string | null;
        /**
         * Session Id
         */
        session_id?: string | null;
        /**
         * Modality
         */
        modality?: Modality | null;
        /**
         * Page Type
         */
        page_type?: PageType | null;
        /**
         * Pinned
         */
        pinned?: boolean | null;
        /**
         * Level
         *
         * 0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE); by number or by name.
         */
        level?: string | null;
    };
    url: '/api/pages';
};

export type ListPagesErrors = {
    /**
     * The cursor is not valid
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type ListPagesError = ListPagesErrors[keyof ListPagesErrors];

export type ListPagesResponses = {
    /**
     * Successful Response
     */
    200: PageList;
};

export type ListPagesResponse = ListPagesResponses[keyof ListPagesResponses];

export type CreatePageData = {
    body: PageDraft;
    headers?: {
        /**
         * Idempotency-Key
         */
        'idempotency-key'?: string | null;
    };
    path?: never;
    query?: never;
    url: '/api/pages';
};

export type CreatePageErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type CreatePageError = CreatePageErrors[keyof CreatePageErrors];

export type CreatePageResponses = {
    /**
     * The same request, answered before.
     */
    200: PageRecord;
    /**
     * Successful Response
     */
    201: PageRecord;
};

export type CreatePageResponse = CreatePageResponses[keyof CreatePageResponses];

export type CreatePagesData = {
    body: PageBatch;
    path?: never;
    query?: never;
    url: '/api/pages/bulk';
};

export type CreatePagesErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type CreatePagesError = CreatePagesErrors[keyof CreatePagesErrors];

export type CreatePagesResponses = {
    /**
     * Successful Response
     */
    201: CreatedPages;
};

export type CreatePagesResponse = CreatePagesResponses[keyof CreatePagesResponses];

export type SearchPagesData = {
    body?: never;
    path?: never;
    query: {
        /**
         * Q
         *
         * Words, all of which a page holds; `"a phrase"`; `begin*`.
         */
        q: string;
        /**
         * Limit
         *
         * How many items a page holds.
         */
        limit?: number;
        /**
         * Cursor
         *
         * `nextCursor` of the page before.
         */
        cursor?: string | null;
        /**
         * Session Id
         */
        session_id?: string | null;
        /**
         * Modality
         */
        modality?: Modality | null;
    };
    url: '/api/pages/search';
};

export type SearchPagesErrors = {
    /**
     * The cursor is not valid
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type SearchPagesError = SearchPagesErrors[keyof SearchPagesErrors];

export type SearchPagesResponses = {
    /**
     * Successful Response
     */
    200: SearchHits;
};

export type SearchPagesResponse = SearchPagesResponses[keyof SearchPagesResponses];

export type DeletePageData = {
    body?: never;
    headers?: {
        /**
         * If-Match
         *
         * Write only over this version (its ETag), else 412.
         */
        'if-match'?: string | null;
    };
    path: {
        /**
         * Page Id
         *
         * The client's id of the page.
         */
        page_id: string;
    };
    query?: never;
    url: '/api/pages/{page_id}';
};

export type DeletePageErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type DeletePageError = DeletePageErrors[keyof DeletePageErrors];

export type DeletePageResponses = {
    /**
     * Successful Response
     */
    204: void;
};

export type DeletePageResponse = DeletePageResponses[keyof DeletePageResponses];

export type GetPageData = {
    body?: never;
    path: {
        /**
         * Page Id
         *
         * The client's id of the page.
         */
        page_id: string;
    };
    query?: {
        /**
         * Media
         *
         * `inline` gives moved data URIs back, byte for byte.
         */
        media?: 'reference' | 'inline';
    };
    url: '/api/pages/{page_id}';
};

export type GetPageErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetPageError = GetPageErrors[keyof GetPageErrors];

export type GetPageResponses = {
    /**
     * The page; for people, with `Accept: text/plain`.
     */
    200: PageRecord;
};

export type GetPageResponse = GetPageResponses[keyof GetPageResponses];

export type HeadPageData = {
    body?: never;
    path: {
        /**
         * Page Id
         *
         * The client's id of the page.
         */
        page_id: string;
    };
    query?: {
        /**
         * Media
         *
         * `inline` gives moved data URIs back, byte for byte.
         */
        media?: 'reference' | 'inline';
    };
    url: '/api/pages/{page_id}';
};

export type HeadPageErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type HeadPageError = HeadPageErrors[keyof HeadPageErrors];

export type HeadPageResponses = {
    /**
     * Successful Response
     */
    200: unknown;
};

export type PatchPageData = {
    body: PagePatch;
    headers?: {
        /**
         * If-Match
         *
         * Write only over this version (its ETag), else 412.
         */
        'if-match'?: string | null;
    };
    path: {
        /**
         * Page Id
         *
         * The client's id of the page.
         */
        page_id: string;
    };
    query?: never;
    url: '/api/pages/{page_id}';
};

export type PatchPageErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type PatchPageError = PatchPageErrors[keyof PatchPageErrors];

export type PatchPageResponses = {
    /**
     * Successful Response
     */
    200: PageRecord;
};

export type PatchPageResponse = PatchPageResponses[keyof PatchPageResponses];

export type PutPageData = {
    body: PageDraft;
    headers?: {
        /**
         * If-Match
         *
         * Write only over this version (its ETag), else 412.
         */
        'if-match'?: string | null;
        /**
         * If-None-Match
         *
         * `*`: write only if there is no such page yet, else 412.
         */
        'if-none-match'?: string | null;
    };
    path: {
        /**
         * Page Id
         *
         * The client's id of the page.
         */
        page_id: string;
    };
    query?: never;
    url: '/api/pages/{page_id}';
};

export type PutPageErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type PutPageError = PutPageErrors[keyof PutPageErrors];

export type PutPageResponses = {
    /**
     * Successful Response
     */
    200: PageRecord;
    /**
     * The page was created.
     */
    201: PageRecord;
};

export type PutPageResponse = PutPageResponses[keyof PutPageResponses];

export type GetPageContentData = {
    body?: never;
    path: {
        /**
         * Page Id
         *
         * The client's id of the page.
         */
        page_id: string;
    };
    query?: {
        /**
         * Media
         *
         * Stored media as base64 (`inline`) or as their `@blob:` reference.
         */
        media?: 'inline' | 'reference';
        /**
         * Level
         *
         * 0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE); by number or by name.
         */
        level?: string | null;
    };
    url: '/api/pages/{page_id}/content';
};

export type GetPageContentErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetPageContentError = GetPageContentErrors[keyof GetPageContentErrors];

export type GetPageContentResponses = {
    /**
     * Response Get Page Content
     *
     * Successful Response
     */
    200: ({
        type: 'text';
    } & TextContent) | ({
        type: 'image';
    } & ImageContent) | ({
        type: 'audio';
    } & AudioContent) | ({
        type: 'video';
    } & VideoContent) | ({
        type: 'structured';
    } & StructuredContent);
};

export type GetPageContentResponse = GetPageContentResponses[keyof GetPageContentResponses];

export type GetPageBlocksData = {
    body?: never;
    path: {
        /**
         * Page Id
         *
         * The client's id of the page.
         */
        page_id: string;
    };
    query?: {
        /**
         * Form
         *
         * `json`: `content` is one JSON string with the page in it.
         */
        form?: 'blocks' | 'json' | null;
        /**
         * Level
         *
         * 0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE); by number or by name.
         */
        level?: string | null;
        /**
         * Media
         *
         * Stored media as base64 (`inline`) or as their `@blob:` reference.
         */
        media?: 'inline' | 'reference';
        /**
         * Detail
         *
         * Of the image, for the model.
         */
        detail?: 'low' | 'high' | 'auto';
        /**
         * Max Chars
         *
         * How much of the level's text; media are never cut.
         */
        max_chars?: number | null;
        /**
         * Offset
         *
         * Where in the text to begin.
         */
        offset?: number;
    };
    url: '/api/pages/{page_id}/blocks';
};

export type GetPageBlocksErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetPageBlocksError = GetPageBlocksErrors[keyof GetPageBlocksErrors];

export type GetPageBlocksResponses = {
    /**
     * Successful Response
     */
    200: PageBlocksRecord;
};

export type GetPageBlocksResponse = GetPageBlocksResponses[keyof GetPageBlocksResponses];

export type FaultPageData = {
    body?: FaultRequest;
    path: {
        /**
         * Page Id
         *
         * The client's id of the page.
         */
        page_id: string;
    };
    query?: {
        /**
         * Form
         *
         * `json`: `content` is one JSON string with the page in it.
         */
        form?: 'blocks' | 'json' | null;
    };
    url: '/api/pages/{page_id}/fault';
};

export type FaultPageErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type FaultPageError = FaultPageErrors[keyof FaultPageErrors];

export type FaultPageResponses = {
    /**
     * Successful Response
     */
    200: PageToolMessage;
};

export type FaultPageResponse = FaultPageResponses[keyof FaultPageResponses];

export type DownloadPageData = {
    body?: never;
    path: {
        /**
         * Page Id
         *
         * The client's id of the page.
         */
        page_id: string;
    };
    query?: {
        /**
         * Level
         *
         * 0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE); by number or by name.
         */
        level?: string | null;
    };
    url: '/api/pages/{page_id}/download';
};

export type DownloadPageErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The range lies outside the content
     */
    416: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes; or: The URL is not fetched
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * The URL's server did not answer with a file
     */
    502: Problem;
    /**
     * Too many fetches at once
     */
    503: Problem;
    /**
     * The URL's server took too long
     */
    504: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type DownloadPageError = DownloadPageErrors[keyof DownloadPageErrors];

export type DownloadPageResponses = {
    /**
     * The file.
     */
    200: Blob | File;
    /**
     * The asked ranges.
     */
    206: Blob | File;
};

export type DownloadPageResponse = DownloadPageResponses[keyof DownloadPageResponses];

export type HeadPageDownloadData = {
    body?: never;
    path: {
        /**
         * Page Id
         *
         * The client's id of the page.
         */
        page_id: string;
    };
    query?: {
        /**
         * Level
         *
         * 0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE); by number or by name.
         */
        level?: string | null;
    };
    url: '/api/pages/{page_id}/download';
};

export type HeadPageDownloadErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The range lies outside the content
     */
    416: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes; or: The URL is not fetched
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * The URL's server did not answer with a file
     */
    502: Problem;
    /**
     * Too many fetches at once
     */
    503: Problem;
    /**
     * The URL's server took too long
     */
    504: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type HeadPageDownloadError = HeadPageDownloadErrors[keyof HeadPageDownloadErrors];

export type HeadPageDownloadResponses = {
    /**
     * The headers of the file.
     */
    200: unknown;
};

export type DeletePageRepresentationData = {
    body?: never;
    headers?: {
        /**
         * If-Match
         *
         * Write only over this version (its ETag), else 412.
         */
        'if-match'?: string | null;
    };
    path: {
        /**
         * Page Id
         *
         * The client's id of the page.
         */
        page_id: string;
        /**
         * Level
         *
         * 0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE); by number or by name.
         */
        level: string;
    };
    query?: never;
    url: '/api/pages/{page_id}/representations/{level}';
};

export type DeletePageRepresentationErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type DeletePageRepresentationError = DeletePageRepresentationErrors[keyof DeletePageRepresentationErrors];

export type DeletePageRepresentationResponses = {
    /**
     * Successful Response
     */
    204: void;
};

export type DeletePageRepresentationResponse = DeletePageRepresentationResponses[keyof DeletePageRepresentationResponses];

export type GetPageRepresentationData = {
    body?: never;
    path: {
        /**
         * Page Id
         *
         * The client's id of the page.
         */
        page_id: string;
        /**
         * Level
         *
         * 0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE); by number or by name.
         */
        level: string;
    };
    query?: never;
    url: '/api/pages/{page_id}/representations/{level}';
};

export type GetPageRepresentationErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetPageRepresentationError = GetPageRepresentationErrors[keyof GetPageRepresentationErrors];

export type GetPageRepresentationResponses = {
    /**
     * Successful Response
     */
    200: PageLevelRecord;
};

export type GetPageRepresentationResponse = GetPageRepresentationResponses[keyof GetPageRepresentationResponses];

export type PutPageRepresentationData = {
    body: RepresentationDraft;
    headers?: {
        /**
         * If-Match
         *
         * Write only over this version (its ETag), else 412.
         */
        'if-match'?: string | null;
    };
    path: {
        /**
         * Page Id
         *
         * The client's id of the page.
         */
        page_id: string;
        /**
         * Level
         *
         * 0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE); by number or by name.
         */
        level: string;
    };
    query?: never;
    url: '/api/pages/{page_id}/representations/{level}';
};

export type PutPageRepresentationErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type PutPageRepresentationError = PutPageRepresentationErrors[keyof PutPageRepresentationErrors];

export type PutPageRepresentationResponses = {
    /**
     * Successful Response
     */
    200: PageLevelRecord;
    /**
     * The level was not supplied before.
     */
    201: PageLevelRecord;
};

export type PutPageRepresentationResponse = PutPageRepresentationResponses[keyof PutPageRepresentationResponses];

export type ListSessionsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Q
         *
         * Only sessions whose id has this in it.
         */
        q?: string | null;
        /**
         * Limit
         *
         * How many items a page holds.
         */
        limit?: number;
        /**
         * Cursor
         *
         * `nextCursor` of the page before.
         */
        cursor?: string | null;
    };
    url: '/api/sessions';
};

export type ListSessionsErrors = {
    /**
     * The cursor is not valid
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type ListSessionsError = ListSessionsErrors[keyof ListSessionsErrors];

export type ListSessionsResponses = {
    /**
     * Successful Response
     */
    200: SessionPage;
};

export type ListSessionsResponse = ListSessionsResponses[keyof ListSessionsResponses];

export type DeleteSessionData = {
    body?: never;
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query?: never;
    url: '/api/sessions/{session_id}';
};

export type DeleteSessionErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type DeleteSessionError = DeleteSessionErrors[keyof DeleteSessionErrors];

export type DeleteSessionResponses = {
    /**
     * Successful Response
     */
    200: DeletionReceipt;
};

export type DeleteSessionResponse = DeleteSessionResponses[keyof DeleteSessionResponses];

export type GetSessionData = {
    body?: never;
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query?: never;
    url: '/api/sessions/{session_id}';
};

export type GetSessionErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetSessionError = GetSessionErrors[keyof GetSessionErrors];

export type GetSessionResponses = {
    /**
     * Successful Response
     */
    200: SessionRecord;
};

export type GetSessionResponse = GetSessionResponses[keyof GetSessionResponses];

export type HeadSessionData = {
    body?: never;
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query?: never;
    url: '/api/sessions/{session_id}';
};

export type HeadSessionErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type HeadSessionError = HeadSessionErrors[keyof HeadSessionErrors];

export type HeadSessionResponses = {
    /**
     * Successful Response
     */
    200: unknown;
};

export type PutSessionData = {
    body?: never;
    headers?: {
        /**
         * If-Match
         *
         * Write only over this version (its ETag), else 412.
         */
        'if-match'?: string | null;
        /**
         * If-None-Match
         *
         * `*`: write only if there is no such page yet, else 412.
         */
        'if-none-match'?: string | null;
    };
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query?: never;
    url: '/api/sessions/{session_id}';
};

export type PutSessionErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type PutSessionError = PutSessionErrors[keyof PutSessionErrors];

export type PutSessionResponses = {
    /**
     * Successful Response
     */
    200: SessionRecord;
    /**
     * The session was created.
     */
    201: SessionRecord;
};

export type PutSessionResponse = PutSessionResponses[keyof PutSessionResponses];

export type GetManifestData = {
    body?: never;
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query?: {
        /**
         * Limit
         *
         * How many items a page holds.
         */
        limit?: number;
    };
    url: '/api/sessions/{session_id}/manifest';
};

export type GetManifestErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetManifestError = GetManifestErrors[keyof GetManifestErrors];

export type GetManifestResponses = {
    /**
     * The pages; for a model alone, with `Accept: text/plain`.
     */
    200: PageManifest;
};

export type GetManifestResponse = GetManifestResponses[keyof GetManifestResponses];

export type ListMessagesData = {
    body?: never;
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query?: {
        /**
         * Media
         *
         * `inline` puts the media of messages back in their places, byte for byte; tool results keep their references.
         */
        media?: 'reference' | 'inline';
        /**
         * Limit
         *
         * How many items a page holds.
         */
        limit?: number;
        /**
         * Cursor
         *
         * `nextCursor` of the page before.
         */
        cursor?: string | null;
        /**
         * After
         *
         * Begin behind the entry with this `seq`; no cursor then.
         */
        after?: number | null;
    };
    url: '/api/sessions/{session_id}/messages';
};

export type ListMessagesErrors = {
    /**
     * The cursor is not valid
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type ListMessagesError = ListMessagesErrors[keyof ListMessagesErrors];

export type ListMessagesResponses = {
    /**
     * Successful Response
     */
    200: MessagePage;
};

export type ListMessagesResponse = ListMessagesResponses[keyof ListMessagesResponses];

export type AppendMessageData = {
    body: HistoryMessageDraft;
    headers?: {
        /**
         * Idempotency-Key
         */
        'idempotency-key'?: string | null;
    };
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query?: never;
    url: '/api/sessions/{session_id}/messages';
};

export type AppendMessageErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type AppendMessageError = AppendMessageErrors[keyof AppendMessageErrors];

export type AppendMessageResponses = {
    /**
     * The same message, appended before.
     */
    200: HistoryMessage;
    /**
     * Successful Response
     */
    201: HistoryMessage;
};

export type AppendMessageResponse = AppendMessageResponses[keyof AppendMessageResponses];

export type GetMessageData = {
    body?: never;
    path: {
        /**
         * Session Id
         */
        session_id: string;
        /**
         * Seq
         */
        seq: number;
    };
    query?: {
        /**
         * Media
         *
         * `inline` puts the media of messages back in their places, byte for byte; tool results keep their references.
         */
        media?: 'reference' | 'inline';
    };
    url: '/api/sessions/{session_id}/messages/{seq}';
};

export type GetMessageErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetMessageError = GetMessageErrors[keyof GetMessageErrors];

export type GetMessageResponses = {
    /**
     * Successful Response
     */
    200: HistoryEntry;
};

export type GetMessageResponse = GetMessageResponses[keyof GetMessageResponses];

export type ListInteractionsData = {
    body?: never;
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query?: {
        /**
         * Input Kind
         *
         * Only interactions with such an input.
         */
        input_kind?: InputKind | null;
        /**
         * Limit
         *
         * How many items a page holds.
         */
        limit?: number;
        /**
         * Cursor
         *
         * `nextCursor` of the page before.
         */
        cursor?: string | null;
    };
    url: '/api/sessions/{session_id}/interactions';
};

export type ListInteractionsErrors = {
    /**
     * The cursor is not valid
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type ListInteractionsError = ListInteractionsErrors[keyof ListInteractionsErrors];

export type ListInteractionsResponses = {
    /**
     * Successful Response
     */
    200: InteractionPage;
};

export type ListInteractionsResponse = ListInteractionsResponses[keyof ListInteractionsResponses];

export type CreateInteractionData = {
    body: InteractionDraft;
    headers?: {
        /**
         * Idempotency-Key
         */
        'idempotency-key'?: string | null;
    };
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query?: {
        /**
         * Attachments
         *
         * `any` takes attachments whose ids nobody knows, and says which they are.
         */
        attachments?: 'known' | 'any';
    };
    url: '/api/sessions/{session_id}/interactions';
};

export type CreateInteractionErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * An attached file is missing; or: The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type CreateInteractionError = CreateInteractionErrors[keyof CreateInteractionErrors];

export type CreateInteractionResponses = {
    /**
     * The same request, answered before.
     */
    200: InteractionRecord;
    /**
     * Successful Response
     */
    201: InteractionRecord;
};

export type CreateInteractionResponse = CreateInteractionResponses[keyof CreateInteractionResponses];

export type GetInteractionData = {
    body?: never;
    path: {
        /**
         * Session Id
         */
        session_id: string;
        /**
         * Interaction Id
         */
        interaction_id: string;
    };
    query?: never;
    url: '/api/sessions/{session_id}/interactions/{interaction_id}';
};

export type GetInteractionErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetInteractionError = GetInteractionErrors[keyof GetInteractionErrors];

export type GetInteractionResponses = {
    /**
     * Successful Response
     */
    200: InteractionRecord;
};

export type GetInteractionResponse = GetInteractionResponses[keyof GetInteractionResponses];

export type SetInteractionOutputData = {
    body: ChatMessage;
    headers?: {
        /**
         * If-Match
         *
         * Write only over this version (its ETag), else 412.
         */
        'if-match'?: string | null;
    };
    path: {
        /**
         * Session Id
         */
        session_id: string;
        /**
         * Interaction Id
         */
        interaction_id: string;
    };
    query?: never;
    url: '/api/sessions/{session_id}/interactions/{interaction_id}/output';
};

export type SetInteractionOutputErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type SetInteractionOutputError = SetInteractionOutputErrors[keyof SetInteractionOutputErrors];

export type SetInteractionOutputResponses = {
    /**
     * Successful Response
     */
    200: InteractionRecord;
};

export type SetInteractionOutputResponse = SetInteractionOutputResponses[keyof SetInteractionOutputResponses];

export type ExportSessionData = {
    body?: never;
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query?: never;
    url: '/api/sessions/{session_id}/bundle';
};

export type ExportSessionErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type ExportSessionError = ExportSessionErrors[keyof ExportSessionErrors];

export type ExportSessionResponses = {
    /**
     * The bundle.
     */
    200: Blob | File;
};

export type ExportSessionResponse = ExportSessionResponses[keyof ExportSessionResponses];

export type ImportSessionData = {
    body: Blob | File;
    path?: never;
    query?: never;
    url: '/api/sessions/import';
};

export type ImportSessionErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The bundle is damaged
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type ImportSessionError = ImportSessionErrors[keyof ImportSessionErrors];

export type ImportSessionResponses = {
    /**
     * Successful Response
     */
    201: SessionRecord;
};

export type ImportSessionResponse = ImportSessionResponses[keyof ImportSessionResponses];

export type ExamineHistoryData = {
    body: Examination;
    path?: never;
    query?: {
        /**
         * Target
         *
         * For whom the history is; its own dialect by default.
         */
        target?: 'openai-compat' | 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock' | 'mcp' | 'langchain' | 'vercel' | 'vercel-6' | 'text' | null;
        /**
         * Apply
         *
         * Whether the healed history is wanted as well.
         */
        apply?: boolean;
        /**
         * Dialect
         *
         * What the history is meant to be in; what most of it is by default.
         */
        dialect?: 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock' | 'mcp' | 'langchain' | 'vercel' | null;
        /**
         * Maxtokens
         *
         * The most tokens. What is old gives way to smaller levels of itself, and `loss` says what and how to get it back.
         */
        maxTokens?: number | null;
    };
    url: '/api/doctor';
};

export type ExamineHistoryErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type ExamineHistoryError = ExamineHistoryErrors[keyof ExamineHistoryErrors];

export type ExamineHistoryResponses = {
    /**
     * Successful Response
     */
    200: Diagnosis;
};

export type ExamineHistoryResponse = ExamineHistoryResponses[keyof ExamineHistoryResponses];

export type RenderToolResultData = {
    body?: never;
    path: {
        /**
         * Tool Result Id
         */
        tool_result_id: string;
    };
    query: {
        /**
         * Target
         *
         * Whose dialect to write.
         */
        target: 'openai-compat' | 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock' | 'mcp' | 'langchain' | 'vercel' | 'vercel-6' | 'text';
        /**
         * Accept
         *
         * MIME types and ranges that the model can take, with commas; what is not among them degrades.
         */
        accept?: string | null;
        /**
         * `inline`: the bytes. `signed-url`: URLs, where the target loads any. `reference`: `@blob:` references, to look at and not to send.
         */
        media?: MediaWish;
        /**
         * Detail
         *
         * How closely a model is to look at images.
         */
        detail?: ImageDetail | null;
        /**
         * Maxbytes
         *
         * The most bytes of media in the messages, as base64; the oldest step down.
         */
        maxBytes?: number | null;
        /**
         * Maximages
         *
         * The most images; the newest stay.
         */
        maxImages?: number | null;
        /**
         * For whom; what MCP annotations keep for others is left out.
         */
        audience?: Audience;
        /**
         * Of `mcp`: the revision of the protocol. Before 2026-07-28 `structuredContent` is an object or absent, before 2025-06-18 absent.
         */
        protocolVersion?: McpRevision;
        /**
         * Handles
         *
         * `1`: a line behind each stored medium names it, such as `[image @blob:… shot.png]`. A model can repeat the `@blob:` in its next call.
         */
        handles?: boolean;
        /**
         * Maxtokens
         *
         * The most tokens. What is old gives way to smaller levels of itself, and `loss` says what and how to get it back.
         */
        maxTokens?: number | null;
    };
    url: '/api/tool-results/{tool_result_id}/render';
};

export type RenderToolResultErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type RenderToolResultError = RenderToolResultErrors[keyof RenderToolResultErrors];

export type RenderToolResultResponses = {
    /**
     * Successful Response
     */
    200: RenderedRecord;
};

export type RenderToolResultResponse = RenderToolResultResponses[keyof RenderToolResultResponses];

export type RenderPageData = {
    body?: never;
    path: {
        /**
         * Page Id
         *
         * The client's id of the page.
         */
        page_id: string;
    };
    query?: {
        /**
         * Toolcallid
         *
         * The call that the page answers; without one, an id made of the page's.
         */
        toolCallId?: string | null;
        /**
         * Level
         *
         * 0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE); by number or by name.
         */
        level?: string | null;
        /**
         * Target
         *
         * Whose dialect to write.
         */
        target?: 'openai-compat' | 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock' | 'mcp' | 'langchain' | 'vercel' | 'vercel-6' | 'text';
        /**
         * Accept
         *
         * MIME types and ranges that the model can take, with commas; what is not among them degrades.
         */
        accept?: string | null;
        /**
         * `inline`: the bytes. `signed-url`: URLs, where the target loads any. `reference`: `@blob:` references, to look at and not to send.
         */
        media?: MediaWish;
        /**
         * Detail
         *
         * How closely a model is to look at images.
         */
        detail?: ImageDetail | null;
        /**
         * Maxbytes
         *
         * The most bytes of media in the messages, as base64; the oldest step down.
         */
        maxBytes?: number | null;
        /**
         * Maximages
         *
         * The most images; the newest stay.
         */
        maxImages?: number | null;
        /**
         * For whom; what MCP annotations keep for others is left out.
         */
        audience?: Audience;
        /**
         * Of `mcp`: the revision of the protocol. Before 2026-07-28 `structuredContent` is an object or absent, before 2025-06-18 absent.
         */
        protocolVersion?: McpRevision;
        /**
         * Handles
         *
         * `1`: a line behind each stored medium names it, such as `[image @blob:… shot.png]`. A model can repeat the `@blob:` in its next call.
         */
        handles?: boolean;
        /**
         * Maxtokens
         *
         * The most tokens. What is old gives way to smaller levels of itself, and `loss` says what and how to get it back.
         */
        maxTokens?: number | null;
    };
    url: '/api/pages/{page_id}/render';
};

export type RenderPageErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type RenderPageError = RenderPageErrors[keyof RenderPageErrors];

export type RenderPageResponses = {
    /**
     * Successful Response
     */
    200: RenderedRecord;
};

export type RenderPageResponse = RenderPageResponses[keyof RenderPageResponses];

export type RenderSessionData = {
    body?: never;
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query: {
        /**
         * Since
         *
         * Only entries after this `seq` of the history.
         */
        since?: number;
        /**
         * Memory
         *
         * A message of the system before all others: `instructions`, the rules of the memory's tools; `manifest`, the session's pages; or both, with a comma.
         */
        memory?: string | null;
        /**
         * Memorytokens
         *
         * The most tokens of the list of pages.
         */
        memoryTokens?: number;
        /**
         * Frontier
         *
         * How far the history was evicted under this name, which is read here and not moved: POST to this address, or a turn, moves it.
         */
        frontier?: string | null;
        /**
         * Evictbatch
         *
         * With a frontier: how many tokens below `maxTokens` a history that has passed it is brought, so that the turns that follow only append. A quarter of the limit by default.
         */
        evictBatch?: number | null;
        /**
         * Cachemarkers
         *
         * `1`: Marks for `anthropic` (`cache_control`) and `bedrock` (`cachePoint`) at the last message, and, with a frontier, at the last one that was sent before. They count in no `prefixHash`.
         */
        cacheMarkers?: boolean;
        /**
         * Target
         *
         * Whose dialect to write.
         */
        target: 'openai-compat' | 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock' | 'mcp' | 'langchain' | 'vercel' | 'vercel-6' | 'text';
        /**
         * Accept
         *
         * MIME types and ranges that the model can take, with commas; what is not among them degrades.
         */
        accept?: string | null;
        /**
         * `inline`: the bytes. `signed-url`: URLs, where the target loads any. `reference`: `@blob:` references, to look at and not to send.
         */
        media?: MediaWish;
        /**
         * Detail
         *
         * How closely a model is to look at images.
         */
        detail?: ImageDetail | null;
        /**
         * Maxbytes
         *
         * The most bytes of media in the messages, as base64; the oldest step down.
         */
        maxBytes?: number | null;
        /**
         * Maximages
         *
         * The most images; the newest stay.
         */
        maxImages?: number | null;
        /**
         * For whom; what MCP annotations keep for others is left out.
         */
        audience?: Audience;
        /**
         * Of `mcp`: the revision of the protocol. Before 2026-07-28 `structuredContent` is an object or absent, before 2025-06-18 absent.
         */
        protocolVersion?: McpRevision;
        /**
         * Handles
         *
         * `1`: a line behind each stored medium names it, such as `[image @blob:… shot.png]`. A model can repeat the `@blob:` in its next call.
         */
        handles?: boolean;
        /**
         * Maxtokens
         *
         * The most tokens. What is old gives way to smaller levels of itself, and `loss` says what and how to get it back.
         */
        maxTokens?: number | null;
    };
    url: '/api/sessions/{session_id}/render';
};

export type RenderSessionErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type RenderSessionError = RenderSessionErrors[keyof RenderSessionErrors];

export type RenderSessionResponses = {
    /**
     * Successful Response
     */
    200: RenderedRecord;
};

export type RenderSessionResponse = RenderSessionResponses[keyof RenderSessionResponses];

export type RenderSessionOnData = {
    body: SessionRenderRequest;
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query?: never;
    url: '/api/sessions/{session_id}/render';
};

export type RenderSessionOnErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type RenderSessionOnError = RenderSessionOnErrors[keyof RenderSessionOnErrors];

export type RenderSessionOnResponses = {
    /**
     * Successful Response
     */
    200: RenderedRecord;
};

export type RenderSessionOnResponse = RenderSessionOnResponses[keyof RenderSessionOnResponses];

export type RenderRecordData = {
    body: RenderRequest;
    path?: never;
    query?: never;
    url: '/api/render';
};

export type RenderRecordErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type RenderRecordError = RenderRecordErrors[keyof RenderRecordErrors];

export type RenderRecordResponses = {
    /**
     * Successful Response
     */
    200: RenderedRecord;
};

export type RenderRecordResponse = RenderRecordResponses[keyof RenderRecordResponses];

export type ListToolsData = {
    body?: never;
    path?: never;
    query: {
        /**
         * Target
         *
         * Whose dialect to write.
         */
        target: 'openai-compat' | 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock' | 'mcp' | 'langchain' | 'vercel' | 'vercel-6' | 'text';
        /**
         * Only
         *
         * The tools wanted, with commas; all without.
         */
        only?: string | null;
    };
    url: '/api/tools';
};

export type ListToolsErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type ListToolsError = ListToolsErrors[keyof ListToolsErrors];

export type ListToolsResponses = {
    /**
     * Successful Response
     */
    200: ToolDefinitions;
};

export type ListToolsResponse = ListToolsResponses[keyof ListToolsResponses];

export type GetToolInstructionsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Style
         *
         * `strict`: answers rest on pages and cite them. `relaxed`: they may.
         */
        style?: 'strict' | 'relaxed';
    };
    url: '/api/tools/instructions';
};

export type GetToolInstructionsErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetToolInstructionsError = GetToolInstructionsErrors[keyof GetToolInstructionsErrors];

export type GetToolInstructionsResponses = {
    /**
     * The rules, one on each line.
     */
    200: string;
};

export type GetToolInstructionsResponse = GetToolInstructionsResponses[keyof GetToolInstructionsResponses];

export type RunToolCallData = {
    body: ToolCallRequest;
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query?: never;
    url: '/api/sessions/{session_id}/tool-calls';
};

export type RunToolCallErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type RunToolCallError = RunToolCallErrors[keyof RunToolCallErrors];

export type RunToolCallResponses = {
    /**
     * Successful Response
     */
    200: RenderedRecord;
};

export type RunToolCallResponse = RunToolCallResponses[keyof RunToolCallResponses];

export type AppendTurnData = {
    body: TurnRequest;
    headers?: {
        /**
         * Idempotency-Key
         */
        'idempotency-key'?: string | null;
    };
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query?: never;
    url: '/api/sessions/{session_id}/turns';
};

export type AppendTurnErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type AppendTurnError = AppendTurnErrors[keyof AppendTurnErrors];

export type AppendTurnResponses = {
    /**
     * Successful Response
     */
    200: TurnReceipt;
};

export type AppendTurnResponse = AppendTurnResponses[keyof AppendTurnResponses];

export type GetUploadOptionsData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/api/uploads';
};

export type GetUploadOptionsErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetUploadOptionsError = GetUploadOptionsErrors[keyof GetUploadOptionsErrors];

export type GetUploadOptionsResponses = {
    /**
     * What is spoken here.
     */
    204: void;
};

export type GetUploadOptionsResponse = GetUploadOptionsResponses[keyof GetUploadOptionsResponses];

export type CreateUploadData = {
    body?: never;
    headers?: {
        /**
         * Tus-Resumable
         *
         * `1.0.0`.
         */
        'tus-resumable'?: string | null;
        /**
         * Upload-Length
         *
         * Bytes of the whole file.
         */
        'upload-length'?: string | null;
        /**
         * Upload-Metadata
         *
         * `filename <base64>,filetype <base64>,alias <base64>`.
         */
        'upload-metadata'?: string | null;
    };
    path?: never;
    query?: never;
    url: '/api/uploads';
};

export type CreateUploadErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * The upload speaks another protocol
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type CreateUploadError = CreateUploadErrors[keyof CreateUploadErrors];

export type CreateUploadResponses = {
    /**
     * The upload has begun.
     */
    201: unknown;
};

export type DeleteUploadData = {
    body?: never;
    headers?: {
        /**
         * Tus-Resumable
         *
         * `1.0.0`.
         */
        'tus-resumable'?: string | null;
    };
    path: {
        /**
         * Upload Id
         *
         * The upload's id, the end of its `Location`.
         */
        upload_id: string;
    };
    query?: never;
    url: '/api/uploads/{upload_id}';
};

export type DeleteUploadErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The upload speaks another protocol
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type DeleteUploadError = DeleteUploadErrors[keyof DeleteUploadErrors];

export type DeleteUploadResponses = {
    /**
     * Successful Response
     */
    204: void;
};

export type DeleteUploadResponse = DeleteUploadResponses[keyof DeleteUploadResponses];

export type GetUploadData = {
    body?: never;
    path: {
        /**
         * Upload Id
         *
         * The upload's id, the end of its `Location`.
         */
        upload_id: string;
    };
    query?: never;
    url: '/api/uploads/{upload_id}';
};

export type GetUploadErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * It is no longer kept
     */
    410: Problem;
    /**
     * A condition of the request does not hold
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetUploadError = GetUploadErrors[keyof GetUploadErrors];

export type GetUploadResponses = {
    /**
     * Successful Response
     */
    200: UploadRecord;
};

export type GetUploadResponse = GetUploadResponses[keyof GetUploadResponses];

export type GetUploadOffsetData = {
    body?: never;
    headers?: {
        /**
         * Tus-Resumable
         *
         * `1.0.0`.
         */
        'tus-resumable'?: string | null;
    };
    path: {
        /**
         * Upload Id
         *
         * The upload's id, the end of its `Location`.
         */
        upload_id: string;
    };
    query?: never;
    url: '/api/uploads/{upload_id}';
};

export type GetUploadOffsetErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * It is no longer kept
     */
    410: Problem;
    /**
     * The upload speaks another protocol
     */
    412: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetUploadOffsetError = GetUploadOffsetErrors[keyof GetUploadOffsetErrors];

export type GetUploadOffsetResponses = {
    /**
     * Where it is.
     */
    200: unknown;
};

export type AppendUploadData = {
    body: Blob | File;
    headers?: {
        /**
         * Tus-Resumable
         *
         * `1.0.0`.
         */
        'tus-resumable'?: string | null;
        /**
         * Upload-Offset
         *
         * Where the piece begins.
         */
        'upload-offset'?: string | null;
        /**
         * Upload-Checksum
         *
         * `sha256 <base64>`; also sha1 and sha512.
         */
        'upload-checksum'?: string | null;
    };
    path: {
        /**
         * Upload Id
         *
         * The upload's id, the end of its `Location`.
         */
        upload_id: string;
    };
    query?: never;
    url: '/api/uploads/{upload_id}';
};

export type AppendUploadErrors = {
    /**
     * The request cannot be read
     */
    400: Problem;
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * Not found
     */
    404: Problem;
    /**
     * The body came too slowly
     */
    408: Problem;
    /**
     * The request contradicts what is stored
     */
    409: Problem;
    /**
     * It is no longer kept
     */
    410: Problem;
    /**
     * The upload speaks another protocol
     */
    412: Problem;
    /**
     * Too large
     */
    413: Problem;
    /**
     * The route does not take this type
     */
    415: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * The checksum does not match
     */
    460: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type AppendUploadError = AppendUploadErrors[keyof AppendUploadErrors];

export type AppendUploadResponses = {
    /**
     * The piece is kept.
     */
    204: void;
};

export type AppendUploadResponse = AppendUploadResponses[keyof AppendUploadResponses];

export type StreamEventsData = {
    body?: never;
    headers?: {
        /**
         * Last-Event-Id
         *
         * The last `id` that was seen; it comes before `lastEventId` and `after`.
         */
        'Last-Event-ID'?: number | null;
    };
    path?: never;
    query?: {
        /**
         * Ticket
         *
         * A ticket, where no header can be set; it is made by `POST /api/events/ticket`.
         */
        ticket?: string | null;
        /**
         * After
         *
         * The position behind which to begin, 0 for everything there ever was. Without it, and without `Last-Event-ID`, the stream begins now.
         */
        after?: number | null;
        /**
         * Lasteventid
         *
         * The same in the query, where `event-source-polyfill` puts it; it comes before `after`.
         */
        lastEventId?: number | null;
    };
    url: '/api/events';
};

export type StreamEventsErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * Too many streams of events
     */
    429: Problem;
    /**
     * Too many requests at once
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type StreamEventsError = StreamEventsErrors[keyof StreamEventsErrors];

export type StreamEventsResponses = {
    /**
     * Events; the schemas named `…Event` say what their `data` holds.
     */
    200: string;
};

export type StreamEventsResponse = StreamEventsResponses[keyof StreamEventsResponses];

export type StreamSessionEventsData = {
    body?: never;
    headers?: {
        /**
         * Last-Event-Id
         *
         * The last `id` that was seen; it comes before `lastEventId` and `after`.
         */
        'Last-Event-ID'?: number | null;
    };
    path: {
        /**
         * Session Id
         */
        session_id: string;
    };
    query?: {
        /**
         * Ticket
         *
         * A ticket, where no header can be set; it is made by `POST /api/events/ticket`.
         */
        ticket?: string | null;
        /**
         * After
         *
         * The position behind which to begin, 0 for everything there ever was. Without it, and without `Last-Event-ID`, the stream begins now.
         */
        after?: number | null;
        /**
         * Lasteventid
         *
         * The same in the query, where `event-source-polyfill` puts it; it comes before `after`.
         */
        lastEventId?: number | null;
    };
    url: '/api/sessions/{session_id}/events';
};

export type StreamSessionEventsErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * Too many streams of events
     */
    429: Problem;
    /**
     * Too many requests at once
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type StreamSessionEventsError = StreamSessionEventsErrors[keyof StreamSessionEventsErrors];

export type StreamSessionEventsResponses = {
    /**
     * Events; the schemas named `…Event` say what their `data` holds.
     */
    200: string;
};

export type StreamSessionEventsResponse = StreamSessionEventsResponses[keyof StreamSessionEventsResponses];

export type CreateEventTicketData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/api/events/ticket';
};

export type CreateEventTicketErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The origin may not write or listen
     */
    403: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type CreateEventTicketError = CreateEventTicketErrors[keyof CreateEventTicketErrors];

export type CreateEventTicketResponses = {
    /**
     * Successful Response
     */
    201: EventTicket;
};

export type CreateEventTicketResponse = CreateEventTicketResponses[keyof CreateEventTicketResponses];

export type GetHealthData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/healthz';
};

export type GetHealthErrors = {
    /**
     * The host name is not one of the service
     */
    421: Problem;
};

export type GetHealthError = GetHealthErrors[keyof GetHealthErrors];

export type GetHealthResponses = {
    /**
     * Successful Response
     */
    200: Health;
};

export type GetHealthResponse = GetHealthResponses[keyof GetHealthResponses];

export type GetReadinessData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/readyz';
};

export type GetReadinessErrors = {
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * A store did not answer; or: A store refuses the service
     */
    503: Problem;
    /**
     * There is no room left
     */
    507: Problem;
};

export type GetReadinessError = GetReadinessErrors[keyof GetReadinessErrors];

export type GetReadinessResponses = {
    /**
     * Successful Response
     */
    200: Readiness;
};

export type GetReadinessResponse = GetReadinessResponses[keyof GetReadinessResponses];

export type GetVersionData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/api/version';
};

export type GetVersionErrors = {
    /**
     * An API key is needed
     */
    401: Problem;
    /**
     * The host name is not one of the service
     */
    421: Problem;
    /**
     * The request is not what the route takes
     */
    422: Problem;
    /**
     * A quota is used up
     */
    429: Problem;
    /**
     * A store did not answer
     */
    503: Problem;
    /**
     * There is no room left; or: The project keeps as much as it may
     */
    507: Problem;
};

export type GetVersionError = GetVersionErrors[keyof GetVersionErrors];

export type GetVersionResponses = {
    /**
     * Successful Response
     */
    200: Version;
};

export type GetVersionResponse = GetVersionResponses[keyof GetVersionResponses];

export type GetMetricsData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/metrics';
};

export type GetMetricsErrors = {
    /**
     * The host name is not one of the service
     */
    421: Problem;
};

export type GetMetricsError = GetMetricsErrors[keyof GetMetricsErrors];

export type GetMetricsResponses = {
    /**
     * Successful Response
     */
    200: string;
};

export type GetMetricsResponse = GetMetricsResponses[keyof GetMetricsResponses];
