"""Messages of Ollama: the types of its own SDK, and the rules of its server."""

from typing import Any, TypeAlias

import pybase64
from ollama import Message

from pagefault_dialects.media.types import sniff
from tests.providers.encoded import check_encoded, is_reference

Json: TypeAlias = dict[str, Any]

_ROLES = ("system", "user", "assistant", "tool")
_IMAGES = ("image/png", "image/jpeg", "image/webp")


def check_ollama(messages: list[Json]) -> None:
    """Raise unless Ollama takes the messages."""
    for message in messages:
        shallow = _without_payloads(message)
        taken = Message.model_validate(shallow).model_dump(exclude_none=True)
        assert taken == shallow, f"the types know only {taken} of {shallow}"
        assert message["role"] in _ROLES, f"a role {message['role']!r}"
        _check_said(message)
        for image in message.get("images", ()):
            _check_image(image)
    _check_answers(messages)


def _without_payloads(message: Json) -> Json:
    """The message without its images, and with no arguments: they may be deep."""
    shallow = {key: member for key, member in message.items() if key != "images"}
    if "tool_calls" not in message:
        return shallow
    calls = message["tool_calls"]
    assert calls, "an empty list of calls"
    assert all(type(call["function"]["arguments"]) is dict for call in calls), "arguments as a text"
    return shallow | {
        "tool_calls": [{"function": call["function"] | {"arguments": {}}} for call in calls]
    }


def _check_said(message: Json) -> None:
    is_empty = not (message["content"] or message.get("images") or message.get("tool_calls"))
    assert message["role"] == "tool" or not is_empty, "nothing is said"
    assert ("tool_name" in message) == (message["role"] == "tool"), "the name of a tool elsewhere"
    assert "tool_calls" not in message or message["role"] == "assistant", "calls of somebody else"
    assert "images" not in message or message["images"], "an empty list of images"


def _check_image(image: str) -> None:
    if is_reference(image):
        return
    mime_type = sniff(pybase64.b64decode(image, validate=True)) or ""
    assert mime_type in _IMAGES, f"an image of type {mime_type!r}"
    check_encoded(image, mime_type)


def _check_answers(messages: list[Json]) -> None:
    """Raise unless answers stand behind their calls, by the names of tools: calls have no ids.

    Answers that come first of all, which is how a single record reads, answer no call.
    """
    roles = [message["role"] for message in messages]
    first = next((index for index, role in enumerate(roles) if role != "tool"), len(roles))
    called: list[str] = []
    for message in messages[first:]:
        if message["role"] == "tool":
            name = message["tool_name"]
            assert name in called, f"an answer of {name} to {called}"
            called.remove(name)
            continue
        assert not called, "calls without an answer"
        called = [call["function"]["name"] for call in message.get("tool_calls", ())]
    assert not called, "calls without an answer"
