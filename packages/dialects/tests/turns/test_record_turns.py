"""Canonical tool results as turns."""

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any

import pytest

from pagefault_dialects.model.conversation import (
    Address,
    AlternativeText,
    BlockLabel,
    DataItem,
    InlineBytes,
    Medium,
    Omission,
    ProviderBlock,
    StoredBytes,
    TextItem,
    Turn,
)
from pagefault_dialects.model.render_options import Audience
from pagefault_dialects.model.resource import MediaHints
from pagefault_dialects.texts.cuts import make_preview
from pagefault_dialects.turns.record_turns import (
    StructuredResource,
    find_structured_resource,
    make_tool_result_turn,
)
from tests.kit.media import png

ID = "0c8e6cc1ab1f4d34b4a5a0e21f7d6c15"
DIGEST = "ab" * 32
ORIGIN = "/api/tool-results/1"
SPELLINGS: Sequence[dict[str, Any]] = (
    {"separators": (",", ":")},
    {},
    {"indent": 2},
    {"indent": 4},
)


def record(*parts: dict[str, Any], success: bool = True, **meta: object) -> bytes:
    resource = {
        "uri": f"blob:{ID}",
        "kind": "video",
        "mimeType": "video/mp4",
        "filename": "demo.mp4",
        "mediaKind": "video",
        "size": 5_200_000,
        "digest": f"sha-256:{DIGEST}",
        "durationSeconds": 2.5,
    }
    about = {"toolName": "camera", "toolCallId": "call_1", "success": success, **meta}
    return json.dumps({"parts": parts, "resources": [resource], "meta": about}).encode()


def items(*parts: dict[str, Any], audience: Audience = "assistant") -> tuple[object, ...]:
    return make_tool_result_turn(record(*parts), origin=ORIGIN, audience=audience).items


def text(words: str, **more: object) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def test_turn_answers_its_call() -> None:
    turn = make_tool_result_turn(
        record(text("hi"), success=False), origin=ORIGIN, audience="assistant", seq=7
    )
    assert turn == Turn(
        "tool",
        (TextItem("/sanitized/parts/0", "hi"),),
        ORIGIN,
        7,
        call_id="call_1",
        tool_name="camera",
        is_error=True,
        is_stored_alone=True,
    )


def test_stored_medium_has_the_fields_of_its_descriptor() -> None:
    part = {
        "type": "file",
        "data": f"@blob:{ID}",
        "mimeType": "video/mp4",
        "mediaKind": "video",
        "_meta": {"transcript": "Hello."},
    }
    assert items(part) == (
        Medium(
            "/sanitized/parts/0",
            StoredBytes(ID, DIGEST),
            "video",
            "video/mp4",
            "demo.mp4",
            5_200_000,
            MediaHints(None, None, 2.5),
            AlternativeText("transcript", "Hello."),
            label=BlockLabel(meta={"transcript": "Hello."}),
        ),
    )


def test_small_image_is_in_the_record() -> None:
    encoded = base64.b64encode(png()).decode()
    part = {"type": "image", "image": encoded, "mimeType": "image/png", "name": "dot"}
    assert items(part) == (
        Medium(
            "/sanitized/parts/0",
            InlineBytes(png()),
            "image",
            "image/png",
            "dot",
            len(png()),
            label=BlockLabel("dot"),
        ),
    )


def test_address_stays_an_address() -> None:
    url = "https://files.example/a.pdf"
    part = {"type": "file", "data": url, "mimeType": "application/pdf", "mediaKind": "binary"}
    assert items(part) == (
        Medium("/sanitized/parts/0", Address(url), "binary", "application/pdf", None, None),
    )


def test_content_for_the_user_only_is_left_out_for_a_model() -> None:
    part = text("psst", annotations={"audience": ["user"]})
    (left_out,) = items(part)
    assert isinstance(left_out, Omission)
    assert (left_out.pointer, left_out.what, left_out.code) == (
        "/sanitized/parts/0",
        "text",
        "other-audience",
    )
    assert items(part, audience="user") == (TextItem("/sanitized/parts/0", "psst"),)


def test_content_for_both_or_no_audience_is_rendered() -> None:
    cases: list[dict[str, Any]] = [
        {"audience": ["user", "assistant"]},
        {"audience": []},
        {"priority": 1},
    ]
    for annotations in cases:
        assert items(text("x", annotations=annotations)) == (TextItem("/sanitized/parts/0", "x"),)


def test_structured_content_that_no_text_repeats_is_rendered_beside_the_parts() -> None:
    value = {"a": [1, 2]}
    turn = make_tool_result_turn(
        record(text("done"), structuredContent=value), origin=ORIGIN, audience="assistant"
    )
    assert turn.items[1:] == (DataItem("/sanitized/meta/structuredContent", value),)
    assert turn.structured == (value,)


def test_structured_content_that_a_text_repeats_is_left_out() -> None:
    text_part = text('{ "a": [1, 2] }')
    turn = make_tool_result_turn(
        record(text_part, structuredContent={"a": [1, 2]}), origin=ORIGIN, audience="assistant"
    )
    assert turn.items == (TextItem("/sanitized/parts/0", text_part["text"]),)
    assert turn.structured == ({"a": [1, 2]},)


@pytest.mark.parametrize("null_text", ["x", ""])
def test_null_is_not_structured_content(null_text: str) -> None:
    turn = make_tool_result_turn(
        record(text(null_text), structuredContent=None), origin=ORIGIN, audience="assistant"
    )
    assert (turn.structured, turn.items) == (None, (TextItem("/sanitized/parts/0", null_text),))


def test_part_that_earlier_versions_made_of_null_is_left_out() -> None:
    turn = make_tool_result_turn(
        record(text("null"), structuredContent=None), origin=ORIGIN, audience="assistant"
    )
    assert turn.items == (TextItem("/sanitized/parts/0", ""),)


@pytest.mark.parametrize(
    ("sent", "about"), [('{"result":null}', {"structuredContent": {"result": None}}), ("null", {})]
)
def test_text_null_is_rendered_as_it_was_sent(sent: str, about: dict[str, Any]) -> None:
    turn = make_tool_result_turn(record(text(sent), **about), origin=ORIGIN, audience="assistant")
    assert turn.items == (TextItem("/sanitized/parts/0", sent),)


def test_repetition_of_a_block_is_left_out_beside_its_part() -> None:
    block = {"uri": "file:///a.txt", "name": "a.txt", "mimeType": "text/plain", "text": "a"}
    mirror = {"result": [{"type": "resource", "resource": block}]}
    named = text("a", uri="file:///a.txt", name="a.txt")
    for part, label, items in (
        (named, BlockLabel("a.txt", "file:///a.txt"), []),
        (text("a"), None, [DataItem("/sanitized/meta/structuredContent", mirror)]),
    ):
        turn = make_tool_result_turn(
            record(part, structuredContent=mirror), origin=ORIGIN, audience="assistant"
        )
        assert turn.items == (TextItem("/sanitized/parts/0", "a", label=label), *items)


def long_record(whole: str, value: object) -> bytes:
    """Return a record with a shortened long text and structured content."""
    stored = record(text(make_preview(whole, f"blob:{ID}")), structuredContent=value)
    digest = hashlib.sha256(whole.encode()).hexdigest()
    return stored.replace(b'"video"', b'"text"').replace(DIGEST.encode(), digest.encode())


_ROWS = [{"n\u00e4me": f"r\u00f6w {number}", "share": 0.1, "of": []} for number in range(400)]


@pytest.mark.parametrize(
    "whole",
    [
        "\n".join(f"l\u00efne {number}" for number in range(2_000)),
        *(
            json.dumps(_ROWS, ensure_ascii=is_ascii, **spelling)
            for is_ascii in (False, True)
            for spelling in SPELLINGS
        ),
    ],
    ids=len,
)
def test_long_text_is_compared_by_the_digest_of_the_whole(whole: str) -> None:
    value = {"result": _ROWS if whole.startswith("[") else whole}
    turn = make_tool_result_turn(long_record(whole, value), origin=ORIGIN, audience="assistant")
    assert len(turn.items) == 1
    changed = {"result": [*_ROWS, 1] if whole.startswith("[") else whole + "!"}
    turn = make_tool_result_turn(long_record(whole, changed), origin=ORIGIN, audience="assistant")
    assert turn.items[1:] == (DataItem("/sanitized/meta/structuredContent", changed),)


def test_structured_content_stored_apart_is_no_loss_if_a_long_text_is_equal() -> None:
    whole = json.dumps(_ROWS, ensure_ascii=False, separators=(",", ":"))
    stored = long_record(whole, f"@blob:{ID}")
    turn = make_tool_result_turn(stored, origin=ORIGIN, audience="assistant")
    assert (len(turn.items), turn.structured) == (1, None)


def test_structured_content_that_was_read_back_is_compared_as_a_value() -> None:
    value = {"result": ["a", "b"]}
    left_out = Omission(
        "/sanitized/meta/structuredContent",
        "structuredContent",
        "stored-apart",
        "It is too long for the record, and kept as a resource.",
        restore=f"GET /api/resources/{ID}/text",
        handle_line=f"[text @blob:{ID} structuredContent, 5,200,000 bytes]",
    )
    for parts, rest in (((text("a"), text("b")), ()), ((text("a"),), (left_out,))):
        stored = record(*parts, structuredContent=f"@blob:{ID}").replace(b'"video"', b'"text"')
        turn = make_tool_result_turn(
            stored, origin=ORIGIN, audience="assistant", structured_contents={DIGEST: value}
        )
        assert turn.items[len(parts) :] == rest
        assert turn.structured == (value,)


@pytest.mark.parametrize(
    ("about", "kept"),
    [
        ({"structuredContent": f"@blob:{ID}"}, StructuredResource(DIGEST, 5_200_000)),
        ({"structuredContent": "@blob:" + "0" * 32}, None),
        ({"structuredContent": {"a": f"@blob:{ID}"}}, None),
        ({"other": {"structuredContent": f"@blob:{ID}"}}, None),
        ({}, None),
    ],
    ids=str,
)
def test_references_of_a_record_are_stored_apart(
    about: dict[str, Any], kept: StructuredResource | None
) -> None:
    stored = record(text("a"), **about).replace(b'"video"', b'"text"')
    assert (
        find_structured_resource(json.dumps(json.loads(stored), separators=(",", ":")).encode())
        == kept
    )


def test_medium_in_place_of_structured_content_is_not_read_back() -> None:
    stored = json.loads(record(text("a"), structuredContent=f"@blob:{ID}"))
    assert find_structured_resource(json.dumps(stored, separators=(",", ":")).encode()) is None


def test_structured_content_that_was_a_medium_is_the_part_it_became() -> None:
    turn = make_tool_result_turn(
        record(text("here"), structuredContent=f"@blob:{ID}"), origin=ORIGIN, audience="assistant"
    )
    assert turn.items == (TextItem("/sanitized/parts/0", "here"),)


def test_structured_content_kept_as_a_resource_has_a_line() -> None:
    stored = record(text("long"), structuredContent=f"@blob:{ID}").replace(b'"video"', b'"text"')
    turn = make_tool_result_turn(stored, origin=ORIGIN, audience="assistant")
    assert turn.structured is None
    assert [item.restore for item in turn.items if isinstance(item, Omission)] == [
        f"GET /api/resources/{ID}/text"
    ]


def test_text_for_another_audience_does_not_replace_structured_content() -> None:
    hidden = text('{"a":1}', annotations={"audience": ["User"]})
    turn = make_tool_result_turn(
        record(hidden, structuredContent={"a": 1}), origin=ORIGIN, audience="assistant"
    )
    assert turn.items[1:] == (DataItem("/sanitized/meta/structuredContent", {"a": 1}),)


_FILE = {"type": "document", "source": {"type": "file", "file_id": "f"}}
_FOUND = {"type": "tool_reference", "tool_name": "look"}


@pytest.mark.parametrize(
    ("block", "words", "dialect", "forms"),
    [
        (_FILE, "[block: document]", None, {"anthropic": _FILE}),
        (_FOUND, "[block: tool_reference]", "anthropic", {"anthropic": _FOUND}),
        ({**_FOUND, "data": "@blob:" + ID}, "[block: tool_reference]", "anthropic", {}),
    ],
)
def test_block_of_one_provider_is_restored(
    block: dict[str, Any], words: str, dialect: str | None, forms: dict[str, Any]
) -> None:
    envelope: dict[str, Any] = {"envelope": {"dialect": dialect}} if dialect else {}
    stored = record(text(words, _meta={"block": block}), **envelope)
    turn = make_tool_result_turn(stored, origin=ORIGIN, audience="assistant")
    reason = f"Other dialects have no place for `{block['type']}`."
    place = "/sanitized/parts/0"
    assert turn.items == (ProviderBlock(place, forms, block["type"], "no-place", reason, words),)


@pytest.mark.parametrize(
    "block", [{"rows": 3}, 3, {"type": "chart"}, {"type": "document", "title": "Other words"}]
)
def test_member_that_a_tool_gave_the_name_of_a_block_is_none(block: object) -> None:
    [item] = items(text("[block: chart]", _meta={"block": block}))
    assert isinstance(item, TextItem)


def test_file_that_a_tool_left_is_a_line_with_its_handle() -> None:
    part = {"type": "file", "data": f"@blob:{ID}", "mimeType": "video/mp4", "mediaKind": "video"}
    (medium,) = items({**part, "_meta": {"pagefault/collected": "out/demo.mp4"}})
    assert isinstance(medium, Medium)
    line = f"[video @blob:{ID} demo.mp4]"
    assert (medium.is_collected, medium.is_line, medium.instead) == (True, True, line)


def test_page_of_an_app_is_left_out_for_every_audience() -> None:
    part = {"type": "file", "data": f"@blob:{ID}", "mimeType": "text/html", "mediaKind": "binary"}
    (omission,) = items({**part, "_meta": {"pagefault/app": {}}}, audience="everyone")
    assert isinstance(omission, Omission)
    restore = f"GET /api/resources/{ID}/content"
    assert (omission.code, omission.restore, omission.handle_line) == ("app", restore, None)
