"""Convert stored records into the lines of a bundle. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Raw

from app.models.identity import rfc3339
from app.models.interaction import StoredInteraction
from app.models.message import INTERACTION, PAGE_FAULT, StoredHistoryMessage
from app.models.page import StoredPage, StoredRepresentation
from app.models.resource import Resource
from app.services.bundles.rows import (
    AnswerEntryLine,
    HistoryLine,
    InteractionEntryLine,
    InteractionLine,
    LevelLine,
    MessageLine,
    PageFaultLine,
    PageLine,
    ResourceLine,
    ToolResultLine,
)
from app.stores.records.bundles import Entry, Recorded, RecordedResult


def history_line(entry: Entry, recorded: Recorded | None) -> HistoryLine:
    """Return the line of an entry of the history."""
    if isinstance(recorded, RecordedResult):
        return ToolResultLine(
            seq=entry.seq,
            id=entry.entry_id,
            created_at=rfc3339(recorded.result.created_at),
            tool_name=recorded.result.tool_name,
            tool_call_id=recorded.result.tool_call_id,
            success=recorded.success,
            request_digest=recorded.request_digest,
            sanitized=Raw(recorded.result.sanitized),
        )
    if recorded is not None:
        return _message_line(entry, recorded)
    kind = InteractionEntryLine if entry.kind == INTERACTION else AnswerEntryLine
    return kind(entry.seq, entry.entry_id)


def _message_line(entry: Entry, message: StoredHistoryMessage) -> HistoryLine:
    created_at = rfc3339(message.created_at)
    if entry.kind == PAGE_FAULT:
        return PageFaultLine(
            seq=entry.seq,
            id=entry.entry_id,
            created_at=created_at,
            tool_call_id=message.tool_call_id,
            request_digest=message.request_digest,
            message=Raw(message.message),
        )
    return MessageLine(
        seq=entry.seq,
        id=entry.entry_id,
        created_at=created_at,
        tool_call_id=message.tool_call_id,
        request_digest=message.request_digest,
        inline_form=message.inline_form,
        message=Raw(message.message),
    )


def interaction_line(stored: StoredInteraction) -> InteractionLine:
    """Return the line of an interaction."""
    return InteractionLine(
        seq=stored.seq,
        id=stored.interaction_id,
        created_at=rfc3339(stored.created_at),
        input_kind=stored.input_kind,
        timestamp=stored.timestamp,
        answer_seq=stored.answer_seq,
        answered_at=None if stored.answered_at is None else rfc3339(stored.answered_at),
        input=Raw(stored.input),
        output=Raw(stored.output or b"null"),
        bindings=dict(stored.bindings),
    )


def page_line(stored: StoredPage, levels: Sequence[StoredRepresentation]) -> PageLine:
    """Return the line of a page."""
    last = stored.last_accessed
    return PageLine(
        page_id=stored.page_id,
        version=stored.version,
        digest=stored.digest,
        created_at=rfc3339(stored.created_at),
        last_accessed=None if last is None else rfc3339(last),
        access_count=stored.access_count,
        fetched_resource_id=stored.fetched_resource_id,
        inline_form=stored.inline_form,
        descriptor=Raw(stored.descriptor),
        body=Raw(stored.body),
        content=Raw(stored.content or b"null"),
        levels=tuple(
            LevelLine(int(each.level), each.origin, rfc3339(each.created_at), Raw(each.body))
            for each in levels
            if each.origin != "stored"
        ),
    )


def resource_line(
    resource: Resource, project_id: str, aliases: Mapping[str, datetime]
) -> ResourceLine:
    """Return the line of a resource of a project, with its aliases in order."""
    return ResourceLine(
        id=resource.resource_id,
        project=resource.derived_in or project_id,
        digest=resource.digest,
        mime_type=resource.mime_type,
        filename=resource.filename,
        size_bytes=resource.size_bytes,
        kind=resource.kind,
        width=resource.hints.width,
        height=resource.hints.height,
        duration_seconds=resource.hints.duration_seconds,
        created_at=rfc3339(resource.created_at),
        aliases={alias: rfc3339(created_at) for alias, created_at in aliases.items()},
    )
