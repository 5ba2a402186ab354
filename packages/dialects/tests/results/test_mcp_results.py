"""The MCP CallToolResult, its older and newer members, and near misses."""

import pytest

from packages.dialects.tests.results.samples import (
    PNG,
    PNG64,
    PNG_URI,
    Medium,
    Result,
    extracted,
    json_part,
    medium,
    result_of,
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
def test_call_tool_result_is_its_content(
    result: dict[str, object], parts: tuple[object, ...]
) -> None:
    assert result_of(result) == Result(parts)


@pytest.mark.parametrize(("flag", "is_error"), [(True, True), (False, False), (None, None)])
def test_is_error_is_taken_over(flag: bool | None, is_error: bool | None) -> None:
    assert result_of({"content": [WORD], "isError": flag}) == Result(
        (text("a"),), is_error=is_error
    )


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
    assert result_of(result) == Result((*parts, json_part('{"code":5}')), is_error=True)


@pytest.mark.parametrize("value", [{"t": None}, [1, None], "x", 0, False])
def test_structured_content_may_be_any_value_and_is_not_repeated_beside_content(
    value: object,
) -> None:
    result = {"content": [WORD], "structuredContent": value}
    assert result_of(result) == Result((text("a"),), structured_content=(value,))


@pytest.mark.parametrize("members", [{}, {"content": None}, {"content": []}])
def test_structured_content_alone_is_readable_as_well(members: dict[str, object]) -> None:
    assert result_of({**members, "structuredContent": {"t": 22.5}}) == Result(
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
def test_tool_that_returned_nothing_is_an_empty_text(result: dict[str, object]) -> None:
    assert result_of(result) == Result((text(""),), is_error=False)
    assert result_of({"structuredContent": None}) == Result((text(""),))


def test_media_in_structured_content_leave_a_slot_and_follow_the_content() -> None:
    structured = {"shot": PNG64, "note": f"see {PNG_URI}."}
    expected = {"shot": MediaSlot(0), "note": ("see ", MediaSlot(1), ".")}
    assert result_of({"content": [WORD], "structuredContent": structured}) == Result(
        (text("a"), extracted(0), extracted(1)),
        (STORED, Medium(PNG, "image/png", must_be_stored=True)),
        structured_content=(expected,),
    )


def test_structured_content_alone_shows_its_media_once() -> None:
    assert result_of({"structuredContent": {"shot": PNG64}}) == Result(
        (json_part('{"shot":"', 0, '"}'), extracted()),
        (STORED,),
        structured_content=({"shot": MediaSlot(0)},),
    )


def test_meta_is_kept_with_its_media_lifted_out() -> None:
    assert result_of({"content": [WORD], "_meta": {"k": [PNG64]}}) == Result(
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
    assert result_of({"_display": display, **rest}) == Result(parts, display=display)


def test_media_in_display_leave_a_slot() -> None:
    assert result_of({"_display": {"t": PNG64}, "a": 1}) == Result(
        (json_part('{"a":1}'), extracted()), (STORED,), display={"t": MediaSlot(0)}
    )


def test_nested_or_empty_display_is_data() -> None:
    assert result_of({"_display": None}) == Result((json_part('{"_display":null}'),))
    assert result_of([{"_display": 1}]) == Result((json_part('[{"_display":1}]'),))


def test_blocks_keep_their_order_and_warnings_their_places() -> None:
    content = [
        WORD,
        {"type": "image", "data": PNG64, "mimeType": "image/png"},
        {"type": "image", "data": "***", "mimeType": "image/png"},
        {"type": "text", "text": "z\ud800"},
    ]
    assert result_of({"content": content}) == Result(
        (
            text("a"),
            medium(),
            text("[image/png data that could not be decoded]\n***"),
            text("z\ufffd"),
        ),
        (Medium(PNG, "image/png", "image"),),
        (("undecodable-media", "/content/2/data"), ("lone-surrogate", "/content/3/text")),
    )


def test_input_is_not_changed() -> None:
    result: dict[str, object] = {"_display": {"a": [PNG64]}, "content": [dict(WORD)], "x\ud800": 1}
    before = {"_display": {"a": [PNG64]}, "content": [dict(WORD)], "x\ud800": 1}
    result_of(result)
    assert result == before
