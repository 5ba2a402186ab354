"""Records, lists and scalars: all fields are kept, and media are extracted."""

import json
from decimal import Decimal

import pytest

from packages.dialects.tests.results.samples import (
    BMP,
    NOISE,
    PDF,
    PDF64,
    PNG,
    PNG64,
    PNG_URI,
    WAV,
    WAV64,
    Medium,
    Result,
    extracted,
    json_part,
    medium,
    result_of,
    text,
)
from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.normalized import BodyWarning, NormalizedLink, NormalizedText
from pagefault_dialects.results import normalize
from tests.kit.media import b64


def test_nothing_is_no_text_and_null_inside_of_a_record_is_null() -> None:
    assert result_of(None) == Result((text(""),))
    assert result_of({"a": None, "b": [None]}) == Result((json_part('{"a":null,"b":[null]}'),))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (True, "true"),
        (False, "false"),
        (42, "42"),
        (-0.5, "-0.5"),
        (12345678901234567890, "12345678901234567890"),
        (Decimal("9" * 5_000), "9" * 5_000),
    ],
)
def test_scalar_is_its_json_text(value: object, written: str) -> None:
    assert result_of(value) == Result((text(written),))


RECORDS: list[dict[str, object]] = [
    {},
    {"id": 17, "name": "Oak chair", "image": "https://cdn.example.com/chair.jpg", "price": 129.9},
    {"id": 18, "name": "Pine table", "image": None, "price": 80},
    {"image": None},
    {"container": "web-1", "image": "nginx:1.27-alpine", "state": "running"},
    {"image": "nginx:1.27"},
    {"image": "library/nginx-alpine", "mediaType": "application/vnd.docker.image+json"},
    {"file": "reports/quarterly/2024", "mimeType": "application/pdf"},
    {"data": "https://example.com/x"},
    {"data": "abcdabcdabcdabcd"},
    {"file": "a.pdf", "name": "b"},
    {"mimeType": "image/png", "sha256": "ab" * 32, "size": 5},
    {"mimeType": "image/png", "data": "short", "id": 1},
    {"mimeType": "text/plain", "data": "Supercalifragilistic", "id": 1},
    {"content": [{"id": 1}], "id": 5, "title": "x"},
    {"content": [{"type": "text", "text": "a"}, "b"], "id": 5},
    {"content": "x", "id": 5},
    {"content": ["x"], "isError": "yes"},
    {"text": "x", "thought": True},
    {"text": {"a": 1}},
    {"id": 1, "digest": {"type": "Buffer", "data": [1, 2, 3]}},
    {"data": [1, 2, 3], "label": "series"},
    {"data": [1, 2, 3]},
    {"data": [10, 20, 30], "name": "series"},
    {"value": [7]},
    {"image": [255, 0, 0]},
    {"data": {"0": 1, "1": 2}},
    {"url": "https://h/x.html", "contentType": "text/html", "title": "t"},
    {"toolResult": None},
    {"isError": True},
    {"sha": "ab" * 32, "key": b64(NOISE)},
]


def test_record_without_media_keeps_all_its_fields() -> None:
    different = [
        record for record in RECORDS if result_of(record) != Result((json_part(json_text(record)),))
    ]
    assert different == []


@pytest.mark.parametrize(
    ("record", "written", "found"),
    [
        (
            {"data": PNG64, "mimeType": "image/png", "caption": "sunset"},
            ('{"data":"', 0, '","mimeType":"image/png","caption":"sunset"}'),
            Medium(PNG, "image/png"),
        ),
        ({"id": 1, "shot": PNG64}, ('{"id":1,"shot":"', 0, '"}'), Medium(PNG)),
        (
            {"id": 1, "a": {"b": [f"see {PNG_URI}!"]}},
            ('{"id":1,"a":{"b":["see ', 0, '!"]}}'),
            Medium(PNG, "image/png"),
        ),
        (
            {"created": 1, "data": [{"b64_json": PNG64, "revised_prompt": "a cat"}]},
            ('{"created":1,"data":[{"b64_json":"', 0, '","revised_prompt":"a cat"}]}'),
            Medium(PNG, None, "image"),
        ),
        (
            {"id": 1, "image": b64(BMP)},
            ('{"id":1,"image":"', 0, '"}'),
            Medium(BMP, None, "image"),
        ),
        (
            {"id": 1, "mimeType": "application/x-custom", "body": b64(NOISE), "name": "a.bin"},
            ('{"id":1,"mimeType":"application/x-custom","body":"', 0, '","name":"a.bin"}'),
            Medium(NOISE, "application/x-custom", None, "a.bin"),
        ),
        (
            {"type": "file", "encoding": "base64", "name": "l.bin", "content": b64(NOISE)},
            ('{"type":"file","encoding":"base64","name":"l.bin","content":"', 0, '"}'),
            Medium(NOISE, None, None, "l.bin"),
        ),
        (
            {"id": 1, "image": {"format": "png", "source": {"bytes": [*PNG]}}},
            ('{"id":1,"image":{"format":"png","source":{"bytes":"', 0, '"}}}'),
            Medium(PNG, "image/png", "image"),
        ),
        (
            {"id": 1, "file": {"type": "Buffer", "data": [*PDF]}},
            ('{"id":1,"file":"', 0, '"}'),
            Medium(PDF),
        ),
        (
            {"id": 1, "note": json.dumps({"shot": PNG64})},
            ('{"id":1,"note":"{\\"shot\\":\\"', 0, '\\"}"}'),
            Medium(PNG),
        ),
        (
            {"contents": [{"uri": "a://b", "mimeType": "application/pdf", "blob": PDF64}]},
            ('{"contents":[{"uri":"a://b","mimeType":"application/pdf","blob":"', 0, '"}]}'),
            Medium(PDF, "application/pdf"),
        ),
    ],
)
def test_media_in_a_record_leave_a_slot_and_follow_it(
    record: dict[str, object], written: tuple[str | int, ...], found: Medium
) -> None:
    stored = Medium(found.data, found.declared, found.kind, found.filename, must_be_stored=True)
    assert result_of(record) == Result((json_part(*written), extracted()), (stored,))


def test_declared_type_of_another_family_is_ignored() -> None:
    record = {"id": 1, "image": PNG64, "audio": WAV64, "mimeType": "image/png"}
    assert [(item.data, item.declared, item.kind) for item in result_of(record).media] == [
        (PNG, "image/png", "image"),
        (WAV, None, "audio"),
    ]


def test_record_with_a_typed_url_is_text_and_a_link() -> None:
    record = {"url": "https://h/v.mp4", "mimeType": "video/mp4", "duration": 12.5}
    link = NormalizedLink("https://h/v.mp4", "video", "video/mp4")
    assert (
        result_of(record)
        == result_of([record])
        == Result((json_part(json.dumps(record, separators=(",", ":"))), link))
    )


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ([], (json_part("[]"),)),
        ([1, 2, 3], (json_part("[1,2,3]"),)),
        ([None], (json_part("[null]"),)),
        ([{"a": 1}, {"b": [None]}], (json_part('[{"a":1},{"b":[null]}]'),)),
        ([[1, [2]], []], (json_part("[[1,[2]],[]]"),)),
        (["a", "b"], (text("a"), text("b"))),
        (
            ["a", None, 3, {"k": "v"}, True],
            (text("a"), text("null"), text("3"), json_part('{"k":"v"}'), text("true")),
        ),
        ([[1, 2], ["a", [None, 7]]], (json_part("[1,2]"), text("a"), json_part("[null,7]"))),
        ([1, [[["a"]]]], (text("1"), text("a"))),
    ],
)
def test_list_with_text_or_media_is_content_and_any_other_is_data(
    value: object, parts: tuple[object, ...]
) -> None:
    assert result_of(value) == Result(parts)


def test_record_with_media_makes_its_list_content() -> None:
    assert result_of([{"id": 1, "shot": PNG64}, {"id": 2}, None]) == Result(
        (json_part('{"id":1,"shot":"', 0, '"}'), extracted(), json_part('{"id":2}'), text("null")),
        (Medium(PNG, must_be_stored=True),),
    )


def test_mixed_content_keeps_its_order() -> None:
    value = ["intro", {"image": PNG64, "mimeType": "image/png"}, None, 3, ["nested", WAV64]]
    assert result_of(value) == Result(
        (text("intro"), medium(0), text("null"), text("3"), text("nested"), medium(1)),
        (Medium(PNG, "image/png", "image"), Medium(WAV)),
    )


def test_lone_surrogates_are_replaced_in_keys_and_values_and_no_member_is_lost() -> None:
    value = {"a\ud800": {"b~/c": "x\udc00"}, "a" + chr(0xD801): 1, "a" + chr(0xD802): 2}
    assert result_of(value) == Result(
        (json_part('{"a\ufffd":{"b~/c":"x\ufffd"},"a\ufffd\ufffd2":1,"a\ufffd\ufffd3":2}'),),
        warnings=(
            ("lone-surrogate", "/a\ufffd"),
            ("lone-surrogate", "/a\ufffd/b~0~1c"),
            ("lone-surrogate", "/a\ufffd"),
            ("lone-surrogate", "/a\ufffd"),
        ),
    )


def test_thousands_of_keys_of_lone_surrogates_all_stay_in_a_record_of_moderate_size() -> None:
    surrogates = [chr(0xD800 + index) for index in range(142)]
    value = {first + second: 1 for first in surrogates for second in surrogates}
    written = "".join(str(piece) for piece in result_of(value).parts[0].template)
    assert len(json.loads(written)) == len(value)
    assert len(written) < 20 * len(value)


@pytest.mark.parametrize(("count", "noted"), [(100, 100), (101, 101), (5_000, 101)])
def test_first_hundred_warnings_are_kept_and_the_others_counted(count: int, noted: int) -> None:
    warnings = normalize(["\ud800"] * count).warnings
    assert len(warnings) == noted
    assert [warning.pointer for warning in warnings[:100]] == [f"/{at}" for at in range(100)]
    closing = BodyWarning(
        "more-warnings", "", f"There were {count - 100} more warnings like these."
    )
    assert warnings[100:] == (() if count == 100 else (closing,))


def test_pointer_ends_above_a_key_that_is_longer_than_a_pointer_may_be() -> None:
    """A long key is not repeated in the pointers of the values below it."""
    key = "k" * 1_000_000
    below = {"a/b": {key: ["\ud800"] * 3}, "c": {"~" * 600: {"d" * 600: "\ud800"}}}
    warnings = normalize(below).warnings
    assert [warning.pointer for warning in warnings] == ["/a~1b"] * 3 + ["/c/" + "~0" * 600]
    images = normalize({key: [PNG64] * 40}).media
    assert [medium.pointer for medium in images] == [""] * 40


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1_000, 20_000])
def test_deep_records_are_normalized(depth: int) -> None:
    value: object = {"leaf": PNG64}
    blocks: object = "leaf"
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
        blocks = {"type": "tool_result", "content": [blocks]} if level % 2 else [blocks]
    assert [item.data for item in result_of(value).media] == [PNG]
    assert result_of(blocks) == Result((text("leaf"),))


@pytest.mark.parametrize(
    "record",
    [
        {"content": "x", "format": "json"},
        {"content": "", "format": "JSON"},
        {"data": "0I000I000I000I00", "format": "csv"},
    ],
)
def test_format_of_a_record_stays_a_member_of_it(record: dict[str, str]) -> None:
    assert normalize(record).parts == (NormalizedText((json_text(record),), "application/json"),)
