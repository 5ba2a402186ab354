"""Shapes of sessions: records, counts, patches, forks, and receipts of deletions."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.models.session import (
    MAX_NOTE_CHARS,
    MAX_TAGS,
    TAG_PATTERN,
    DeletedSession,
    ForkOrigin,
    HistoryCounts,
    ResourceRelease,
    Session,
    SessionMarks,
    SessionUse,
    ToolSessions,
)
from app.wire.shape import CursorList, Shape, Timestamp, make_timestamp
from pagefault_dialects.model.base import ClientId, FrozenModel

_EXAMPLE: JsonDict = {
    "id": "demo",
    "createdAt": "2026-11-21T03:25:38.532555Z",
    "updatedAt": "2026-11-21T03:26:02.113042Z",
    "lastSeq": 3,
    "title": "Why does the checkout fail?",
    "counts": {
        "toolResults": 1,
        "pageFaults": 0,
        "messages": 0,
        "interactions": 1,
        "answers": 1,
        "pages": 0,
        "resources": 2,
        "images": 1,
        "failures": 0,
    },
    "bytesReferenced": 48210,
    "bytesSaved": 16071,
    "tokensEst": 412,
    "lastImage": "blob:6f1c0f0a7f3b4a54a6f1f5f0a3b1c2d3",
}


class NoMembers(FrozenModel):
    """An empty object."""


class ImportedEntries(Shape, kw_only=True):
    """The number of imported entries of each kind."""

    tool_results: int
    page_faults: int
    messages: int
    interactions: int
    answers: int


class EntryCounts(ImportedEntries, kw_only=True):
    """The number of entries of each kind in a history, and of its pages."""

    pages: int


class SessionCounts(EntryCounts, kw_only=True):
    """The number of entries, pages and resources of a session, and of its failed tool results."""

    resources: int
    images: int
    """The number of resources that are images."""
    failures: int
    """The number of tool results that are errors, also of those in messages."""


class CopiedEntries(ImportedEntries, kw_only=True):
    """The number of entries of each kind that were copied into a fork."""


class ForkSource(Shape, kw_only=True):
    """The session that a fork was copied from. It may have been deleted since."""

    session_id: str
    up_to: int
    """The `seq` of the last entry that was copied."""


class SessionRecord(Shape, kw_only=True):
    """A session. `lastSeq` is the number of its newest write."""

    schema_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str
    created_at: Timestamp
    updated_at: Timestamp
    last_seq: int
    title: str | None
    """The first line of a user's message, at most 120 characters."""
    counts: SessionCounts
    bytes_referenced: int
    """The bytes of its resources, each blob once."""
    bytes_saved: int
    """The additional bytes that base64 in every record would take."""
    tokens_est: int
    """The tokens of its history, estimated by the sizes of its records and images."""
    last_image: str | None = None
    """The URI of an image in the newest entry with an image; absent if no entry has one."""
    forked_from: ForkSource | None = None
    """Only for a fork: the session that it was copied from."""
    pinned: bool = False
    """True if the session is pinned; absent if it is not."""
    tags: tuple[str, ...] = ()
    """The tags; absent if the session has no tags."""
    note: str | None = None
    """The note; absent if the session has no note."""


Tag = Annotated[
    str,
    Field(
        pattern=TAG_PATTERN,
        description="A tag: up to 64 lower-case letters, digits and `._:/-`, first one of those.",
    ),
]


class SessionPatch(FrozenModel):
    """A merge patch (RFC 7396) of the marks of a session; null removes a mark."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"pinned": True, "tags": ["regression"], "note": None}]}
    )

    pinned: Annotated[bool | None, Field(strict=True)] = None
    tags: Annotated[tuple[Tag, ...] | None, Field(max_length=MAX_TAGS)] = None
    note: Annotated[str | None, Field(max_length=MAX_NOTE_CHARS)] = None

    def apply(self, marks: SessionMarks) -> SessionMarks:
        """Return the marks with the changes of the patch."""
        changed = self.model_fields_set
        return SessionMarks(
            pinned=bool(self.pinned) if "pinned" in changed else marks.pinned,
            tags=tuple(dict.fromkeys(self.tags or ())) if "tags" in changed else marks.tags,
            note=(self.note or None) if "note" in changed else marks.note,
        )


class ForkRequest(FrozenModel):
    """The entries to copy, and the id of the new session."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"upTo": 12, "as": "demo-2"}]})

    up_to: Annotated[
        int,
        Field(
            alias="upTo",
            strict=True,
            ge=0,
            le=2**63 - 1,
            description="The `seq` of the last entry to copy; 0 copies none.",
        ),
    ]
    fork_id: Annotated[ClientId, Field(alias="as", description="The id of the new session.")]


class PendingFork(Shape, kw_only=True):
    """A fork that is being copied. Reading the session is a 404 until all entries are copied."""

    id: str
    status: Literal["copying"]
    forked_from: ForkSource
    entries: int
    """The number of entries that are copied."""


class SessionPage(CursorList[SessionRecord]):
    """A list of sessions, the most recently written first."""


class CalledTool(Shape, kw_only=True):
    """A tool that was called in sessions."""

    name: str
    sessions: int
    """The number of sessions with a call or a result of the tool."""


class CalledToolPage(CursorList[CalledTool]):
    """A list of tools in the order of their names."""


class ResourceUser(Shape, kw_only=True):
    """Other records that refer to a resource: their kind, their number, and the id of one."""

    kind: str
    count: int
    example_id: str


class ReleasedResource(Shape, kw_only=True):
    """A resource of the deleted session, which is deleted, or kept for other records."""

    uri: str
    size: int
    status: Literal["deleted", "kept"]
    used_by: tuple[ResourceUser, ...]


class DeletionReceipt(Shape, kw_only=True):
    """The result of a deletion. The next sweep removes the bytes of deleted resources."""

    id: str
    deleted: EntryCounts
    resources: tuple[ReleasedResource, ...]


def encode_session(session: Session, use: SessionUse) -> bytes:
    """Return the JSON of a session, with its counts and sizes."""
    return SessionRecord(
        id=session.session_id,
        created_at=make_timestamp(session.created_at),
        updated_at=make_timestamp(session.updated_at),
        last_seq=session.last_seq,
        title=use.title,
        counts=SessionCounts(
            **_counts_by_kind(session.counts),
            pages=use.pages,
            resources=use.resources,
            images=use.images,
            failures=use.failures,
        ),
        bytes_referenced=use.bytes_referenced,
        bytes_saved=use.bytes_saved,
        tokens_est=use.tokens,
        last_image=f"blob:{use.last_image}" if use.last_image else None,
        forked_from=build_fork_source(session.forked_from) if session.forked_from else None,
        pinned=session.marks.pinned,
        tags=session.marks.tags,
        note=session.marks.note,
    ).encode()


def encode_called_tool(tool: ToolSessions) -> bytes:
    """Return the JSON of a tool that sessions called."""
    return CalledTool(name=tool.name, sessions=tool.sessions).encode()


def build_fork_source(origin: ForkOrigin) -> ForkSource:
    """Build the shape of the origin of a fork."""
    return ForkSource(session_id=origin.session_id, up_to=origin.up_to)


def encode_pending_fork(fork_id: str, origin: ForkOrigin, entries: int) -> bytes:
    """Return the JSON of a fork that is being copied."""
    return PendingFork(
        id=fork_id, status="copying", forked_from=build_fork_source(origin), entries=entries
    ).encode()


def build_copied_entries(counts: HistoryCounts) -> CopiedEntries:
    """Return the number of copied entries by kind."""
    return CopiedEntries(**_counts_by_kind(counts))


def build_imported_entries(counts: HistoryCounts) -> ImportedEntries:
    """Return the number of imported entries by kind."""
    return ImportedEntries(**_counts_by_kind(counts))


def build_deleted_entries(deleted: DeletedSession) -> EntryCounts:
    """Return the number of deleted entries by kind, and of deleted pages."""
    return EntryCounts(**_counts_by_kind(deleted.counts), pages=deleted.pages)


def encode_deletion_receipt(deleted: DeletedSession) -> bytes:
    """Return the JSON of a deletion, with the state of each resource."""
    return DeletionReceipt(
        id=deleted.session_id,
        deleted=build_deleted_entries(deleted),
        resources=tuple(map(_build_released, deleted.resources)),
    ).encode()


def _counts_by_kind(counts: HistoryCounts) -> dict[str, int]:
    return {name: getattr(counts, name) for name in ImportedEntries.__struct_fields__}


def _build_released(resource: ResourceRelease) -> ReleasedResource:
    return ReleasedResource(
        uri=f"blob:{resource.resource_id}",
        size=resource.size_bytes,
        status="kept" if resource.used_by else "deleted",
        used_by=tuple(
            ResourceUser(kind=user.kind, count=user.count, example_id=user.example_id)
            for user in resource.used_by
        ),
    )
