from typing import Any

import pytest
from pydantic import ValidationError

from packages.dialects.tests.targets.resolved_turns import PDF, PNG, base64
from tests.providers.anthropic_types import check_anthropic

TEXT = {"type": "text", "text": "Done."}
USE = {"type": "tool_use", "id": "a", "name": "shoot", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": [TEXT]}


def image(data: str = base64(PNG), mime_type: str = "image/png") -> dict[str, Any]:
    source = {"type": "base64", "media_type": mime_type, "data": data}
    return {"type": "image", "source": source}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


WRONG = {
    "an empty message": ([user()], "nothing is said"),
    "an empty text": ([user({"type": "text", "text": ""})], "a blank text"),
    "an empty text in an answer": (
        [user(RESULT | {"content": [{"type": "text", "text": " "}]})],
        "a blank text",
    ),
    "a member that nobody knows": ([user(TEXT | {"name": "a"})], "the types know only"),
    "a member of a source that nobody knows": (
        [user(image() | {"source": image()["source"] | {"name": "a"}})],
        "the types know only",
    ),
    "a message of the system": ([{"role": "system", "content": "Be kind."}], "of the system"),
    "an image of the assistant": ([assistant(image())], "the assistant says"),
    "an error with an image": (
        [user(RESULT | {"is_error": True, "content": [TEXT, image()]})],
        "an error holds",
    ),
    "an error without words": (
        [user(RESULT | {"is_error": True, "content": []})],
        "an error holds nothing",
    ),
    "an answer behind a text": ([user(TEXT, RESULT)], "results that are not first"),
    "an odd id": ([user(RESULT | {"tool_use_id": "a.b"})], "the id 'a.b'"),
    "an odd name": ([assistant(USE | {"name": "a b"})], "the name 'a b'"),
    "an unanswered call": ([assistant(USE)], "calls without an answer"),
    "an answer that comes late": (
        [assistant(USE), user(TEXT), user(RESULT)],
        r"\[\] answer \['a'\]",
    ),
    "an answer to no call": ([user(TEXT), user(RESULT)], r"\['a'\] answer \[\]"),
    "an answer given twice": ([user(RESULT, RESULT)], "two answers to one call"),
    "bytes of another type": ([user(image(base64(PDF)))], "bytes of application/pdf as image/png"),
    "a medium without bytes": ([user(image(""))], "a medium without bytes"),
    "a large image": (
        [user(image(base64(PNG + bytes(4_000_000))))],
        "an image of",
    ),
    "a URL without encryption": (
        [user({"type": "image", "source": {"type": "url", "url": "http://a.example/"}})],
        "no URL",
    ),
}


@pytest.mark.parametrize(("messages", "complaint"), WRONG.values(), ids=WRONG)
def test_invalid_messages_are_refused(messages: list[dict[str, Any]], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_anthropic(messages)


ILL_TYPED = {
    "an image of a type that is not taken": [user(image(mime_type="image/svg+xml"))],
    "a block of another provider": [user({"type": "input_text", "text": "Done."})],
    "a call without input": [assistant({"type": "tool_use", "id": "a", "name": "shoot"})],
    "input that is a string": [assistant(USE | {"input": "{}"})],
    "a role of another provider": [{"role": "tool", "content": [TEXT]}],
}


@pytest.mark.parametrize("messages", ILL_TYPED.values(), ids=ILL_TYPED)
def test_messages_of_other_types_are_refused(messages: list[dict[str, Any]]) -> None:
    with pytest.raises(ValidationError):
        check_anthropic(messages)
