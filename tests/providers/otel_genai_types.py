"""Messages of the conventions of OpenTelemetry: the types of its own package."""

import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, TypeAlias

from opentelemetry.util.genai.types import InputMessage
from pydantic import TypeAdapter

from tests.providers.answers import Step, check_answers
from tests.providers.encoded import check_encoded

Json: TypeAlias = dict[str, Any]

_MESSAGE: TypeAdapter[InputMessage] = TypeAdapter(InputMessage)
_ROLES = ("system", "user", "assistant", "tool")
_TYPES = ("text", "reasoning", "tool_call", "tool_call_response", "blob", "uri")
_MODALITIES = ("image", "audio", "video", "document")
_URL = re.compile(r"https?://[^\s/]+\S*")


def check_otel_genai(messages: list[Json]) -> None:
    """Raise unless the messages are those of the conventions."""
    for message in messages:
        shallow = {**message, "parts": [_without_payload(part) for part in message["parts"]]}
        read = asdict(_MESSAGE.validate_python(shallow))
        assert read.pop("name") is None
        for part in read["parts"]:
            if part["type"] == "blob":
                part["content"] = part["content"].decode()
        assert read == shallow, f"the types know only {read} of {shallow}"
        assert message["role"] in _ROLES, f"a role {message['role']!r}"
        assert message["parts"], "nothing is said"
        for part in message["parts"]:
            _check_part(part, message["role"])
    check_answers(_steps(messages))


def _without_payload(part: Json) -> Json:
    """The part with no arguments and no JSON of a response, which may be deep."""
    if part["type"] == "tool_call":
        assert isinstance(part["arguments"], dict), "arguments that are no object"
        return part | {"arguments": {}}
    return part | {"response": None} if part["type"] == "tool_call_response" else part


def _check_part(part: Json, role: str) -> None:
    assert part["type"] in _TYPES, f"a part of type {part['type']}"
    if part["type"] == "text":
        assert part["content"], "an empty text"
        assert role != "tool", "a text that is no answer"
    elif part["type"] == "reasoning":
        assert role == "assistant", f"a thought of the {role}"
    elif part["type"] == "tool_call":
        assert role == "assistant", f"a call of the {role}"
        assert part["name"], "a call of no tool"
    elif part["type"] == "tool_call_response":
        assert role == "tool", f"an answer of the {role}"
    else:
        assert part["modality"] in _MODALITIES, f"a modality {part['modality']!r}"
        if part["type"] == "blob":
            check_encoded(part["content"], part["mime_type"])
        else:
            assert _URL.fullmatch(part["uri"]), f"no URL: {part['uri'][:80]}"


def _steps(messages: list[Json]) -> Iterator[Step]:
    for message in messages:
        if message["role"] != "tool":
            yield "says", ""
        for part in message["parts"]:
            if part["type"] == "tool_call_response":
                yield "answers", part["id"]
            elif part["type"] == "tool_call":
                yield "calls", part["id"]
