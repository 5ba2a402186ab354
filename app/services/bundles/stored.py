"""Convert the lines of a bundle into records as the stores keep them."""

from collections.abc import Mapping

from app.models.interaction import StoredInteraction
from app.models.json_value import JsonValue, json_text, parse_json
from app.models.limits import Limits
from app.models.message import StoredHistoryMessage
from app.models.page import Level, StoredPage, StoredRepresentation
from app.models.resource import MediaHints, Resource
from app.models.tool_result import StoredToolResult
from app.services.bundles.format_errors import require
from app.services.bundles.rows import (
    InteractionLine,
    MessageLine,
    PageFaultLine,
    PageLine,
    ResourceLine,
    ToolResultLine,
    parse_moment,
)
from app.stores.records.bundles import RecordedResult
from app.stores.records.resources import NamedResource

# A record repeats parts of what it was made of, and puts a few levels around it.
_MORE_DEPTH = 64
_MORE_NODES = 4


def parse_stored_value(text: bytes, limits: Limits) -> JsonValue:
    """Return the value of a stored JSON text.

    Raises:
        InvalidJsonError, PayloadTooLargeError, ValueError: It is none.
        BundleFormatError: It is written otherwise than this service writes it.
    """
    value = parse_json(
        text,
        max_depth=limits.json_depth + _MORE_DEPTH,
        max_nodes=limits.json_nodes * _MORE_NODES,
        spelled=True,
    )
    require(json_text(value).encode() == text, "has JSON that is not written as it is here")
    return value


def parse_stored_object(text: bytes, limits: Limits) -> Mapping[str, JsonValue]:
    """Return the object of a stored JSON text; raise as `parse_stored_value` does."""
    value = parse_stored_value(text, limits)
    require(isinstance(value, dict), "has a value in the place of an object")
    members: Mapping[str, JsonValue] = value
    return members


def recorded_result(line: ToolResultLine, session_id: str) -> RecordedResult:
    """Return the tool result in a line."""
    return RecordedResult(
        StoredToolResult(
            tool_result_id=line.id,
            session_id=session_id,
            seq=line.seq,
            created_at=parse_moment(line.created_at),
            tool_name=line.tool_name,
            tool_call_id=line.tool_call_id,
            sanitized=bytes(line.sanitized),
        ),
        success=line.success,
        request_digest=line.request_digest,
    )


def stored_message(line: MessageLine | PageFaultLine) -> StoredHistoryMessage:
    """Return the message in a line."""
    is_page_fault = isinstance(line, PageFaultLine)
    return StoredHistoryMessage(
        seq=line.seq,
        message_id=line.id,
        created_at=parse_moment(line.created_at),
        tool_call_id=line.tool_call_id,
        request_digest=line.request_digest,
        message=bytes(line.message),
        inline_form=None if isinstance(line, PageFaultLine) else line.inline_form,
        is_page_fault=is_page_fault,
    )


def stored_interaction(line: InteractionLine, session_id: str) -> StoredInteraction:
    """Return the interaction in a line."""
    output = bytes(line.output)
    return StoredInteraction(
        interaction_id=line.id,
        session_id=session_id,
        seq=line.seq,
        input_kind=line.input_kind,
        timestamp=line.timestamp,
        created_at=parse_moment(line.created_at),
        input=bytes(line.input),
        output=None if output == b"null" else output,
        answer_seq=line.answer_seq,
        answered_at=None if line.answered_at is None else parse_moment(line.answered_at),
        bindings=line.bindings,
    )


def stored_page(line: PageLine) -> StoredPage:
    """Return the page in a line; its number is given by the store."""
    return StoredPage(
        page_number=0,
        page_id=line.page_id,
        version=line.version,
        descriptor=bytes(line.descriptor),
        content=bytes(line.content),
        body=bytes(line.body),
        inline_form=line.inline_form,
        digest=line.digest,
        fetched_resource_id=line.fetched_resource_id,
        created_at=parse_moment(line.created_at),
        last_accessed=None if line.last_accessed is None else parse_moment(line.last_accessed),
        access_count=line.access_count,
    )


def stored_levels(line: PageLine) -> list[StoredRepresentation]:
    """Return the levels of the page in a line."""
    return [
        StoredRepresentation(
            Level(each.level), each.origin, bytes(each.body), parse_moment(each.created_at)
        )
        for each in line.levels
    ]


def named_resources(line: ResourceLine) -> dict[str, NamedResource]:
    """Return the resource in a line by its aliases."""
    return {
        alias: NamedResource(line.id, parse_moment(created_at))
        for alias, created_at in line.aliases.items()
    }


def stored_resource(line: ResourceLine, project_id: str) -> Resource:
    """Return the resource in a line, in this project."""
    return Resource(
        resource_id=line.id,
        digest=line.digest,
        mime_type=line.mime_type,
        filename=line.filename,
        size_bytes=line.size_bytes,
        kind=line.kind,
        hints=MediaHints(line.width, line.height, line.duration_seconds),
        created_at=parse_moment(line.created_at),
        derived_in=None if line.project == project_id else line.project,
    )
