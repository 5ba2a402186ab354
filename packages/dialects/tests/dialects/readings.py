"""The whole reading of each case of the corpora, as `readings.jsonl` has it.

`.venv/bin/python -m packages.dialects.tests.dialects.readings` writes the file anew; review
the difference.
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
from pagefault_dialects.json.pointers import follow, parse_json_pointer
from pagefault_dialects.messages.conversation_reading import ConversationReading, read_conversation

FILE = Path(__file__).with_name("readings.jsonl")
MESSAGES = conversations.read_cases(conversations.MESSAGES.read_text())
HISTORIES = conversations.read_cases(conversations.HISTORIES.read_text())
RESULTS = corpus.read_cases(corpus.FILE.read_text())

_LONG_BASE64 = re.compile(r"[A-Za-z0-9+/]{60,}=*")

Json = Any
Readings = dict[str, str]
"""The JSON text of each reading, by its kind and the name of its case."""


def read_messages() -> Readings:
    """Read all messages: those alone, and those of histories."""
    values = {f"messages {case.name}": case.value for case in MESSAGES}
    for case in HISTORIES:
        for pointer, message, _ in read_conversation(case.value).entries:
            values[f"messages {case.name}{pointer}"] = message
    return {name: _dump(_describe_message(value)) for name, value in values.items()}


def read_bodies() -> Readings:
    """Read all bodies: their prompts, and the pointers, roles and dialects of their messages."""
    return {f"bodies {case.name}": _dump(_describe_body(case.value)) for case in HISTORIES}


def read_results() -> Readings:
    """Read all tool results: their calls, outcomes, paths of contents, and other members."""
    return {f"results {case.name}": _dump(_describe_results(case.value)) for case in RESULTS}


def load() -> Readings:
    """Return the readings in the file."""
    lines = map(json.loads, FILE.read_text().splitlines())
    return {
        f"{kind} {case}": json.dumps(reading, ensure_ascii=False)
        for kind, cases, reading in lines
        for case in cases.split()
    }


def _write(readings: Readings) -> None:
    """Write one line for each reading, with the cases that have it."""
    cases: dict[tuple[str, str], list[str]] = {}
    for name, reading in readings.items():
        kind, _, case = name.partition(" ")
        cases.setdefault((kind, reading), []).append(case)
    lines = (
        f"[{json.dumps(kind)}, {json.dumps(' '.join(names))}, {reading}]\n"
        for (kind, reading), names in cases.items()
    )
    FILE.write_text("".join(lines))


def _describe_message(value: Json) -> Json:
    messages = read_message(value, "/m")
    return [
        _select_fields(message, without="sent") | {"is_whole": message.sent is value}
        for message in messages
    ]


def _describe_body(value: Json) -> Json:
    read = read_conversation(value)
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


def _dump(value: Json) -> str:
    return _LONG_BASE64.sub("…", json.dumps(without_nulls(value), ensure_ascii=False))


if __name__ == "__main__":
    _write(read_messages() | read_bodies() | read_results())
