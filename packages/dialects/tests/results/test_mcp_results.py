"""The MCP CallToolResult, its older and newer members, and what is no CallToolResult."""

import pytest

from packages.dialects.tests.results.samples import (
    PNG,
    PNG64,
    PNG_URI,
    Medium,
    Seen,
    extracted,
    json_part,
    medium,
    seen,
    text,
)
from pagefault_dialects.json.values import MediaSlot

WORD = {"type": "text", "text": "a"}
STORED = Medium(PNG, must_be_stored=True)


@pytest.mark.parametrize(
    ("result", "parts"),
    [
        ({"content": []}, (text(""),)),
        ({"content": [None]}, (text("null"),)),
        ({"content": [7, True]}, (text("7"), text("true"))),
        ({"content": [{"id": 1}]}, (json_part('{"id":1}'),)),
        ({"content": [WORD, WORD]}, (text("a"), text("a"))),
        ({"content": "plain"}, (text("plain"),)),
        ({"content": WORD}, (text("a"),)),
        ({"content": [[1, 2], [WORD]]}, (json_part("[1,2]"), text("a"))),
        ({"toolResult": "old answer"}, (text("old answer"),)),
        ({"toolResult": {"a": 1}}, (json_part('{"a":1}'),)),
        ({"toolResult": ["x"], "content": [WORD]}, (text("a"), text("x"))),
        ({"content": [WORD], "resultType": "complete"}, (text("a"),)),
        (
            {"content": [WORD], "resultType": "task"},
            (text("a"), json_part('{"resultType":"task"}')),
        ),
        ({"content": [WORD], "id": 5}, (text("a"), json_part('{"id":5}'))),
        ({"content": [WORD], "isError": "no"}, (text("a"), json_part('{"isError":"no"}'))),
        ({"content": [WORD], "meta": None, "_meta": None}, (text("a"),)),
    ],
)
def test_a_call_tool_result_is_its_content(
    result: dict[str, object], parts: tuple[object, ...]
) -> None:
    assert seen(result) == Seen(parts)


@pytest.mark.parametrize(("flag", "is_error"), [(True, True), (False, False), (None, None)])
def test_is_error_is_taken_over(flag: bool | None, is_error: bool | None) -> None:
    assert seen({"content": [WORD], "isError": flag}) == Seen((text("a"),), is_error=is_error)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ([], ()),
        ("boom", (text("boom"),)),
        ([{"id": 1}], (json_part('{"id":1}'),)),
        ({"why": "x"}, (json_part('{"why":"x"}'),)),
    ],
)
def test_is_error_beside_any_content_makes_a_call_tool_result(
    content: object, parts: tuple[object, ...]
) -> None:
    result = {"content": content, "isError": True, "code": 5}
    assert seen(result) == Seen((*parts, json_part('{"code":5}')), is_error=True)


@pytest.mark.parametrize("value", [{"t": None}, [1, None], "x", 0, False])
def test_structured_content_may_be_any_value_and_is_not_repeated_beside_content(
    value: object,
) -> None:
    result = {"content": [WORD], "structuredContent": value}
    assert seen(result) == Seen((text("a"),), structured_content=(value,))


@pytest.mark.parametrize("others", [{}, {"content": None}, {"content": []}])
def test_structured_content_alone_is_readable_as_well(others: dict[str, object]) -> None:
    assert seen({**others, "structuredContent": {"t": 22.5}}) == Seen(
        (json_part('{"t":22.5}'),), structured_content=({"t": 22.5},)
    )


@pytest.mark.parametrize(
    "result",
    [
        {"content": [], "structuredContent": None, "isError": False, "_meta": None},
        {"content": [], "structured_content": None, "is_error": False, "meta": None},
        {"content": None, "isError": False},
    ],
)
def test_a_tool_that_returned_nothing_is_an_empty_text(result: dict[str, object]) -> None:
    assert seen(result) == Seen((text(""),), is_error=False)
    assert seen({"structuredContent": None}) == Seen((text(""),))


def test_media_in_structured_content_leave_a_slot_and_follow_the_content() -> None:
    structured = {"shot": PNG64, "note": f"see {PNG_URI}."}
    expected = {"shot": MediaSlot(0), "note": ("see ", MediaSlot(1), ".")}
    assert seen({"content": [WORD], "structuredContent": structured}) == Seen(
        (text("a"), extracted(0), extracted(1)),
        (STORED, Medium(PNG, "image/png", must_be_stored=True)),
        structured_content=(expected,),
    )


def test_structured_content_alone_shows_its_media_once() -> None:
    assert seen({"structuredContent": {"shot": PNG64}}) == Seen(
        (json_part('{"shot":"', 0, '"}'), extracted()),
        (STORED,),
        structured_content=({"shot": MediaSlot(0)},),
    )


def test_meta_is_kept_with_its_media_lifted_out() -> None:
    assert seen({"content": [WORD], "_meta": {"k": [PNG64]}}) == Seen(
        (text("a"), extracted()), (STORED,), meta={"k": [MediaSlot(0)]}
    )


@pytest.mark.parametrize(
    ("rest", "parts"),
    [
        ({"path": "a.txt"}, (json_part('{"path":"a.txt"}'),)),
        ({"content": [WORD]}, (text("a"),)),
        ({}, (json_part("{}"),)),
    ],
)
def test_display_is_taken_out_of_the_text(
    rest: dict[str, object], parts: tuple[object, ...]
) -> None:
    display = {"type": "diff", "additions": 1}
    assert seen({"_display": display, **rest}) == Seen(parts, display=display)


def test_media_in_display_leave_a_slot() -> None:
    assert seen({"_display": {"t": PNG64}, "a": 1}) == Seen(
        (json_part('{"a":1}'), extracted()), (STORED,), display={"t": MediaSlot(0)}
    )


def test_a_display_further_in_and_an_empty_one_are_data() -> None:
    assert seen({"_display": None}) == Seen((json_part('{"_display":null}'),))
    assert seen([{"_display": 1}]) == Seen((json_part('[{"_display":1}]'),))


def test_blocks_keep_their_order_and_warnings_their_places() -> None:
    content = [
        WORD,
        {"type": "image", "data": PNG64, "mimeType": "image/png"},
        {"type": "image", "data": "***", "mimeType": "image/png"},
        {"type": "text", "text": "z\ud800"},
    ]
    assert seen({"content": content}) == Seen(
        (
            text("a"),
            medium(),
            text("[image/png data that could not be decoded]\n***"),
            text("z\ufffd"),
        ),
        (Medium(PNG, "image/png", "image"),),
        (("undecodable-media", "/content/2/data"), ("lone-surrogate", "/content/3/text")),
    )


def test_the_input_is_not_changed() -> None:
    result: dict[str, object] = {"_display": {"a": [PNG64]}, "content": [dict(WORD)], "x\ud800": 1}
    before = {"_display": {"a": [PNG64]}, "content": [dict(WORD)], "x\ud800": 1}
    seen(result)
    assert result == before
