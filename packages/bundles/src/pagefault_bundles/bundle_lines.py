"""Conversion between the lines of a bundle and the records of the stores, without I/O.

Most members of a line have the name of an attribute of the record, and are copied by name. The
functions here list only the others. Times are text in a line, and stored JSON texts are embedded
unchanged.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from app.models.limits import Limits
from app.models.message import StoredHistoryMessage
from app.models.session import INTERACTION, PAGE_FAULT, ForkOrigin
from app.models.stored_interaction import StoredInteraction
from app.models.tool_result import StoredToolResult
from app.stores.records.aliases import AliasTarget
from app.stores.records.frontier_moves import FrontierMove
from pagefault_bundles import line_types
from pagefault_bundles.bundle_records import Entry, EntryRecord, RecordedResult
from pagefault_bundles.format_errors import require
from pagefault_dialects.json.values import JsonValue, json_text, parse_json
from pagefault_dialects.model.frontier import Frontier, StoredFrontier
from pagefault_dialects.model.page import Level, StoredPage, StoredRepresentation
from pagefault_dialects.model.resource import MediaHints, Resource
from pagefault_dialects.model.timestamps import rfc3339

# A stored record may have more values than the request for it, and nest them a few levels deeper.
_EXTRA_DEPTH = 64
_NODES_FACTOR = 4
_MOMENT_NAMES = frozenset({"created_at", "answered_at", "last_accessed"})

_Line = TypeVar("_Line", bound=Struct)
_Record = TypeVar("_Record")


def make_history_line(entry: Entry, record: EntryRecord | None) -> line_types.HistoryLine:
    """Return the line of an entry of the history."""
    if isinstance(record, RecordedResult):
        return _make_line(
            line_types.ToolResultLine,
            record.result,
            seq=entry.seq,
            id=entry.entry_id,
            success=record.success,
            request_digest=record.request_digest,
        )
    if record is None:
        is_interaction = entry.kind == INTERACTION
        entry_type = (
            line_types.InteractionEntryLine if is_interaction else line_types.AnswerEntryLine
        )
        return entry_type(entry.seq, entry.entry_id)
    message_type: type[line_types.MessageLine | line_types.PageFaultLine] = (
        line_types.PageFaultLine if entry.kind == PAGE_FAULT else line_types.MessageLine
    )
    return _make_line(message_type, record, seq=entry.seq, id=entry.entry_id)


def make_interaction_line(stored: StoredInteraction) -> line_types.InteractionLine:
    """Return the line of an interaction."""
    output = Raw(stored.output or b"null")
    return _make_line(line_types.InteractionLine, stored, id=stored.interaction_id, output=output)


def make_fork_line(origin: ForkOrigin) -> line_types.ForkOriginLine:
    """Return the line of the origin of a fork."""
    return line_types.ForkOriginLine(origin.session_id, origin.up_to)


def read_fork_origin(line: line_types.ForkOriginLine) -> ForkOrigin:
    """Return the origin of a fork. In this service, another session may have the same id."""
    return ForkOrigin(line.session_id, line.up_to)


def make_frontier_line(
    stored: StoredFrontier, moves: Iterable[FrontierMove]
) -> line_types.FrontierLine:
    """Return the line of a frontier and its moves."""
    frontier = stored.frontier
    through = (
        frontier.tool_media,
        frontier.said_media,
        frontier.tool_texts,
        frontier.tool_results,
        frontier.said_texts,
    )
    return line_types.FrontierLine(
        stored.name,
        through,
        frontier.orphans,
        stored.sent.hex(),
        recalled=frontier.recalled,
        arguments=frontier.arguments,
        folded=frontier.folded,
        said_folded=frontier.said_folded,
        floor=frontier.floor,
        moves=tuple(
            line_types.FrontierMoveLine(seq, **levels.model_dump(exclude={"orphans"}))
            for seq, levels in moves
        ),
    )


def read_frontier(line: line_types.FrontierLine) -> StoredFrontier:
    """Return the frontier in a line."""
    tool_media, said_media, tool_texts, tool_results, said_texts = line.through
    frontier = Frontier(
        tool_media=tool_media,
        said_media=said_media,
        tool_texts=tool_texts,
        tool_results=tool_results,
        said_texts=said_texts,
        recalled=line.recalled,
        arguments=line.arguments,
        folded=line.folded,
        said_folded=line.said_folded,
        floor=line.floor,
        orphans=line.orphans,
    )
    return StoredFrontier(line.name, frontier, bytes.fromhex(line.sent), version=1)


def read_move(line: line_types.FrontierMoveLine) -> FrontierMove:
    """Return the move of a frontier in a line."""
    levels = msgspec.structs.asdict(line)
    return FrontierMove(levels.pop("seq"), Frontier(**levels))


def make_page_line(
    stored: StoredPage, levels: Sequence[StoredRepresentation]
) -> line_types.PageLine:
    """Return the line of a page."""
    lines = (
        _make_line(line_types.LevelLine, level, level=int(level.level))
        for level in levels
        if level.origin != "stored"
    )
    return _make_line(
        line_types.PageLine, stored, content=Raw(stored.content or b"null"), levels=tuple(lines)
    )


def make_resource_line(
    resource: Resource, project_id: str, aliases: Mapping[str, datetime]
) -> line_types.ResourceLine:
    """Return the line of a resource of a project, with its aliases in order."""
    return _make_line(
        line_types.ResourceLine,
        resource,
        id=resource.resource_id,
        project=resource.derived_in or project_id,
        **asdict(resource.hints),
        aliases={alias: rfc3339(created_at) for alias, created_at in aliases.items()},
    )


def parse_stored_value(text: bytes, limits: Limits) -> JsonValue:
    """Return the value of a stored JSON text.

    Raises:
        InvalidJsonError, PayloadTooLargeError, ValueError: The text is not valid JSON.
        BundleFormatError: The text differs from the form that this service writes.
    """
    value = parse_json(
        text,
        max_depth=limits.json_depth + _EXTRA_DEPTH,
        max_nodes=limits.json_nodes * _NODES_FACTOR,
        keeps_spelling=True,
    )
    require(json_text(value).encode() == text, "has JSON that is not written as it is here")
    return value


def parse_stored_object(text: bytes, limits: Limits) -> Mapping[str, JsonValue]:
    """Return the object of a stored JSON text; raise as `parse_stored_value` does."""
    value = parse_stored_value(text, limits)
    require(isinstance(value, dict), "has a value in the place of an object")
    members: Mapping[str, JsonValue] = value
    return members


def read_tool_result(line: line_types.ToolResultLine, session_id: str) -> RecordedResult:
    """Return the tool result in a line."""
    result = _make_record(StoredToolResult, line, tool_result_id=line.id, session_id=session_id)
    return RecordedResult(result, success=line.success, request_digest=line.request_digest)


def read_message(
    line: line_types.MessageLine | line_types.PageFaultLine, *, failures: int = 0
) -> StoredHistoryMessage:
    """Return the message in a line, which does not have the number of its failed results."""
    if isinstance(line, line_types.PageFaultLine):
        without_values = dict.fromkeys(("inline_form", "dialect", "reading", "role"))
        return _make_record(
            StoredHistoryMessage,
            line,
            message_id=line.id,
            is_page_fault=True,
            failures=failures,
            **without_values,
        )
    return _make_record(
        StoredHistoryMessage,
        line,
        message_id=line.id,
        is_page_fault=False,
        page_fault=None,
        failures=failures,
    )


def read_interaction(line: line_types.InteractionLine, session_id: str) -> StoredInteraction:
    """Return the interaction in a line."""
    output = bytes(line.output)
    return _make_record(
        StoredInteraction,
        line,
        interaction_id=line.id,
        session_id=session_id,
        output=None if output == b"null" else output,
    )


def read_page(line: line_types.PageLine) -> StoredPage:
    """Return the page in a line. Its number is 0 until the store assigns one."""
    return _make_record(StoredPage, line, page_number=0)


def read_levels(line: line_types.PageLine) -> list[StoredRepresentation]:
    """Return the levels of the page in a line."""
    return [
        _make_record(StoredRepresentation, level, level=Level(level.level)) for level in line.levels
    ]


def read_alias_targets(line: line_types.ResourceLine) -> dict[str, AliasTarget]:
    """Return the targets of the aliases in a line, by alias."""
    return {
        alias: AliasTarget(line.id, line_types.parse_timestamp(created_at))
        for alias, created_at in line.aliases.items()
    }


def read_resource(line: line_types.ResourceLine, project_id: str) -> Resource:
    """Return the resource in a line, as a resource of a project."""
    return _make_record(
        Resource,
        line,
        resource_id=line.id,
        hints=MediaHints(line.width, line.height, line.duration_seconds),
        derived_in=None if line.project == project_id else line.project,
    )


def _make_line(line_type: type[_Line], record: object, **extra: object) -> _Line:
    """Return the line of a record.

    Args:
        line_type: The type of the line.
        record: The record.
        extra: The members of the line that are not copied from attributes with the same name.
    """
    names = [name for name in line_type.__struct_fields__ if name not in extra]
    return line_type(**extra, **{name: _encode_value(getattr(record, name)) for name in names})


def _encode_value(value: object) -> object:
    if isinstance(value, datetime):
        return rfc3339(value)
    return Raw(value) if isinstance(value, bytes) else value


def _make_record(record_type: type[_Record], line: Struct, **extra: object) -> _Record:
    """Return the record in a line.

    Args:
        record_type: The type of the record.
        line: The line.
        extra: The attributes of the record that are not copied from members with the same name.
    """
    names = [field.name for field in fields(record_type) if field.name not in extra]  # type: ignore[arg-type]
    return record_type(
        **extra, **{name: _decode_value(name, getattr(line, name)) for name in names}
    )


def _decode_value(name: str, value: object) -> object:
    if name in _MOMENT_NAMES and isinstance(value, str):
        return line_types.parse_timestamp(value)
    return bytes(value) if isinstance(value, Raw) else value
