"""Messages and histories that real packages dumped, each with its expected content.

`peers/dialects/build.py` writes the files; `make peers-check` rebuilds them.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.messages.conversation_reading import read_conversation
from pagefault_dialects.messages.entry_reading import EntryReading, read_entry, read_turns
from pagefault_dialects.messages.reading import pair_turns
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.rendering import render

MESSAGES = Path(__file__).with_name("messages.jsonl")
HISTORIES = Path(__file__).with_name("histories.jsonl")
FILES = (MESSAGES, HISTORIES)
TARGETS = ("openai-chat", "anthropic")

_DIGEST_CHARS = 12
_BESIDE = re.compile(r"\[[^\]]*\]|^Image: .*:$", re.MULTILINE)
"""Notes of a rendering about moved items and about items that a target does not support."""

Json = Any
Call = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ExpectedContent:
    """The texts, media and calls that a model reads in a message or a history."""

    texts: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    answers: tuple[tuple[str | None, str], ...] = ()
    media: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One message or one history."""

    name: str
    package: str
    value: Json
    role: str | None
    expect: ExpectedContent

    @property
    def dialect(self) -> str:
        """Return the dialect that built it."""
        return self.name.rpartition("-")[0]


def read_cases(text: str) -> list[Case]:
    """Return the cases of a file."""
    return [_case(**json.loads(line)) for line in text.splitlines()]


def _case(*, name: str, package: str, value: Json, expect: dict[str, Any]) -> Case:
    expected_content = ExpectedContent(
        tuple(expect.get("texts", ())),
        tuple((name, json.dumps(arguments)) for name, arguments in expect.get("calls", ())),
        tuple((call, text) for call, text in expect.get("answers", ())),
        tuple(sorted(expect.get("media", ()))),
    )
    return Case(name, package, value, expect.get("role"), expected_content)


def faults_of(case: Case) -> list[str]:
    """Return the faults in how a case is read, and how it is rendered for targets."""
    try:
        entries = entries_of(case)
    except InvalidPayloadError as exc:
        return [f"refused: {exc.faults}"]
    faults = [
        f"{target}: {rendering_fault}"
        for target in TARGETS
        for rendering_fault in _rendering_faults(case, entries, target)
    ]
    if case.role is not None and entries[0].role != case.role:
        faults.append(f"said by {entries[0].role}")
    return faults


def entries_of(case: Case) -> list[EntryReading]:
    """Return the readings of the messages of a case."""
    if case.role is not None:
        return [read_entry(case.value)]
    return [entry for _, _, entry in read_conversation(case.value).entries]


def turns_of(entries: list[EntryReading]) -> Sequence[ComposedTurn]:
    """Return the paired turns of entries."""
    messages = [message for entry in entries for message in entry.messages]
    recorded = [
        turn for index, message in enumerate(messages) for turn in read_turns(message, index + 1)
    ]
    return pair_turns(messages, recorded, closes_calls=False).turns


def _rendering_faults(case: Case, entries: list[EntryReading], target: str) -> list[str]:
    """Yield the faults of a rendering: content that is missing, repeated or unexpected."""
    rendered = render(turns_of(entries), target)
    if any(_is_as_sent(case.value, message) for message in rendered.messages):
        # The message is unchanged, which `targets/test_home.py` tests.
        return []
    strings = [
        visible_string
        for message in rendered.messages
        for visible_string in _visible_strings(message)
    ]
    words = "\n".join([rendered.system, *(text for kind, text in strings if kind == "text")])
    expected = [*case.expect.texts, *(text for _, text in case.expect.answers)]
    faults = [
        f"{text!r} {words.count(text)} times"
        for text in expected
        if words.count(text) != expected.count(text)
    ]
    for text in expected:
        words = words.replace(text, "")
    if _BESIDE.sub("", words).strip():
        faults.append(f"beside it {words.strip()!r}")
    media = tuple(sorted(digest for kind, digest in strings if kind == "media"))
    calls = [*_calls(rendered.messages)]
    if media != case.expect.media:
        faults.append(f"media {media}")
    faults += (f"call {call} not among {calls}" for call in case.expect.calls if call not in calls)
    if target == "openai-chat":
        faults += _missing_answers(case.expect, rendered.messages)
    return faults


def _is_as_sent(value: Json, message: Json) -> bool:
    """Return whether a message is the one that was sent, with members of its own dialect."""
    if not isinstance(value, dict) or message["role"] != value.get("role"):
        return False
    content = message.get("content")
    return content == value.get("content") and not isinstance(content, str)


def _missing_answers(expect: ExpectedContent, messages: list[Json]) -> Iterator[str]:
    tools = [
        (message["tool_call_id"], "".join(text for _, text in _visible_strings(message)))
        for message in messages
        if message["role"] == "tool"
    ]
    for call, text in expect.answers:
        if not any(call in (None, known) and text in answer_texts for known, answer_texts in tools):
            yield f"answer {call} not among {tools}"


def _calls(messages: list[Json]) -> Iterator[Call]:
    for message in messages:
        for tool_call in message.get("tool_calls") or ():
            arguments = json.loads(tool_call["function"]["arguments"])
            yield tool_call["function"]["name"], json.dumps(arguments)
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use":
                yield block["name"], json.dumps(block["input"])


def _visible_strings(node: Json) -> Iterator[tuple[str, str]]:
    """Yield the texts and the digests of media that a model reads in rendered messages."""
    if isinstance(node, str):
        yield "text", node
    elif isinstance(node, list):
        for item in node:
            yield from _visible_strings(item)
    elif isinstance(node, dict):
        kind = node.get("type")
        if kind == "text":
            yield "text", node["text"]
        elif kind == "image_url":
            yield "media", _digest(node["image_url"]["url"].partition(",")[2])
        elif kind == "image":
            yield "media", _digest(node["source"]["data"])
        elif kind not in ("tool_use", "thinking", "redacted_thinking"):
            yield from _visible_strings(node.get("content"))


def _digest(base64_data: str) -> str:
    return hashlib.sha256(base64.b64decode(base64_data)).hexdigest()[:_DIGEST_CHARS]
