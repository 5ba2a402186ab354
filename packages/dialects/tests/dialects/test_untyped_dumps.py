"""Dumps without unset members, which therefore lack their type."""

import hashlib
from typing import Any

import pytest

from packages.dialects.tests.dialects.corpus import Expectation, observe
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.messages.entry_reading import read_entry
from tests.kit.media import b64, png

Json = dict[str, Any]

LANGCHAIN: Json = {"content": "It snows.", "tool_call_id": "c1"}
RETURN: Json = {"tool_name": "f", "tool_call_id": "c1", "part_kind": "tool-return"}


def output(*blocks: Json) -> Json:
    """Return an output of LlamaIndex."""
    return {"blocks": [*blocks], "tool_name": "f", "raw_input": {}, "raw_output": "x"}


@pytest.mark.parametrize(
    ("dump", "expected"),
    [
        (LANGCHAIN, Expectation(("It snows.",), call="c1")),
        ({**LANGCHAIN, "status": "success"}, Expectation(("It snows.",), call="c1")),
        ({**LANGCHAIN, "status": "error"}, Expectation(("It snows.",), failed=True, call="c1")),
        (
            {**LANGCHAIN, "name": "f", "artifact": 3},
            Expectation(("It snows.",), call="c1", tool="f"),
        ),
        (RETURN, Expectation(call="c1", tool="f")),
        ({**RETURN, "outcome": "failed"}, Expectation(failed=True, call="c1", tool="f")),
        (
            output({"text": "It snows."}, {"image": b64(png()), "image_mimetype": "image/png"}),
            Expectation(("It snows.",), (hashlib.sha256(png()).hexdigest()[:12],), tool="f"),
        ),
    ],
)
def test_dump_without_its_type_is_read_as_with_it(dump: Json, expected: Expectation) -> None:
    assert observe(dump) == expected


@pytest.mark.parametrize(
    "record",
    [
        {**LANGCHAIN, "rows": 3},
        {**LANGCHAIN, "tool_call_id": 7},
        {**LANGCHAIN, "content": {"a": 1}},
        {"tool_call_id": "c1", "status": "error"},
        {"tool_call_id": "c1", "part_kind": "tool-return"},
    ],
)
def test_near_miss_of_a_dump_is_a_record(record: Json) -> None:
    observed = observe(record)
    assert (observed.call, observed.failed, len(observed.texts)) == (None, False, 1)


def test_message_of_langchain_without_its_type_is_a_result() -> None:
    read = read_entry({**LANGCHAIN, "status": "error"})
    assert (read.dialect, read.role) == ("langchain", "tool")
    with pytest.raises(InvalidPayloadError):
        read_entry({**LANGCHAIN, "rows": 3})


@pytest.mark.parametrize(
    "message", [{"content": "It snows."}, {"content": "It snows.", "id": "run-1", "name": "ann"}]
)
def test_message_of_langchain_without_its_type_may_have_any_role(message: Json) -> None:
    with pytest.raises(InvalidPayloadError):
        read_entry(message)
    assert read_entry({**message, "type": "ai"}).role == "assistant"


def test_meta_beside_content_alone_may_be_data() -> None:
    dump = {"meta": {"pages": 3}, "content": [{"type": "text", "text": "It snows."}]}
    assert observe(dump).texts == ("It snows.", '{"meta":{"pages":3}}')
    aliased = {"_meta": dump["meta"], "content": dump["content"]}
    for whole in (aliased, dump | {"isError": False}, dump | {"is_error": False}):
        assert observe(whole) == Expectation(("It snows.",))
