"""Reads the cases of the corpora and of `rare_cases.jsonl`, and writes each reading as JSON.

A line of `rare_cases.jsonl` is a message or a body with rarer members, types of later versions or
other values, which no package dumps for the corpora. `reviewed_readings` has the expected readings.
"""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from packages.dialects.tests.dialects import conversations, corpus
from packages.dialects.tests.results.samples import without_nulls
from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.dialects.message_registry import read_message
from pagefault_dialects.dialects.registry import find_results
from pagefault_dialects.dialects.tool_output import Content, ToolOutput
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.json.pointers import follow, parse_json_pointer
from pagefault_dialects.messages.conversation_reading import ConversationReading, read_conversation

Json = Any
Values = dict[str, Json]
"""The values of cases, by name."""
Readings = dict[str, str]
"""The JSON text of each reading, by its kind and the name of its case."""

_RARE_CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("rare_cases.jsonl").read_text().splitlines()
]
_HISTORIES = conversations.read_cases(conversations.HISTORIES.read_text())
MESSAGES: Values = {
    **{
        case.name: case.value
        for case in conversations.read_cases(conversations.MESSAGES.read_text())
    },
    **{case["name"]: case["message"] for case in _RARE_CASES if "message" in case},
}
BODIES: Values = {
    **{case.name: case.value for case in _HISTORIES},
    **{case["name"]: case["body"] for case in _RARE_CASES if "body" in case},
}
RESULTS: Values = {case.name: case.value for case in corpus.read_cases(corpus.FILE.read_text())}

_LONG_BASE64 = re.compile(r"[A-Za-z0-9+/]{60,}=*")


def read_messages() -> Readings:
    """Read all messages: those alone, and those of histories."""
    values = {**MESSAGES}
    for case in _HISTORIES:
        for pointer, message, _ in read_conversation(case.value).entries:
            values[case.name + pointer] = message
    return {f"messages {name}": dump(_describe_message(value)) for name, value in values.items()}


def read_bodies() -> Readings:
    """Read all bodies: their prompts, and the pointers, roles and dialects of their messages."""
    return {f"bodies {name}": dump(_describe_body(value)) for name, value in BODIES.items()}


def read_results() -> Readings:
    """Read all tool results: their calls, outcomes, paths of contents, and other members."""
    return {f"results {name}": dump(_describe_results(value)) for name, value in RESULTS.items()}


def _describe_message(value: Json) -> Json:
    messages = read_message(value, "/m")
    return [
        _select_fields(message, without="sent") | {"is_whole": message.sent is value}
        for message in messages
    ]


def _describe_body(value: Json) -> Json:
    try:
        read = read_conversation(value)
    except InvalidPayloadError as exc:
        return {"refused": [[fault.pointer, fault.detail] for fault in exc.faults]}
    entries = []
    for pointer, message, reading in read.entries:
        is_in_body = follow(value, parse_json_pointer(pointer) or ()).value == message
        # Messages that were joined of several items are no value of the body.
        joined = [] if is_in_body else [message]
        entries.append([pointer, reading.role, reading.dialect, *joined])
    return _select_fields(read, without="entries") | {"entries": entries}


def _describe_results(value: Json) -> Json:
    return [
        _select_fields(result, without="contents")
        | {"contents": [_describe_content(value, content) for content in result.contents]}
        for result in find_results(value)
    ]


def _describe_content(value: Json, content: Content) -> Json:
    is_in_value = follow(value, (*map(str, content.path),)).value is content.value
    # Other contents are texts for a model, such as that for a denial without a reason.
    added = [] if is_in_value else [content.value]
    return ["/".join(map(str, content.path)), content.read_as, *added]


def _select_fields(
    item: ForeignMessage | ConversationReading | ToolOutput, *, without: str
) -> dict[str, Json]:
    """Return the fields of a dataclass that have other values than their defaults."""
    members = {field.name: (getattr(item, field.name), field.default) for field in fields(item)}
    return {
        name: value
        for name, (value, default) in members.items()
        if name != without and value not in (default, {})
    }


def dump(value: Json) -> str:
    """Return a reading as JSON text, without members that are null and without long base64."""
    return _LONG_BASE64.sub("…", json.dumps(without_nulls(value), ensure_ascii=False))
