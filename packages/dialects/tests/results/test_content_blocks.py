"""Blocks of text, resources, links, and blocks with nested content."""

from dataclasses import replace
from decimal import Decimal

import pytest

from packages.dialects.tests.results.samples import (
    NOISE,
    PDF,
    PDF64,
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
from pagefault_dialects.model.normalized import NormalizedLink, NormalizedReference, Provenance
from tests.kit.media import b64


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "text", "text": "one"}, text("one")),
        ({"type": "text", "text": 42}, text("42")),
        ({"type": "text", "text": 0.5}, text("0.5")),
        ({"type": "text", "text": Decimal("1" * 5000)}, text("1" * 5000)),
        ({"type": "text", "text": True}, text("true")),
        ({"type": "text", "text": None}, text("")),
        ({"type": "input_text", "text": "one"}, text("one")),
        ({"type": "output_text", "text": "one", "annotations": [], "logprobs": []}, text("one")),
        (
            {"type": "text-plain", "text": "one", "mime_type": "text/markdown"},
            text(
                "one",
                mime="text/markdown",
                provenance=Provenance(meta={"mimeType": "text/markdown"}),
            ),
        ),
        ({"text": "one"}, text("one")),
        ({"json": {"a": 1}}, json_part('{"a":1}')),
    ],
)
def test_block_of_text_is_its_text(block: dict[str, object], part: object) -> None:
    assert result_of([block]) == result_of({"content": [block]}) == Result((part,))


def test_block_of_text_keeps_its_other_members() -> None:
    block = {
        "type": "text",
        "text": f"see {PNG_URI} there",
        "annotations": {"thumb": PNG64},
        "_meta": {"k": 1},
        "citations": [{"c": 1}],
    }
    result = result_of(block)
    assert [part for part in result.parts if part == extracted(0)] == [extracted(0)]
    assert result.parts[0].provenance.meta == {"k": 1}
    assert result.parts[2] == json_part('{"citations":[{"c":1}]}')
    assert [item.data for item in result.media] == [PNG, PNG]


@pytest.mark.parametrize(
    ("resource", "part"),
    [
        ({"uri": "a://b", "text": "# T"}, text("# T", provenance=Provenance(uri="a://b"))),
        (
            {"uri": "db://1", "mimeType": "application/json", "text": '{"id":1, "ok":true}'},
            text(
                '{"id":1, "ok":true}', mime="application/json", provenance=Provenance(uri="db://1")
            ),
        ),
        (
            {"uri": "ui://1", "mimeType": "text/html", "blob": b64(b"<p>hi</p>")},
            text(
                "<p>hi</p>",
                mime="text/html",
                provenance=Provenance(uri="ui://1", meta={"mimeType": "text/html"}),
            ),
        ),
        (
            {"mimeType": "text/html;profile=mcp-app", "text": "x", "_meta": {"k": 1}},
            text(
                "x",
                mime="text/html",
                provenance=Provenance(meta={"mimeType": "text/html;profile=mcp-app", "k": 1}),
            ),
        ),
        (
            {"mimeType": "text/x-rust", "text": "x", "_meta": {"mimeType": "the tool's own"}},
            text(
                "x", mime="text/x-rust", provenance=Provenance(meta={"mimeType": "the tool's own"})
            ),
        ),
        (
            {"mimeType": "text/plain; charset=iso-8859-1", "text": "x"},
            text("x", provenance=Provenance(meta={"mimeType": "text/plain; charset=iso-8859-1"})),
        ),
        ({"mimeType": "text/plain", "text": "x"}, text("x")),
        (
            {"mimeType": "text/csv", "text": 5},
            text("5", provenance=Provenance(meta={"mimeType": "text/csv"})),
        ),
        (
            {"uri": "a://b", "text": "x", "name": "N", "_meta": {"m": 1}, "annotations": {"a": 1}},
            text("x", provenance=Provenance({"a": 1}, "a://b", "N", {"m": 1})),
        ),
        ({"text": 5}, text("5")),
    ],
)
def test_text_resource_is_readable_text(resource: dict[str, object], part: object) -> None:
    assert result_of({"content": [{"type": "resource", "resource": resource}]}) == Result((part,))


def test_text_under_a_binary_type_is_text_and_the_type_is_kept() -> None:
    resource = {"uri": "a://b", "mimeType": "application/pdf", "text": "extracted words"}
    assert result_of({"type": "resource", "resource": resource}) == Result(
        (
            text(
                "extracted words",
                provenance=Provenance(uri="a://b", meta={"mimeType": "application/pdf"}),
            ),
        )
    )


@pytest.mark.parametrize(
    "carrier",
    [
        {"type": "resource", "resource": {"mimeType": "text/csv", "blob": b64(b"a,b\n" * 20)}},
        {"type": "resource", "resource": {"mimeType": "text/csv", "blob": b64(b"a,b\n" * 2)}},
        {"type": "file", "data": b64(b"a,b\n" * 2), "mimeType": "text/csv"},
        {"type": "file", "data": f"data:text/csv;base64,{b64(b'a,b')}"},
    ],
)
def test_bytes_that_became_a_text_are_no_other_part_where_a_structure_repeats_them(
    carrier: dict[str, object],
) -> None:
    once = result_of({"content": [carrier]})
    twice = result_of({"content": [carrier], "structuredContent": {"content": [carrier]}})
    (part,) = once.parts
    assert twice.parts == once.parts
    data = "".join(part.template).encode()
    assert twice.media == (Medium(data, "text/csv", must_be_stored=True),)
    assert twice.structured_content == ({"content": [_with_slot(carrier)]},)


def _with_slot(value: object) -> object:
    if not isinstance(value, dict):
        return value
    fields = {key: _with_slot(item) for key, item in value.items()}
    return fields | {key: MediaSlot(0) for key in ("blob", "data") if key in fields}


def test_short_payload_is_decoded_only_in_a_member_for_payloads() -> None:
    block = {"type": "audio", "data": "Tm90ZQ==", "mimeType": "audio/midi"}
    structured = {"data": "Tm90ZQ==", "word": "Tm90ZQ=="}
    found = result_of({"content": [block], "structuredContent": structured})
    assert found.structured_content == ({"data": MediaSlot(1), "word": "Tm90ZQ=="},)
    assert [item.data for item in found.media] == [b"Note", b"Note"]


@pytest.mark.parametrize("fields", [{"text": ""}, {"blob": ""}])
@pytest.mark.parametrize(
    ("mime_type", "meta"),
    [
        ("text/plain", None),
        ("text/csv", {"mimeType": "text/csv"}),
        ("text/markdown", {"mimeType": "text/markdown"}),
        ("application/json", {"mimeType": "application/json"}),
        ("text/plain; charset=utf-8", {"mimeType": "text/plain; charset=utf-8"}),
    ],
)
def test_empty_resource_of_any_type_has_a_line(
    fields: dict[str, str], mime_type: str, meta: dict[str, str] | None
) -> None:
    resource = {"uri": "file:///a", "mimeType": mime_type, **fields}
    assert result_of({"type": "resource", "resource": resource}) == Result(
        (text("[file:///a is empty]", provenance=Provenance(uri="file:///a", meta=meta)),)
    )


SVG = "<svg xmlns='http://www.w3.org/2000/svg'/>"


@pytest.mark.parametrize(
    ("resource", "found"),
    [
        (
            {"uri": "file:///d/r%201.pdf", "mimeType": "application/pdf", "blob": PDF64},
            Medium(PDF, "application/pdf", None, "r 1.pdf"),
        ),
        (
            {"uri": "v://7", "mimeType": "application/pdf", "title": "t 7.pdf", "text": PDF64},
            Medium(PDF, "application/pdf", None, "t 7.pdf"),
        ),
        (
            {"uri": "f:///i.svg", "mimeType": "image/svg+xml", "text": SVG},
            Medium(SVG.encode(), "image/svg+xml", None, "i.svg"),
        ),
        (
            {"uri": "f:///i", "mimeType": "image/svg+xml", "blob": b64(SVG.encode())},
            Medium(SVG.encode(), "image/svg+xml"),
        ),
        (
            {"uri": "f:///t", "mimeType": "text/csv", "name": "t.csv", "blob": b64(b"a,b")},
            Medium(b"a,b", "text/csv", None, "t.csv"),
        ),
        (
            {"uri": "f:///t.txt", "mimeType": "text/plain", "blob": b64(NOISE)},
            Medium(NOISE, "text/plain", None, "t.txt"),
        ),
        (
            {"uri": "f:///t", "mimeType": "text/plain", "blob": b64(b"x" * 1_048_577)},
            Medium(b"x" * 1_048_577, "text/plain"),
        ),
        ({"uri": "f:///t", "blob": PNG64}, Medium(PNG)),
    ],
)
def test_binary_resource_is_a_file(resource: dict[str, object], found: Medium) -> None:
    result = result_of({"content": [{"type": "resource", "resource": resource}]})
    name = resource.get("name") or resource.get("title")
    provenance = Provenance(uri=str(resource["uri"]), name=str(name) if name else None)
    assert result == Result((medium(0, provenance),), (found,))


def test_blob_that_cannot_be_decoded_is_text_with_a_warning() -> None:
    resource = {"uri": "a://b", "mimeType": "image/png", "blob": "***"}
    result = result_of({"content": [{"type": "resource", "resource": resource}]})
    assert result.warnings == (("undecodable-media", "/content/0/resource/blob"),)
    assert result.parts[0].provenance == Provenance(uri="a://b")


def test_resource_link_is_readable_lines() -> None:
    link = {
        "type": "resource_link",
        "uri": "file:///src/main.rs",
        "name": "main.rs",
        "title": "Main",
        "description": "Entry point",
        "mimeType": "text/x-rust",
        "size": 1234,
        "icons": [{"src": "https://h/i.png"}],
    }
    lines = "Main\nmain.rs\nfile:///src/main.rs\ntext/x-rust\n1234 bytes\nEntry point"
    assert result_of({"content": [link]}) == Result(
        (
            text(lines, provenance=Provenance(uri="file:///src/main.rs", name="main.rs")),
            json_part('{"icons":[{"src":"https://h/i.png"}]}'),
        )
    )


def test_resource_link_to_remote_media_is_a_link_and_loses_nothing() -> None:
    link = {
        "type": "resource_link",
        "uri": "https://h/v.mp4",
        "name": "v.mp4",
        "mimeType": "video/mp4",
        "size": 5,
        "icons": [{"src": PNG_URI}],
    }
    provenance = Provenance(uri="https://h/v.mp4", name="v.mp4")
    assert result_of([link]) == Result(
        (
            NormalizedLink("https://h/v.mp4", "video", "video/mp4", "v.mp4", provenance),
            json_part('{"size":5,"icons":[{"src":"', 0, '"}]}'),
            extracted(),
        ),
        (Medium(PNG, "image/png", must_be_stored=True),),
    )


def test_resource_link_to_a_stored_resource_is_a_reference() -> None:
    uri = "blob:0123456789abcdef0123456789abcdef"
    link = {"type": "resource_link", "uri": uri, "name": "a.png", "mimeType": "image/png"}
    provenance = Provenance(name="a.png", meta={"mimeType": "image/png"})
    reference = NormalizedReference(uri, uri[5:], "/content/0/uri", provenance)
    assert result_of({"content": [{**link, "size": 5}]}) == Result(
        (reference, json_part('{"size":5}'))
    )


def test_lone_surrogates_in_a_resource_link_are_noted_once_each() -> None:
    link = {"type": "resource_link", "uri": "a:\ud800", "description": "b\ud800"}
    assert result_of(link) == Result(
        (text("a:\ufffd\nb\ufffd", provenance=Provenance(uri="a:\ufffd")),),
        warnings=(("lone-surrogate", "/description"), ("lone-surrogate", "/uri")),
    )


def test_resource_link_that_is_a_data_uri_leaves_no_base64() -> None:
    assert result_of({"type": "resource_link", "uri": PNG_URI, "name": "v"}) == Result(
        (text("v", provenance=Provenance(name="v")), json_part('{"uri":"', 0, '"}'), extracted()),
        (Medium(PNG, "image/png", must_be_stored=True),),
    )


def test_tool_result_block_is_its_content() -> None:
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PNG64},
    }
    block = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "is_error": True,
        "content": [{"type": "text", "text": "x"}, image],
    }
    expected = Result(
        (text("x"), medium()),
        (Medium(PNG, "image/png", "image"),),
        is_error=True,
        envelope={"dialect": "anthropic", "toolCallId": "t1"},
    )
    assert result_of(block) == result_of([block]) == expected


@pytest.mark.parametrize(
    ("members", "is_error"),
    [
        ({"isError": True}, True),
        ({"is_error": False}, False),
        ({"isError": None}, None),
        ({}, None),
    ],
)
def test_tool_result_block_of_sampling_is_a_result(
    members: dict[str, object], is_error: bool | None
) -> None:
    content = [{"type": "text", "text": "x"}]
    block = {"type": "tool_result", "toolUseId": "t1", "content": content, **members}
    kept = {"dialect": "anthropic", "toolCallId": "t1"}
    assert result_of(block) == Result((text("x"),), is_error=is_error, envelope=kept)
    cached = {"cache_control": {"type": "ephemeral"}}
    words = {**block, "content": "x", **cached}
    assert result_of(words) == replace(result_of(block), envelope={**kept, **cached})
    result_block = {**block, "structuredContent": {"a": 1}, "_meta": {"k": 1}}
    assert result_of([result_block]) == Result(
        (text("x"),),
        is_error=is_error,
        structured_content=({"a": 1},),
        meta={"k": 1},
        envelope=kept,
    )


def test_several_tool_result_blocks_have_their_calls_and_one_failure_state() -> None:
    first = {"type": "tool_result", "toolUseId": "a", "content": [], "isError": True}
    second = {"type": "tool_result", "tool_use_id": "b", "content": "x", "is_error": False}
    assert result_of([first, second]) == Result(
        (json_part('{"toolUseId":"a"}'), text("x"), json_part('{"tool_use_id":"b"}')),
        is_error=True,
    )


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("words", (text("words"),)),
        (None, (text(""),)),
        ([], (text(""),)),
        ({"type": "text", "text": "x"}, (text("x"),)),
        ([1, [2]], (text("1"), json_part("[2]"))),
    ],
)
def test_tool_result_block_may_have_any_content(content: object, parts: tuple[object, ...]) -> None:
    assert result_of({"type": "tool_result", "content": content}) == Result(parts)


def test_warnings_inside_nested_content_point_there() -> None:
    block = {"type": "tool_result", "content": ["x", {"type": "image", "data": "***"}]}
    assert result_of([block]).warnings == (("undecodable-media", "/0/content/1/data"),)
    single = {"type": "tool_result", "content": {"type": "image", "data": "***"}}
    assert result_of([single]).warnings == (("undecodable-media", "/0/content/data"),)


def test_document_of_content_is_its_content() -> None:
    source = {"type": "content", "content": [{"type": "text", "text": "a"}]}
    block = {"type": "document", "source": source, "title": "T"}
    assert result_of([block]) == Result((text("a"), json_part('{"title":"T"}')))
    plain = {"type": "document", "source": {"type": "content", "content": "words"}}
    assert result_of([plain]) == Result((text("words"),))


def test_document_of_text_is_its_text() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "plain words"}
    block = {"type": "document", "source": source, "title": "T"}
    assert result_of([block]) == Result((text("plain words", provenance=Provenance(name="T")),))


@pytest.mark.parametrize(
    ("output", "parts", "is_error"),
    [
        ({"type": "error-text", "value": "bad"}, (text("bad"),), True),
        ({"type": "error-json", "value": {"e": 1}}, (json_part('{"e":1}'),), True),
        ({"type": "json", "value": None}, (text("null"),), None),
        (
            {"type": "content", "value": [{"type": "text", "text": "a"}, 1]},
            (text("a"), text("1")),
            None,
        ),
    ],
)
def test_type_of_a_vercel_output_is_its_error_state(
    output: dict[str, object], parts: tuple[object, ...], is_error: bool | None
) -> None:
    assert result_of(output) == Result(parts, is_error=is_error, envelope={"dialect": "vercel"})
