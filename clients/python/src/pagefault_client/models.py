"""The shapes of the service's JSON, as it spells them."""

# Written by generate.py from openapi/openapi.json.
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class AliasDraft(TypedDict):
    """The target of an alias."""

    uri: str


MediaKind: TypeAlias = Literal["audio", "video", "binary"]

ResourceKind: TypeAlias = Literal["image", "audio", "video", "binary", "text"]


class ResourceDescriptor(TypedDict):
    """The description of a medium in a record (spec 002, Canonical Types)."""

    uri: str
    kind: ResourceKind
    mimeType: str
    filename: NotRequired[str | None]
    mediaKind: NotRequired[MediaKind | None]
    size: int
    digest: str
    width: NotRequired[int | None]
    height: NotRequired[int | None]
    durationSeconds: NotRequired[float | None]


class AliasRecord(TypedDict):
    """An alias, the resource it names, and since when it names that one."""

    alias: str
    uri: str
    createdAt: str
    resource: ResourceDescriptor


class AliasPage(TypedDict):
    """A page of aliases, newest first."""

    items: list[AliasRecord]
    nextCursor: str | None


Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class ChatMessage(TypedDict):
    """A message with its role; the output of an interaction. Source: spec 001, "Interaction"."""

    role: Role
    content: str
    name: NotRequired[str | None]
    tool_call_id: NotRequired[str | None]
    timestamp: NotRequired[str]


class AnswerEntry(TypedDict):
    """The answer of an interaction, set after it."""

    seq: int
    id: str
    created_at: str
    entry: Literal["answer"]
    interaction_id: str
    output: ChatMessage


InputKind: TypeAlias = Literal["multimodal", "text", "dict"]


class AnswerEvent(TypedDict):
    """The answer of an interaction was set; `id` is that of the interaction."""

    sessionId: str | None
    seq: int | None
    id: str
    createdAt: str
    inputKind: InputKind
    output: ChatMessage


class AnswerFrame(TypedDict):
    """The answer of an interaction was set."""

    id: int
    event: Literal["interaction:answered"]
    data: AnswerEvent


AnyJson: TypeAlias = Any


class AttachedFile(TypedDict):
    """A file that was stored before: its `blob:` URI, bare id or alias, and its type."""

    id: str
    mime_type: NotRequired[str | None]


class AttachedFileDraft(TypedDict):
    """A file that was stored before: its `blob:` URI, bare id or alias, and its type."""

    id: str
    mime_type: NotRequired[str | None]


AttachmentStatus: TypeAlias = Literal["available", "missing", "unknown"]


class Attachment(TypedDict):
    """An attached file: the client's id, and the resource."""

    id: str
    status: AttachmentStatus
    resource: NotRequired[ResourceDescriptor | None]


Audience: TypeAlias = Literal["assistant", "user", "everyone"]


class AudioContent(TypedDict):
    """The spoken content of a recording."""

    type: Literal["audio"]
    transcript: str | None
    timestamps: list[Any] | None
    duration_seconds: float | None


ImageDetail: TypeAlias = Literal["low", "high", "auto", "original"]


class ImageUrl(TypedDict):
    """The location of the image: an address, a data URI, or a `@blob:` reference."""

    url: str
    detail: ImageDetail


class ImageUrlBlock(TypedDict):
    """An image for a model."""

    type: Literal["image_url"]
    image_url: ImageUrl


class TextBlock(TypedDict):
    """The annotation of the image beside it."""

    type: Literal["text"]
    text: str


Block: TypeAlias = TextBlock | ImageUrlBlock

Blocks: TypeAlias = str | list[Block]


class BodyWarning(TypedDict):
    """Something in the body that was not taken as it stands, at a JSON pointer into the body."""

    code: str
    pointer: str
    detail: str


BoundFiles: TypeAlias = dict[str, str | None]


class ChatMessageDraft(TypedDict):
    """A message with its role; the output of an interaction. Source: spec 001, "Interaction"."""

    role: Role
    content: str
    name: NotRequired[str | None]
    tool_call_id: NotRequired[str | None]
    timestamp: NotRequired[str]


class ContentPart(TypedDict):
    """A piece of a user's turn: text, files, or both. Source: spec 001, "ContentPart"."""

    text: NotRequired[str | None]
    attachments: NotRequired[list[AttachedFile]]


class ContentPartDraft(TypedDict):
    """A piece of a user's turn: text, files, or both. Source: spec 001, "ContentPart"."""

    text: NotRequired[str | None]
    attachments: NotRequired[list[AttachedFileDraft]]


JsonObject: TypeAlias = dict[str, Any]


class Conversation(TypedDict):
    """A request of any provider, as it is sent to it."""

    messages: NotRequired[list[JsonObject] | None]
    system: NotRequired[Any]


class CopiedEntries(TypedDict):
    """The copied entries of a fork by kind."""

    toolResults: int
    pageFaults: int
    messages: int
    interactions: int
    answers: int


Level: TypeAlias = Literal[0, 1, 2, 3]

Modality: TypeAlias = Literal["text", "image", "audio", "video", "structured"]


class PageMedia(TypedDict):
    """The measured properties of the medium in a page's content."""

    uri: str | None
    mime_type: str
    size_bytes: int
    filename: str | None
    width: int | None
    height: int | None
    duration_seconds: float | None


PageType: TypeAlias = Literal["transcript", "summary", "artifact", "claim", "procedure", "index"]

Scene: TypeAlias = str | JsonObject


class PageSummary(TypedDict):
    """A page without its content, as lists show it."""

    page_id: str
    session_id: str | None
    modality: Modality
    page_type: PageType
    mime_type: str | None
    caption: str | None
    transcript: str | None
    dimensions: list[int] | None
    duration_seconds: float | None
    schema_name: str | None
    scenes: list[Scene] | None
    hint: str | None
    importance: float
    pinned: bool
    provenance: list[str]
    metadata: JsonObject
    compression_level: Level
    levels: list[Level]
    media: PageMedia | None
    size_bytes: int | None
    size_tokens: int
    created_at: str
    updated_at: str
    version: int
    last_accessed: str | None
    access_count: int


class CreatedPages(TypedDict):
    """Pages that were created together, in the order they were given."""

    items: list[PageSummary]


DeclaredTypes: TypeAlias = dict[str, str]


class EntryCounts(TypedDict):
    """The entries of a history by kind, and its pages."""

    toolResults: int
    pageFaults: int
    messages: int
    interactions: int
    answers: int
    pages: int


class ResourceUser(TypedDict):
    """Other users of a resource: their kind, their number, and one of them."""

    kind: str
    count: int
    exampleId: str


class ReleasedResource(TypedDict):
    """A resource that the session used, deleted or kept."""

    uri: str
    size: int
    status: Literal["deleted", "kept"]
    usedBy: list[ResourceUser]


class DeletionReceipt(TypedDict):
    """The result of a deletion. The next sweep removes the bytes of deleted resources."""

    id: str
    deleted: EntryCounts
    resources: list[ReleasedResource]


FindingValue: TypeAlias = int | str


class Finding(TypedDict):
    """One thing that is wrong with a history."""

    seq: NotRequired[int | None]
    pointer: str
    rule: str
    callId: NotRequired[str | None]
    demands: str
    limit: NotRequired[FindingValue | None]
    actual: NotRequired[FindingValue | None]
    fix: str
    source: str


# One omission, change or addition of a rendering.
LossEntry = TypedDict(
    "LossEntry",
    {
        "seq": NotRequired[int | None],
        "pointer": str,
        "from": str,
        "to": str,
        "code": str,
        "reason": str,
        "restore": str,
        "fromSeq": NotRequired[int | None],
        "toSeq": NotRequired[int | None],
        "count": NotRequired[int | None],
    },
)

Target: TypeAlias = Literal[
    "openai-compat",
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "mistral",
    "ollama",
    "mcp",
    "langchain",
    "vercel",
    "vercel-6",
    "pydantic-ai",
    "otel-genai",
    "text",
]


class Diagnosis(TypedDict):
    """The findings of a history, and the repaired history."""

    target: Target
    profile: str
    dialect: str | None
    findings: list[Finding]
    loss: list[LossEntry]
    tokensEst: int
    system: NotRequired[str | None]
    messages: NotRequired[list[JsonObject] | None]


Dialect: TypeAlias = Literal[
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "mcp",
    "langchain",
    "vercel",
]

Embedding: TypeAlias = list[float]


class EventTicket(TypedDict):
    """A credential for `?ticket=`, with which a browser starts to listen before it expires."""

    ticket: str
    expiresAt: str


class Examination(TypedDict):
    """A history: a request that a provider refused, a list of messages, or a session."""

    messages: NotRequired[list[Any] | None]
    sessionId: NotRequired[str | None]


LevelName: TypeAlias = Literal["FULL", "REDUCED", "ABSTRACT", "REFERENCE"]

LevelInput: TypeAlias = int | LevelName

PageForm: TypeAlias = Literal["blocks", "json"]


class FaultRequest(TypedDict):
    """What a model asks for when it faults a page in."""

    target_level: NotRequired[LevelInput]
    session_id: NotRequired[str | None]
    tool_call_id: NotRequired[str | None]
    max_chars: NotRequired[int | None]
    offset: NotRequired[int]
    detail: NotRequired[ImageDetail]
    form: NotRequired[PageForm]


class FilePart(TypedDict):
    """Audio, video or any other file: `@blob:…` or an https URL."""

    annotations: NotRequired[JsonObject | None]
    uri: NotRequired[str | None]
    name: NotRequired[str | None]
    _meta: NotRequired[JsonObject | None]
    type: Literal["file"]
    data: str
    mimeType: str
    mediaKind: MediaKind
    filename: NotRequired[str | None]


# Which entries to copy, and the id of the new session.
ForkRequest = TypedDict(
    "ForkRequest",
    {
        "upTo": int,
        "as": str,
    },
)


class ForkSource(TypedDict):
    """The session that a fork was copied from. It may have been deleted since."""

    sessionId: str
    upTo: int


class Frontier(TypedDict):
    """The entries of a history that are rendered at a smaller level."""

    toolMedia: NotRequired[int]
    saidMedia: NotRequired[int]
    toolTexts: NotRequired[int]
    toolResults: NotRequired[int]
    recalled: NotRequired[int]
    saidTexts: NotRequired[int]
    arguments: NotRequired[int]
    folded: NotRequired[int]
    saidFolded: NotRequired[int]
    floor: NotRequired[int]
    orphans: NotRequired[list[int]]


class FrontierDraft(TypedDict):
    """The entries of a history that are rendered at a smaller level."""

    toolMedia: NotRequired[int]
    saidMedia: NotRequired[int]
    toolTexts: NotRequired[int]
    toolResults: NotRequired[int]
    recalled: NotRequired[int]
    saidTexts: NotRequired[int]
    arguments: NotRequired[int]
    folded: NotRequired[int]
    saidFolded: NotRequired[int]
    floor: NotRequired[int]
    orphans: NotRequired[list[int]]


FrontierChoice: TypeAlias = str | FrontierDraft


class Health(TypedDict):
    """The process answers."""

    status: Literal["ok"]


MessageBlocks: TypeAlias = list[JsonObject]

MessageContent: TypeAlias = str | MessageBlocks

MessageRole: TypeAlias = Literal[
    "system", "developer", "user", "assistant", "model", "tool", "function"
]


class HistoryMessage(TypedDict):
    """A message that a client appended, as it was written, with the number it took."""

    seq: int
    id: str
    created_at: str
    entry: Literal["message"]
    dialect: NotRequired[str | None]
    warnings: NotRequired[list[BodyWarning]]
    role: MessageRole
    message: NotRequired[JsonObject | None]
    content: NotRequired[MessageContent | None]
    name: NotRequired[str | None]
    tool_calls: NotRequired[list[JsonObject] | None]
    tool_call_id: NotRequired[str | None]


class MultiModalInput(TypedDict):
    """A rich user turn. Source: spec 001, "MultiModalInput"."""

    parts: list[ContentPart]


LegacyInput: TypeAlias = dict[str, Any]

InteractionInput: TypeAlias = MultiModalInput | str | LegacyInput


class Interaction(TypedDict):
    """One cycle of a user's request and the assistant's response."""

    input: InteractionInput
    output: NotRequired[ChatMessage | None]
    timestamp: NotRequired[str]


class InteractionEntry(TypedDict):
    """An interaction as it was written; an answer that was set later is an entry of its own."""

    seq: int
    id: str
    created_at: str
    entry: Literal["interaction"]
    input_kind: InputKind
    bound: NotRequired[BoundFiles | None]
    interaction: Interaction


class PageFaultMessage(TypedDict):
    """A page that a model has faulted in, as history keeps it: media by reference."""

    seq: int
    id: str
    created_at: str
    entry: Literal["page_fault"]
    role: Literal["tool"]
    tool_call_id: str | None
    content: Blocks


class ImagePart(TypedDict):
    """An image: `@blob:…`, an https URL, or plain base64 below the inline limit."""

    annotations: NotRequired[JsonObject | None]
    uri: NotRequired[str | None]
    name: NotRequired[str | None]
    _meta: NotRequired[JsonObject | None]
    type: Literal["image"]
    image: str
    mimeType: str


class TextPart(TypedDict):
    """A text. Above the preview limit it is a head, a line with the omitted size, and a tail."""

    annotations: NotRequired[JsonObject | None]
    uri: NotRequired[str | None]
    name: NotRequired[str | None]
    _meta: NotRequired[JsonObject | None]
    type: Literal["text"]
    text: str


Part: TypeAlias = TextPart | ImagePart | FilePart


class ToolResultWarning(TypedDict):
    """A defect in the result of the tool, at a JSON pointer into `result`."""

    code: str
    pointer: str
    detail: str


class ToolResultMeta(TypedDict):
    """The call that this answers, and members of the result as a whole."""

    toolName: str
    toolCallId: str
    success: bool
    structuredContent: NotRequired[Any]
    display: NotRequired[Any]
    envelope: NotRequired[JsonObject | None]
    _meta: NotRequired[JsonObject | None]
    warnings: NotRequired[list[ToolResultWarning] | None]
    declaredMimeType: NotRequired[DeclaredTypes | None]


class SanitizedToolResult(TypedDict):
    """A tool result, canonical and small: parts to show, resources they refer to, meta."""

    parts: list[Part]
    resources: list[ResourceDescriptor]
    meta: ToolResultMeta


class ToolMessage(TypedDict):
    """A tool result as it stands in history; `sanitized` is the stored record, byte for byte."""

    seq: int
    id: str
    role: Literal["tool"]
    toolCallId: str
    name: str
    createdAt: str
    entry: Literal["tool_result"]
    sanitized: SanitizedToolResult


HistoryEntry: TypeAlias = (
    ToolMessage | PageFaultMessage | InteractionEntry | AnswerEntry | HistoryMessage
)


class HistoryMessageDraft(TypedDict):
    """A message as an SDK, a framework or a provider writes it, in any of the dialects."""

    role: NotRequired[str | None]
    content: NotRequired[Any]
    name: NotRequired[str | None]
    tool_calls: NotRequired[list[JsonObject] | None]
    tool_call_id: NotRequired[str | None]


class RenderedRecord(TypedDict):
    """A record as the messages of one provider, and the losses of the rendering."""

    target: Target
    profile: str
    messages: list[JsonObject]
    system: NotRequired[str | None]
    loss: list[LossEntry]
    openCalls: NotRequired[list[str] | None]
    tokensEst: NotRequired[int]
    frontier: NotRequired[Frontier | None]
    stableThrough: NotRequired[int | None]
    prefixHash: NotRequired[list[str] | None]
    sinceHash: NotRequired[str | None]
    lastSeq: NotRequired[int | None]


class HistoryReceipt(TypedDict):
    """The entries that a `PUT` of a conversation appended."""

    appended: int
    lastSeq: int
    sessionId: NotRequired[str | None]
    systemChanged: NotRequired[bool]
    passedOver: NotRequired[int]
    warnings: NotRequired[list[BodyWarning]]
    rendering: NotRequired[RenderedRecord]
    problem: NotRequired[str | None]


class ImageContent(TypedDict):
    """An image: by `url` (or `@blob:` reference), as plain `base64`, or its caption alone."""

    type: Literal["image"]
    caption: str | None
    url: str | None
    base64: str | None
    embedding: Embedding | None


class ImportedEntries(TypedDict):
    """The imported entries by kind."""

    toolResults: int
    pageFaults: int
    messages: int
    interactions: int
    answers: int


InstructionStyle: TypeAlias = Literal["strict", "relaxed"]


class MultiModalInputDraft(TypedDict):
    """A rich user turn. Source: spec 001, "MultiModalInput"."""

    parts: list[ContentPartDraft]


LegacyInputDraft: TypeAlias = dict[str, Any]

InteractionInputDraft: TypeAlias = MultiModalInputDraft | str | LegacyInputDraft


class InteractionDraft(TypedDict):
    """An interaction as a client writes it."""

    input: InteractionInputDraft
    output: NotRequired[ChatMessageDraft | None]
    timestamp: NotRequired[str]
    input_kind: NotRequired[InputKind | None]


class InteractionEvent(TypedDict):
    """A user's turn was stored, as it was before its answer."""

    sessionId: str | None
    seq: int | None
    id: str
    createdAt: str
    inputKind: InputKind
    interaction: Interaction


class InteractionFrame(TypedDict):
    """A user's turn was stored."""

    id: int
    event: Literal["interaction:created"]
    data: InteractionEvent


class InteractionRecord(TypedDict):
    """A stored interaction with its answer, and each attached file once, in order of first use."""

    id: str
    session_id: str
    seq: int
    input_kind: InputKind
    attachments: list[Attachment]
    interaction: Interaction


class InteractionPage(TypedDict):
    """A page of a session's interactions, in the order of `seq`."""

    items: list[InteractionRecord]
    nextCursor: str | None


JsonKeyName: TypeAlias = str | int


class JsonKey(TypedDict):
    """A member of a value, and its pointer."""

    key: JsonKeyName
    pointer: str
    type: Literal["null", "boolean", "number", "string", "array", "object"]
    length: NotRequired[int | None]


class JsonShape(TypedDict):
    """The structure of a value that is too large, with pointers to its members."""

    type: Literal["number", "string", "array", "object"]
    size: int
    length: NotRequired[int | None]
    keys: NotRequired[list[JsonKey] | None]
    start: NotRequired[str | None]
    hint: str


class JsonValueAt(TypedDict):
    """The value at a JSON pointer."""

    uri: str
    mimeType: str
    pointer: str
    truncated: bool
    shape: JsonShape | None
    value: AnyJson
    decodedFrom: NotRequired[str | None]


class ManifestPage(TypedDict):
    """A page in a manifest."""

    page_id: str
    modality: Modality
    page_type: PageType
    levels: list[LevelName]
    hint: str | None
    importance: float
    pinned: bool
    size_tokens: int
    line: str


McpRevision: TypeAlias = Literal[
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
]

MediaDelivery: TypeAlias = Literal["inline", "signed-url", "reference"]

MediaForm: TypeAlias = Literal["inline", "reference"]

MemoryPart: TypeAlias = Literal["instructions", "manifest"]


class MessageEvent(TypedDict):
    """A message was appended to a session; `message` is the stored one, media as references."""

    sessionId: str | None
    seq: int | None
    id: str
    createdAt: str
    role: str
    dialect: NotRequired[str | None]
    message: JsonObject


class MessageFrame(TypedDict):
    """A message was appended."""

    id: int
    event: Literal["message:created"]
    data: MessageEvent


class MessagePage(TypedDict):
    """A page of a session's history, in the order of `seq`."""

    items: list[HistoryEntry]
    nextCursor: str | None


Origin: TypeAlias = Literal["stored", "supplied", "derived"]


class OutlinedCall(TypedDict):
    """A call that an entry makes."""

    id: str
    name: str


StepLevel: TypeAlias = Literal["media", "preview", "line", "arguments", "folded"]


class OutlineEntry(TypedDict):
    """An entry of a history without its content."""

    seq: int
    entry: Literal["tool_result", "page_fault", "message", "interaction", "answer"]
    createdAt: str
    role: Role
    name: str | None
    title: str | None
    calls: list[OutlinedCall]
    answers: list[str]
    failed: bool
    images: int
    audios: int
    videos: int
    files: int
    bytes: int
    tokensEst: int
    fingerprint: str
    stepLevel: NotRequired[StepLevel | None]


class OutlinePage(TypedDict):
    """A slice of an outline, in the order of `seq`."""

    items: list[OutlineEntry]
    nextCursor: str | None


TimestampItem: TypeAlias = JsonObject | float | list[float]

Timestamps: TypeAlias = list[TimestampItem]


class PageDraft(TypedDict):
    """A page as a client writes it."""

    session_id: NotRequired[str | None]
    modality: NotRequired[Modality]
    page_type: NotRequired[PageType]
    mime_type: NotRequired[str | None]
    caption: NotRequired[str | None]
    transcript: NotRequired[str | None]
    dimensions: NotRequired[list[int] | None]
    duration_seconds: NotRequired[float | None]
    schema_name: NotRequired[str | None]
    scenes: NotRequired[list[Scene] | None]
    hint: NotRequired[str | None]
    importance: NotRequired[float]
    pinned: NotRequired[bool]
    provenance: NotRequired[list[str]]
    metadata: NotRequired[JsonObject]
    compression_level: NotRequired[LevelInput]
    timestamps: NotRequired[Timestamps | None]
    embedding: NotRequired[Embedding | None]
    page_id: NotRequired[str | None]
    content: NotRequired[Any]
    represents: NotRequired[str | None]
    parent_page_id: NotRequired[str | None]


class PageBatch(TypedDict):
    """Up to 1,000 pages, created together or not at all."""

    pages: list[PageDraft]


class PageBlocksRecord(TypedDict):
    """A page as the content of a tool message: text, or text and image."""

    content: Blocks
    level: Level
    requested_level: Level
    truncated: bool
    total_chars: int
    next_offset: int | None


class StructuredContent(TypedDict):
    """Data: any JSON value."""

    type: Literal["structured"]
    data: AnyJson
    schema_name: str | None


class TextContent(TypedDict):
    """Text of a text page, and the tag of every page at REFERENCE."""

    type: Literal["text"]
    text: str


class VideoContent(TypedDict):
    """The visible and spoken content of a video; `url` may be a `@blob:` reference."""

    type: Literal["video"]
    scenes: list[Scene] | None
    transcript: str | None
    duration_seconds: float | None
    url: str | None


PageContent: TypeAlias = (
    TextContent | ImageContent | AudioContent | VideoContent | StructuredContent
)


class PageEvent(TypedDict):
    """A page was created, changed or deleted; `id` is its id."""

    sessionId: str | None
    seq: int | None
    id: str
    createdAt: str
    version: int
    modality: Modality
    pageType: PageType


class PageFaultEvent(TypedDict):
    """A page was faulted in; in a session, `messageId` is that of the message in its history."""

    sessionId: str | None
    seq: int | None
    id: str
    createdAt: str
    level: LevelName
    callId: str | None
    messageId: str | None


class PageFaultFrame(TypedDict):
    """A page was faulted in."""

    id: int
    event: Literal["page:faulted"]
    data: PageFaultEvent


class ProblemFault(TypedDict):
    """One thing that is wrong with the request, and where."""

    pointer: str
    detail: str


# A page fault that could not be carried out, with the tool message for the model that sent
# it.
PageFaultProblem = TypedDict(
    "PageFaultProblem",
    {
        "type": str,
        "title": str,
        "status": int,
        "detail": str,
        "instance": str,
        "code": str,
        "requestId": str,
        "errors": NotRequired[list[ProblemFault]],
        "cause": NotRequired[str | None],
        "violated-policies": NotRequired[list[str] | None],
        "seq": NotRequired[int | None],
        "success": bool,
        "page_id": str,
        "error": str,
        "role": Literal["tool"],
        "tool_call_id": str | None,
        "content": str,
    },
)

# An invalid page fault, with a tool message if the call of the model was the cause.
PageFaultRefusal = TypedDict(
    "PageFaultRefusal",
    {
        "type": str,
        "title": str,
        "status": int,
        "detail": str,
        "instance": str,
        "code": str,
        "requestId": str,
        "errors": NotRequired[list[ProblemFault]],
        "cause": NotRequired[str | None],
        "violated-policies": NotRequired[list[str] | None],
        "seq": NotRequired[int | None],
        "success": NotRequired[bool | None],
        "page_id": NotRequired[str | None],
        "error": NotRequired[str | None],
        "role": NotRequired[Literal["tool"] | None],
        "tool_call_id": NotRequired[str | None],
        "content": NotRequired[str | None],
    },
)


class PageFrame(TypedDict):
    """A page was created, changed or deleted."""

    id: int
    event: Literal["page:created", "page:updated", "page:deleted"]
    data: PageEvent


class PageLevelRecord(TypedDict):
    """One level of a page."""

    page_id: str
    level: Level
    name: LevelName
    origin: Origin
    content: AnyJson
    media: PageMedia | None
    size_bytes: int | None
    size_tokens: int


class PageList(TypedDict):
    """A page of the list of pages, newest first."""

    items: list[PageSummary]
    nextCursor: str | None


class PageManifest(TypedDict):
    """The pages of a session for a model: pinned, then important, then new ones first."""

    session_id: str
    pages: list[ManifestPage]
    total: int
    text: str
    nextCursor: str | None


class PagePatch(TypedDict):
    """Only for the document: what a merge patch may hold, every field of it optional."""

    session_id: NotRequired[str | None]
    modality: NotRequired[Modality]
    page_type: NotRequired[PageType]
    mime_type: NotRequired[str | None]
    caption: NotRequired[str | None]
    transcript: NotRequired[str | None]
    dimensions: NotRequired[list[int] | None]
    duration_seconds: NotRequired[float | None]
    schema_name: NotRequired[str | None]
    scenes: NotRequired[list[Scene] | None]
    hint: NotRequired[str | None]
    importance: NotRequired[float]
    pinned: NotRequired[bool]
    provenance: NotRequired[list[str]]
    metadata: NotRequired[JsonObject]
    compression_level: NotRequired[LevelInput]
    timestamps: NotRequired[Timestamps | None]
    embedding: NotRequired[Embedding | None]


class PageRecord(TypedDict):
    """A page with its descriptor and its content."""

    page_id: str
    session_id: str | None
    modality: Modality
    page_type: PageType
    mime_type: str | None
    caption: str | None
    transcript: str | None
    dimensions: list[int] | None
    duration_seconds: float | None
    schema_name: str | None
    scenes: list[Scene] | None
    hint: str | None
    importance: float
    pinned: bool
    provenance: list[str]
    metadata: JsonObject
    compression_level: Level
    levels: list[Level]
    media: PageMedia | None
    size_bytes: int | None
    size_tokens: int
    created_at: str
    updated_at: str
    version: int
    last_accessed: str | None
    access_count: int
    timestamps: Timestamps | None
    embedding: Embedding | None
    content: AnyJson


class PageToolMessage(TypedDict):
    """A page as a tool message, ready to be given to a model."""

    role: Literal["tool"]
    tool_call_id: str | None
    content: Blocks


class PendingFork(TypedDict):
    """A fork that is being written.

    Ask for the session: it is a 404 until all of it is there.
    """

    id: str
    status: Literal["copying"]
    forkedFrom: ForkSource
    entries: int


Priority: TypeAlias = Literal["normal", "raised", "stays"]

# An error, for programs (`code`, `errors`) and for people (`title`, `detail`).
Problem = TypedDict(
    "Problem",
    {
        "type": str,
        "title": str,
        "status": int,
        "detail": str,
        "instance": str,
        "code": str,
        "requestId": str,
        "errors": NotRequired[list[ProblemFault]],
        "cause": NotRequired[str | None],
        "violated-policies": NotRequired[list[str] | None],
        "seq": NotRequired[int | None],
    },
)


class Readiness(TypedDict):
    """Both stores answer."""

    status: Literal["ready"]
    database: Literal["ok"]
    blobs: Literal["ok"]


ReferenceForm: TypeAlias = Literal["data-uri", "base64", "signed-url", "text"]


class RefusedCall(TypedDict):
    """A call that must not be run: an argument was cut in an old call, and copied from there."""

    callId: str
    seq: int


class RenderRequest(TypedDict):
    """A stored record, named by exactly one id, and the options for its rendering."""

    target: Target
    accept: NotRequired[list[str] | None]
    media: NotRequired[MediaDelivery]
    detail: NotRequired[ImageDetail | None]
    maxBytes: NotRequired[int | None]
    maxImages: NotRequired[int | None]
    audience: NotRequired[Audience]
    protocolVersion: NotRequired[McpRevision]
    handles: NotRequired[bool]
    memory: NotRequired[list[MemoryPart]]
    memoryTokens: NotRequired[int]
    maxTokens: NotRequired[int | None]
    maxText: NotRequired[int | None]
    maxImagePixels: NotRequired[int | None]
    countTokens: NotRequired[bool]
    evictBatch: NotRequired[int | None]
    frontier: NotRequired[FrontierChoice | None]
    cacheMarkers: NotRequired[bool]
    adaptive: NotRequired[bool]
    model: NotRequired[str | None]
    toolResultId: NotRequired[str | None]
    pageId: NotRequired[str | None]
    sessionId: NotRequired[str | None]
    level: NotRequired[LevelInput | None]
    toolCallId: NotRequired[str | None]
    since: NotRequired[int]


class RenderedToolResult(TypedDict):
    """A stored tool result, with its rendering where one is asked for."""

    id: str
    sessionId: str | None
    seq: int | None
    createdAt: str
    toolName: str
    toolCallId: str
    sanitized: SanitizedToolResult
    rendering: NotRequired[RenderedRecord | None]


class RepresentationDraft(TypedDict):
    """A level of a page as a client supplies it: words, data, or a smaller image."""

    content: Any


class ResetEvent(TypedDict):
    """The requested position is not kept any more: reload the displayed state."""

    reason: Literal["position-not-kept"]
    position: int


class ResetFrame(TypedDict):
    """The requested position is not kept any more."""

    id: int
    event: Literal["reset"]
    data: ResetEvent


ToolScope: TypeAlias = Literal["session", "project"]

# A JSON value with references in it, and how they are wanted.
ResolveRequest = TypedDict(
    "ResolveRequest",
    {
        "arguments": Any,
        "sessionId": str,
        "scope": NotRequired[ToolScope],
        "as": NotRequired[ReferenceForm],
    },
)


class ResolvedReference(TypedDict):
    """A reference that was replaced."""

    pointer: str
    uri: str
    mimeType: str
    size: int


class UnresolvedReference(TypedDict):
    """A reference that was left as it is."""

    pointer: str
    reference: str
    reason: str


class ResolvedArguments(TypedDict):
    """The value with content in the place of its references, and what became of each of them."""

    arguments: AnyJson
    resolved: list[ResolvedReference]
    unresolved: list[UnresolvedReference]


class ResourceRecord(TypedDict):
    """A stored resource: its descriptor, and since when it is kept."""

    uri: str
    kind: ResourceKind
    mimeType: str
    filename: NotRequired[str | None]
    mediaKind: NotRequired[MediaKind | None]
    size: int
    digest: str
    width: NotRequired[int | None]
    height: NotRequired[int | None]
    durationSeconds: NotRequired[float | None]
    createdAt: str


class ResourcePage(TypedDict):
    """A page of resources, newest first."""

    items: list[ResourceRecord]
    nextCursor: str | None


class SearchHit(TypedDict):
    """A page that a search has found."""

    page_id: str
    session_id: str | None
    modality: Modality
    page_type: PageType
    mime_type: str | None
    caption: str | None
    transcript: str | None
    dimensions: list[int] | None
    duration_seconds: float | None
    schema_name: str | None
    scenes: list[Scene] | None
    hint: str | None
    importance: float
    pinned: bool
    provenance: list[str]
    metadata: JsonObject
    compression_level: Level
    levels: list[Level]
    media: PageMedia | None
    size_bytes: int | None
    size_tokens: int
    created_at: str
    updated_at: str
    version: int
    last_accessed: str | None
    access_count: int
    snippet: str | None


class SearchHits(TypedDict):
    """The pages that a search has found, best first."""

    items: list[SearchHit]
    nextCursor: str | None


class SearchResult(TypedDict):
    """A search result: its kind, its place, and the matching passage."""

    kind: Literal["page", "transcript", "tool_result", "message", "interaction", "file"]
    id: str
    handle: str
    sessionId: str | None
    seq: int | None
    pageId: str | None
    resource: str | None
    modality: Modality | None
    title: str | None
    snippet: str | None
    createdAt: str


class SearchResults(TypedDict):
    """The results of a search over everything, best first."""

    items: list[SearchResult]
    nextCursor: str | None
    pending: int


class SessionCounts(TypedDict):
    """The entries, pages and resources of a session, and its failed tool results."""

    toolResults: int
    pageFaults: int
    messages: int
    interactions: int
    answers: int
    pages: int
    resources: int
    images: int
    failures: int


class SessionDeletedEvent(TypedDict):
    """A session was deleted with its history, its pages and the contents of its events."""

    sessionId: str | None
    seq: int | None
    id: str
    createdAt: str
    deleted: EntryCounts


class SessionDeletedFrame(TypedDict):
    """A session was deleted."""

    id: int
    event: Literal["session:deleted"]
    data: SessionDeletedEvent


class SessionForkedEvent(TypedDict):
    """A session was forked from the beginning of another one; `seq` is the last number copied."""

    sessionId: str | None
    seq: int | None
    id: str
    createdAt: str
    forkedFrom: ForkSource
    copied: CopiedEntries


class SessionForkedFrame(TypedDict):
    """A session began as a copy of another one's beginning."""

    id: int
    event: Literal["session:forked"]
    data: SessionForkedEvent


class SessionImportedEvent(TypedDict):
    """A session was imported from a bundle; `seq` is its last number. See its history."""

    sessionId: str | None
    seq: int | None
    id: str
    createdAt: str
    imported: ImportedEntries


class SessionImportedFrame(TypedDict):
    """A session was imported from a bundle."""

    id: int
    event: Literal["session:imported"]
    data: SessionImportedEvent


class SessionRecord(TypedDict):
    """A session. `lastSeq` is the number of its newest write."""

    id: str
    createdAt: str
    updatedAt: str
    lastSeq: int
    title: str | None
    counts: SessionCounts
    bytesReferenced: int
    bytesSaved: int
    forkedFrom: NotRequired[ForkSource | None]


class SessionPage(TypedDict):
    """A list of sessions, the most recently written first."""

    items: list[SessionRecord]
    nextCursor: str | None


class SessionRenderRequest(TypedDict):
    """The options for the rendering of a session."""

    target: Target
    accept: NotRequired[list[str] | None]
    media: NotRequired[MediaDelivery]
    detail: NotRequired[ImageDetail | None]
    maxBytes: NotRequired[int | None]
    maxImages: NotRequired[int | None]
    audience: NotRequired[Audience]
    protocolVersion: NotRequired[McpRevision]
    handles: NotRequired[bool]
    memory: NotRequired[list[MemoryPart]]
    memoryTokens: NotRequired[int]
    maxTokens: NotRequired[int | None]
    maxText: NotRequired[int | None]
    maxImagePixels: NotRequired[int | None]
    countTokens: NotRequired[bool]
    evictBatch: NotRequired[int | None]
    frontier: NotRequired[FrontierChoice | None]
    cacheMarkers: NotRequired[bool]
    adaptive: NotRequired[bool]
    model: NotRequired[str | None]
    since: NotRequired[int]


class SignedUrl(TypedDict):
    """A link that needs no key, fit for `<img src>` and `<video src>`, until it expires."""

    url: str
    expiresAt: str


class SignedUrlRequest(TypedDict):
    """The options of a signed link."""

    expiresInSeconds: NotRequired[int]
    disposition: NotRequired[Literal["inline", "attachment"]]
    filename: NotRequired[str | None]


class ToolResultEvent(TypedDict):
    """A tool result was stored; `sanitized` is the stored record, byte for byte."""

    sessionId: str | None
    seq: int | None
    id: str
    createdAt: str
    toolName: str
    callId: str
    success: bool
    sanitized: SanitizedToolResult
    rawResult: NotRequired[Any]


class ToolResultFrame(TypedDict):
    """A tool result was stored."""

    id: int
    event: Literal["llmservice:toolResult"]
    data: ToolResultEvent


StreamEvent: TypeAlias = (
    ToolResultFrame
    | MessageFrame
    | InteractionFrame
    | AnswerFrame
    | PageFrame
    | PageFaultFrame
    | SessionImportedFrame
    | SessionForkedFrame
    | SessionDeletedFrame
    | ResetFrame
)

# Lines of a text.
TextLines = TypedDict(
    "TextLines",
    {
        "uri": str,
        "mimeType": str,
        "totalLines": int,
        "totalBytes": int,
        "from": int | None,
        "to": int | None,
        "text": str,
        "cutLines": list[int],
        "truncated": bool,
        "nextLine": int | None,
        "decodedFrom": NotRequired[str | None],
    },
)


class TextMatch(TypedDict):
    """A line with the text of `grep`. Lines of more than 500 characters are cut with `…`."""

    line: int
    text: str
    before: list[str]
    after: list[str]


class TextMatches(TypedDict):
    """The lines of a text that match `grep`."""

    uri: str
    mimeType: str
    totalLines: int
    totalBytes: int
    matches: list[TextMatch]
    totalMatches: int
    truncated: bool
    nextLine: int | None
    decodedFrom: NotRequired[str | None]


TextPiece: TypeAlias = TextLines | TextMatches | JsonValueAt


class ToolCall(TypedDict):
    """A call that a model made of one of the tools."""

    id: str
    name: str
    arguments: NotRequired[Any]
    scope: NotRequired[ToolScope]


class ToolCallRequest(TypedDict):
    """A call that a model made of one of the tools, and the options for its answer."""

    target: Target
    accept: NotRequired[list[str] | None]
    media: NotRequired[MediaDelivery]
    detail: NotRequired[ImageDetail | None]
    maxBytes: NotRequired[int | None]
    maxImages: NotRequired[int | None]
    audience: NotRequired[Audience]
    protocolVersion: NotRequired[McpRevision]
    handles: NotRequired[bool]
    memory: NotRequired[list[MemoryPart]]
    memoryTokens: NotRequired[int]
    maxTokens: NotRequired[int | None]
    maxText: NotRequired[int | None]
    maxImagePixels: NotRequired[int | None]
    countTokens: NotRequired[bool]
    evictBatch: NotRequired[int | None]
    frontier: NotRequired[FrontierChoice | None]
    cacheMarkers: NotRequired[bool]
    adaptive: NotRequired[bool]
    model: NotRequired[str | None]
    id: str
    name: str
    arguments: NotRequired[Any]
    scope: NotRequired[ToolScope]


class ToolDefinitions(TypedDict):
    """The tools of the memory, in the dialect of one target."""

    target: Target
    tools: list[JsonObject]


class ToolResultRecord(TypedDict):
    """A stored tool result. `sessionId` and `seq` are null outside any session."""

    id: str
    sessionId: str | None
    seq: int | None
    createdAt: str
    toolName: str
    toolCallId: str
    sanitized: SanitizedToolResult


class ToolResultPage(TypedDict):
    """A page of tool results, newest first."""

    items: list[ToolResultRecord]
    nextCursor: str | None


class ToolResultRequest(TypedDict):
    """A raw tool result as the agent runtime hands it over."""

    toolName: str
    toolCallId: str
    success: NotRequired[bool]
    sessionId: NotRequired[str | None]
    callMessage: NotRequired[JsonObject | None]
    newCall: NotRequired[bool]
    result: Any


class TurnEntry(TypedDict):
    """An entry of a history: exactly one of its members."""

    message: NotRequired[JsonObject | None]
    toolResult: NotRequired[JsonObject | None]
    toolCall: NotRequired[ToolCall | None]


class TurnReceipt(TypedDict):
    """The entries that a turn appended, and the rendering of the session."""

    seqs: list[int]
    rendering: RenderedRecord | None
    problem: NotRequired[str | None]
    warnings: NotRequired[list[BodyWarning]]
    refused: NotRequired[list[RefusedCall]]


class TurnRender(TypedDict):
    """The options for the rendering after the turn is appended."""

    target: Target
    accept: NotRequired[list[str] | None]
    media: NotRequired[MediaDelivery]
    detail: NotRequired[ImageDetail | None]
    maxBytes: NotRequired[int | None]
    maxImages: NotRequired[int | None]
    audience: NotRequired[Audience]
    protocolVersion: NotRequired[McpRevision]
    handles: NotRequired[bool]
    memory: NotRequired[list[MemoryPart]]
    memoryTokens: NotRequired[int]
    maxTokens: NotRequired[int | None]
    maxText: NotRequired[int | None]
    maxImagePixels: NotRequired[int | None]
    countTokens: NotRequired[bool]
    evictBatch: NotRequired[int | None]
    frontier: NotRequired[FrontierChoice | None]
    cacheMarkers: NotRequired[bool]
    adaptive: NotRequired[bool]
    model: NotRequired[str | None]
    since: NotRequired[int]


class TurnRequest(TypedDict):
    """The entries of one step of an agent, in order, and the options of a rendering."""

    entries: list[TurnEntry]
    expectedSeq: NotRequired[int | None]
    render: NotRequired[TurnRender | None]


TusVersion: TypeAlias = Literal["1.0.0"]


class UploadRecord(TypedDict):
    """An upload: how far it is, and, once all has come, the resource it became."""

    id: str
    offset: int
    length: int
    filename: str | None
    mimeType: str | None
    createdAt: str
    expiresAt: str
    resource: ResourceDescriptor | None


class Version(TypedDict):
    """The name and version of the service."""

    name: Literal["pagefault"]
    version: str


class WorkingSetEntry(TypedDict):
    """A turn of the conversation as a model has it in context."""

    seq: NotRequired[int | None]
    fromSeq: NotRequired[int | None]
    count: NotRequired[int | None]
    role: str
    toolName: NotRequired[str | None]
    callId: NotRequired[str | None]
    pageId: NotRequired[str | None]
    level: LevelName
    stepLevel: NotRequired[StepLevel | None]
    tokens: int
    media: NotRequired[int]
    evicted: NotRequired[bool]
    recalls: NotRequired[int]
    priority: NotRequired[Priority]


class WorkingSetPage(TypedDict):
    """A page that was faulted into the session."""

    pageId: str
    seq: NotRequired[int | None]
    level: LevelName
    faults: int
    priority: Priority


class WorkingSet(TypedDict):
    """The part of a session in the context of a model, with levels and tokens."""

    sessionId: str
    target: Target
    profile: str
    tokensEst: int
    maxTokens: NotRequired[int | None]
    frontier: Frontier
    entries: list[WorkingSetEntry]
    pages: list[WorkingSetPage]


__all__ = [
    "AliasDraft",
    "AliasPage",
    "AliasRecord",
    "AnswerEntry",
    "AnswerEvent",
    "AnswerFrame",
    "AnyJson",
    "AttachedFile",
    "AttachedFileDraft",
    "Attachment",
    "AttachmentStatus",
    "Audience",
    "AudioContent",
    "Block",
    "Blocks",
    "BodyWarning",
    "BoundFiles",
    "ChatMessage",
    "ChatMessageDraft",
    "ContentPart",
    "ContentPartDraft",
    "Conversation",
    "CopiedEntries",
    "CreatedPages",
    "DeclaredTypes",
    "DeletionReceipt",
    "Diagnosis",
    "Dialect",
    "Embedding",
    "EntryCounts",
    "EventTicket",
    "Examination",
    "FaultRequest",
    "FilePart",
    "Finding",
    "FindingValue",
    "ForkRequest",
    "ForkSource",
    "Frontier",
    "FrontierChoice",
    "FrontierDraft",
    "Health",
    "HistoryEntry",
    "HistoryMessage",
    "HistoryMessageDraft",
    "HistoryReceipt",
    "ImageContent",
    "ImageDetail",
    "ImagePart",
    "ImageUrl",
    "ImageUrlBlock",
    "ImportedEntries",
    "InputKind",
    "InstructionStyle",
    "Interaction",
    "InteractionDraft",
    "InteractionEntry",
    "InteractionEvent",
    "InteractionFrame",
    "InteractionInput",
    "InteractionInputDraft",
    "InteractionPage",
    "InteractionRecord",
    "JsonKey",
    "JsonKeyName",
    "JsonObject",
    "JsonShape",
    "JsonValueAt",
    "LegacyInput",
    "LegacyInputDraft",
    "Level",
    "LevelInput",
    "LevelName",
    "LossEntry",
    "ManifestPage",
    "McpRevision",
    "MediaDelivery",
    "MediaForm",
    "MediaKind",
    "MemoryPart",
    "MessageBlocks",
    "MessageContent",
    "MessageEvent",
    "MessageFrame",
    "MessagePage",
    "MessageRole",
    "Modality",
    "MultiModalInput",
    "MultiModalInputDraft",
    "Origin",
    "OutlineEntry",
    "OutlinePage",
    "OutlinedCall",
    "PageBatch",
    "PageBlocksRecord",
    "PageContent",
    "PageDraft",
    "PageEvent",
    "PageFaultEvent",
    "PageFaultFrame",
    "PageFaultMessage",
    "PageFaultProblem",
    "PageFaultRefusal",
    "PageForm",
    "PageFrame",
    "PageLevelRecord",
    "PageList",
    "PageManifest",
    "PageMedia",
    "PagePatch",
    "PageRecord",
    "PageSummary",
    "PageToolMessage",
    "PageType",
    "Part",
    "PendingFork",
    "Priority",
    "Problem",
    "ProblemFault",
    "Readiness",
    "ReferenceForm",
    "RefusedCall",
    "ReleasedResource",
    "RenderRequest",
    "RenderedRecord",
    "RenderedToolResult",
    "RepresentationDraft",
    "ResetEvent",
    "ResetFrame",
    "ResolveRequest",
    "ResolvedArguments",
    "ResolvedReference",
    "ResourceDescriptor",
    "ResourceKind",
    "ResourcePage",
    "ResourceRecord",
    "ResourceUser",
    "Role",
    "SanitizedToolResult",
    "Scene",
    "SearchHit",
    "SearchHits",
    "SearchResult",
    "SearchResults",
    "SessionCounts",
    "SessionDeletedEvent",
    "SessionDeletedFrame",
    "SessionForkedEvent",
    "SessionForkedFrame",
    "SessionImportedEvent",
    "SessionImportedFrame",
    "SessionPage",
    "SessionRecord",
    "SessionRenderRequest",
    "SignedUrl",
    "SignedUrlRequest",
    "StepLevel",
    "StreamEvent",
    "StructuredContent",
    "Target",
    "TextBlock",
    "TextContent",
    "TextLines",
    "TextMatch",
    "TextMatches",
    "TextPart",
    "TextPiece",
    "TimestampItem",
    "Timestamps",
    "ToolCall",
    "ToolCallRequest",
    "ToolDefinitions",
    "ToolMessage",
    "ToolResultEvent",
    "ToolResultFrame",
    "ToolResultMeta",
    "ToolResultPage",
    "ToolResultRecord",
    "ToolResultRequest",
    "ToolResultWarning",
    "ToolScope",
    "TurnEntry",
    "TurnReceipt",
    "TurnRender",
    "TurnRequest",
    "TusVersion",
    "UnresolvedReference",
    "UploadRecord",
    "Version",
    "VideoContent",
    "WorkingSet",
    "WorkingSetEntry",
    "WorkingSetPage",
]
