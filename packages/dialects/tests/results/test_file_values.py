"""`FileValue` of SEP-2631, and bytes that Python has written, in results of tools."""

import json
from typing import Any

import pytest

from pagefault_dialects import normalize
from pagefault_dialects.json.values import MediaSlot
from pagefault_dialects.model.normalized import (
    NormalizedLink,
    NormalizedMediaPart,
    NormalizedText,
    Provenance,
)
from tests.kit.media import b64, pdf, png

PDF, PNG = pdf(), png(noise=True)
URI = f"data:application/pdf;base64,{b64(PDF)}"
REPORT = {"uri": URI, "name": "report.pdf", "mimeType": "application/pdf", "size": len(PDF)}


def block(file: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "file", "file": file}]}


def files(result: object) -> list[tuple[bytes, str | None, str]]:
    """The media of a result: their bytes, names and places."""
    return [
        (item.source.head(item.source.size_bytes), item.filename, item.pointer)
        for item in normalize(result).media
    ]


def test_file_of_a_block_is_a_medium() -> None:
    assert files(block(REPORT)) == [(PDF, "report.pdf", "/content/0/file/uri")]
    assert normalize(block(REPORT)).parts == (NormalizedMediaPart(MediaSlot(0)),)


@pytest.mark.parametrize(
    "file",
    [
        {**REPORT, "digest": {"sha-256": "…"}},
        {"uri": URI, "displayName": "report.pdf", "mime_type": "application/pdf"},
        {"uri": URI.replace(";base64", ";name=report.pdf;base64")},
    ],
)
def test_file_has_its_name_in_any_spelling(file: dict[str, Any]) -> None:
    assert files(block(file)) == [(PDF, "report.pdf", "/content/0/file/uri")]


def test_file_of_structured_content_is_named_too() -> None:
    result = {"content": [{"type": "text", "text": "Done."}], "structuredContent": {"out": REPORT}}
    assert files(result) == [(PDF, "report.pdf", "/structuredContent/out/uri")]
    rest = {**REPORT, "uri": MediaSlot(0)}
    assert normalize(result).structured_content == ({"out": rest},)


def test_file_that_only_its_server_has_is_a_text() -> None:
    file = {**REPORT, "uri": "mcp-file://server/file_1", "size": 5}
    assert normalize(block(file)).parts == (
        NormalizedText(
            ("report.pdf\nmcp-file://server/file_1\napplication/pdf\n5 bytes",),
            provenance=Provenance(uri="mcp-file://server/file_1", name="report.pdf"),
        ),
    )


def test_image_at_an_address_is_a_link() -> None:
    url = "https://files.example/a.png"
    (part, *_) = normalize(
        block({"uri": url, "displayName": "a.png", "mimeType": "image/png"})
    ).parts
    assert part == NormalizedLink(
        url, "image", "image/png", "a.png", provenance=Provenance(uri=url, name="a.png")
    )


@pytest.mark.parametrize("uri", ["abcdefghijklmnop", "QUJDREVGR0hJSktMTU5PUA==", 7, None])
def test_record_with_another_uri_keeps_it(uri: object) -> None:
    record = {"uri": uri, "mimeType": "image/png", "size": 9}
    assert normalize(record).parts == (
        NormalizedText((json.dumps(record, separators=(",", ":")),), "application/json"),
    )


LITERAL = repr(PNG)


@pytest.mark.parametrize(
    ("result", "pointer"),
    [
        (LITERAL, ""),
        ({"content": [{"type": "text", "text": LITERAL}]}, "/content/0/text"),
        ({"content": [{"type": "text", "text": f"Result: {LITERAL}."}]}, "/content/0/text"),
        (str({"image": PNG, "note": "it's"}), ""),
        ({"image": LITERAL}, "/image"),
        ({"note": f"bytearray({LITERAL})"}, "/note"),
        (json.dumps({"image": LITERAL}), ""),
        ({"data": LITERAL, "mimeType": "image/png"}, "/data"),
        (
            {"content": [{"type": "image", "data": LITERAL, "mimeType": "image/png"}]},
            "/content/0/data",
        ),
    ],
)
def test_bytes_that_python_has_written_are_a_medium(result: object, pointer: str) -> None:
    assert files(result) == [(PNG, None, pointer)]
    texts = [part.template for part in normalize(result).parts if isinstance(part, NormalizedText)]
    assert "x89PNG" not in str(texts)


@pytest.mark.parametrize(
    "text", ["b'hello world, hello'", "b'\\x00\\x01\\x02'", "the web's a b'log'"]
)
def test_other_bytes_stay_text(text: str) -> None:
    assert normalize(text).parts == (NormalizedText((text,)),)
