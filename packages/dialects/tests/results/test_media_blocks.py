"""Media blocks of MCP and of the model providers, at the top, in lists and in `content`."""

import pytest

from packages.dialects.tests.results.samples import (
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
from pagefault_dialects.model.normalized import NormalizedLink, NormalizedReference, Provenance
from tests.kit.media import b64

IMAGE = Medium(PNG, "image/png", "image")
UNTYPED_IMAGE = Medium(PNG, None, "image")
NAMED_PNG = Medium(PNG, "image/png", None, "a.png")
SOUND = Medium(WAV, "audio/wav", "audio")

BLOCKS = {
    "image of any type": ({"type": "image", "data": PNG64, "mimeType": "image/*"}, UNTYPED_IMAGE),
    "image by a word": ({"type": "image", "data": PNG64, "mimeType": "Image"}, UNTYPED_IMAGE),
    "file that is an image": (
        {"type": "file", "data": PNG64, "mediaType": "image/*"},
        UNTYPED_IMAGE,
    ),
    "langchain media": ({"type": "media", "data": PNG64, "mime_type": "image/*"}, UNTYPED_IMAGE),
    "gemini image of any type": (
        {"inlineData": {"data": PNG64, "mimeType": "image/*"}},
        UNTYPED_IMAGE,
    ),
    "plain image of any type": ({"data": PNG64, "mimeType": "image"}, UNTYPED_IMAGE),
    "resource of any type": (
        {"type": "resource", "resource": {"blob": WAV64, "mimeType": "audio/*"}},
        Medium(WAV, None, "audio"),
    ),
    "mcp image": ({"type": "image", "data": PNG64, "mimeType": "image/png"}, IMAGE),
    "mcp image without type": ({"type": "image", "data": PNG64}, UNTYPED_IMAGE),
    "mcp audio": ({"type": "audio", "data": WAV64, "mimeType": "audio/wav"}, SOUND),
    "image with nulls": (
        {
            "type": "image",
            "data": PNG64,
            "mimeType": "image/png",
            "annotations": None,
            "meta": None,
        },
        IMAGE,
    ),
    "url-safe": (
        {
            "type": "image",
            "data": PNG64.replace("+", "-").replace("/", "_").rstrip("="),
            "mimeType": "image/png",
        },
        IMAGE,
    ),
    "data uri in data": ({"type": "image", "data": PNG_URI}, IMAGE),
    "unknown bytes": (
        {"type": "image", "data": b64(b"hello"), "mimeType": "image/png"},
        Medium(b"hello", "image/png", "image"),
    ),
    "file": (
        {"type": "file", "data": PNG64, "mimeType": "image/png", "filename": "a.png"},
        NAMED_PNG,
    ),
    "openai image_url": (
        {"type": "image_url", "image_url": {"url": PNG_URI, "detail": "high"}},
        IMAGE,
    ),
    "openai image_url string": ({"type": "image_url", "image_url": PNG_URI}, IMAGE),
    "openai image_url untyped": ({"image_url": {"url": PNG_URI}}, IMAGE),
    "openai input_image": (
        {"type": "input_image", "image_url": PNG_URI, "detail": "auto", "file_id": None},
        IMAGE,
    ),
    "openai input_audio": (
        {"type": "input_audio", "input_audio": {"data": WAV64, "format": "wav"}},
        SOUND,
    ),
    "openai file": (
        {"type": "file", "file": {"file_data": PNG_URI, "filename": "a.png"}},
        NAMED_PNG,
    ),
    "openai input_file": (
        {"type": "input_file", "file_data": PNG_URI, "filename": "a.png"},
        NAMED_PNG,
    ),
    "openai screenshot": ({"type": "computer_screenshot", "image_url": PNG_URI}, IMAGE),
    "openai generated image": (
        {"type": "image_generation_call", "result": PNG64, "output_format": "png"},
        IMAGE,
    ),
    "openai b64_json": ({"b64_json": PNG64}, UNTYPED_IMAGE),
    "openai audio": ({"audio": {"data": WAV64, "format": "wav"}}, SOUND),
    "anthropic image": (
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": PNG64},
            "cache_control": {"type": "ephemeral"},
        },
        IMAGE,
    ),
    "anthropic document": (
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": PDF64},
        },
        Medium(PDF, "application/pdf"),
    ),
    "gemini inlineData": (
        {"inlineData": {"mimeType": "image/png", "data": PNG64, "displayName": "a.png"}},
        NAMED_PNG,
    ),
    "gemini inline_data": (
        {"inline_data": {"mime_type": "image/png", "data": PNG64}},
        Medium(PNG, "image/png"),
    ),
    "bedrock image": ({"image": {"format": "png", "source": {"bytes": PNG64}}}, IMAGE),
    "bedrock image of bytes": ({"image": {"format": "png", "source": {"bytes": [*PNG]}}}, IMAGE),
    "bedrock document": (
        {"document": {"format": "pdf", "name": "report", "source": {"bytes": PDF64}}},
        Medium(PDF, "application/pdf", None, "report"),
    ),
    "langchain v0": (
        {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": PNG64},
        IMAGE,
    ),
    "langchain v1": ({"type": "image", "base64": PNG64, "mime_type": "image/png"}, IMAGE),
    "vercel media": (
        {"type": "media", "data": PNG64, "mediaType": "image/png"},
        Medium(PNG, "image/png"),
    ),
    "vercel file-data": (
        {"type": "file-data", "data": PNG64, "mediaType": "image/png", "filename": "a.png"},
        NAMED_PNG,
    ),
    "vercel image-data": ({"type": "image-data", "data": PNG64, "mediaType": "image/png"}, IMAGE),
    "vercel tagged file": (
        {"type": "file", "mediaType": "image/png", "data": {"type": "data", "data": PNG64}},
        Medium(PNG, "image/png"),
    ),
    "node buffer": ({"type": "Buffer", "data": [*PNG]}, Medium(PNG)),
    "plain image": ({"image": PNG64, "mimeType": "image/png"}, IMAGE),
    "plain image without type": ({"image": PNG64}, UNTYPED_IMAGE),
    "plain data": ({"data": PNG64, "contentType": "image/png"}, Medium(PNG, "image/png")),
    "plain data without type": ({"data": PNG64}, Medium(PNG)),
    "plain data under type": ({"type": "image/png", "data": PNG64}, Medium(PNG, "image/png")),
    "plain file": ({"blob": PNG64, "mime_type": "image/png", "file_name": "a.png"}, NAMED_PNG),
    "plain bytes": ({"data": [*PNG], "mimeType": "image/png"}, Medium(PNG, "image/png")),
    "plain buffer": (
        {"image": {"type": "Buffer", "data": [*PNG]}, "mimeType": "image/png"},
        IMAGE,
    ),
    "typed array": (
        {"data": {str(i): byte for i, byte in enumerate(PNG)}, "mimeType": "image/png"},
        Medium(PNG, "image/png"),
    ),
    "short file with a telling name": (
        {"type": "file", "data": b64(b"hello"), "filename": "a.txt"},
        Medium(b"hello", None, None, "a.txt"),
    ),
    "unknown type at its word": (
        {"data": b64(NOISE), "mimeType": "application/x-custom"},
        Medium(NOISE, "application/x-custom"),
    ),
}
NAMES = list(BLOCKS)
SHORT = ("unknown bytes", "short file with a telling name")


def test_block_is_its_medium_at_every_place() -> None:
    different = {}
    for name, (block, found) in BLOCKS.items():
        results = [result_of(block), result_of([block]), result_of({"content": [block]})]
        if results != [Result((medium(),), (found,))] * 3:
            different[name] = results
    assert different == {}


def test_block_inside_a_record_leaves_a_slot_there() -> None:
    different = {}
    for name, (block, found) in BLOCKS.items():
        result = result_of({"id": 1, "rows": [{"cell": block}]})
        media = [(item.data, item.must_be_stored) for item in result.media]
        if name not in SHORT and (media, len(result.parts)) != ([(found.data, True)], 2):
            different[name] = result
    assert different == {}


LINKS = {
    "image_url": (
        {"type": "image_url", "image_url": {"url": "https://h/y.png"}},
        NormalizedLink("https://h/y.png", "image", "image/png"),
    ),
    "anthropic": (
        {"type": "image", "source": {"type": "url", "url": "https://h/b"}},
        NormalizedLink("https://h/b", "image", "image/*"),
    ),
    "input_file": (
        {"type": "input_file", "file_url": "https://h/y.pdf", "filename": "y.pdf"},
        NormalizedLink("https://h/y.pdf", "binary", "application/pdf", "y.pdf"),
    ),
    "gemini": (
        {"fileData": {"mimeType": "video/mp4", "fileUri": "https://h/v"}},
        NormalizedLink("https://h/v", "video", "video/mp4"),
    ),
    "langchain": (
        {"type": "audio", "url": "https://h/a?x=1.txt"},
        NormalizedLink("https://h/a?x=1.txt", "audio", "audio/*"),
    ),
    "vercel file-url": (
        {"type": "file-url", "url": "http://h/x"},
        NormalizedLink("http://h/x", "binary", "application/octet-stream"),
    ),
    "plain image": (
        {"image": "https://h/a.JPG"},
        NormalizedLink("https://h/a.JPG", "image", "image/jpeg"),
    ),
    "page posing as image": (
        {"type": "image", "data": "https://h/view.html"},
        NormalizedLink("https://h/view.html", "image", "image/*"),
    ),
    "vercel file-url of any type": (
        {"type": "file-url", "url": "https://h/x", "mediaType": "image/*"},
        NormalizedLink("https://h/x", "image", "image/*"),
    ),
    "vercel file of any type": (
        {"type": "file", "data": "https://h/x.webp", "mediaType": "image/*"},
        NormalizedLink("https://h/x.webp", "image", "image/webp"),
    ),
    "langchain image of any type": (
        {"type": "image", "url": "https://h/x", "mime_type": "image/*"},
        NormalizedLink("https://h/x", "image", "image/*"),
    ),
    "image by a word": (
        {"type": "image", "url": "https://h/x", "mimeType": "image"},
        NormalizedLink("https://h/x", "image", "image/*"),
    ),
    "url and any type": (
        {"url": "https://h/v", "mimeType": "video/*"},
        NormalizedLink("https://h/v", "video", "video/*"),
    ),
    "url and type": (
        {"url": "https://h/v", "mimeType": "video/mp4", "filename": "z.mp4"},
        NormalizedLink("https://h/v", "video", "video/mp4", "z.mp4"),
    ),
    "odd brackets": (
        {"type": "image", "url": "https://[h/a.png"},
        NormalizedLink("https://[h/a.png", "image", "image/*"),
    ),
}


@pytest.mark.parametrize("name", list(LINKS))
def test_remote_medium_stays_a_link(name: str) -> None:
    block, link = LINKS[name]
    assert result_of(block) == result_of([block]) == Result((link,))


def test_link_keeps_its_name_and_annotations() -> None:
    block = {
        "type": "image",
        "url": "https://h/a.png",
        "name": "A",
        "annotations": {"priority": 1},
    }
    provenance = Provenance(annotations={"priority": 1}, name="A")
    link = NormalizedLink("https://h/a.png", "image", "image/png", "A", provenance)
    assert result_of(block) == Result((link,))


@pytest.mark.parametrize(
    ("literal", "resource_id"),
    [
        ("@blob:0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"),
        ("blob:0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"),
        ("@blob:deadbeef", None),
        ("blob:https://app/uuid", None),
    ],
)
def test_reference_in_a_member_for_media_is_kept(literal: str, resource_id: str | None) -> None:
    block = {"type": "image", "data": literal, "mimeType": "image/png"}
    reference = NormalizedReference(literal, resource_id, "/content/1/data")
    result = result_of({"content": [{"type": "text", "text": "x"}, block]})
    assert result == Result((text("x"), reference))


OWN = "@blob:0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize("members", [{}, {"mimeType": "image/png"}])
def test_plain_object_may_hold_a_reference(members: dict[str, str]) -> None:
    reference = NormalizedReference(OWN, OWN[6:], "/image")
    assert result_of({"image": OWN, **members}) == Result((reference,))


@pytest.mark.parametrize("text_", [OWN, OWN.removeprefix("@")])
def test_text_that_is_only_a_reference_has_no_declared_type(text_: str) -> None:
    def reference(pointer: str) -> Result:
        return Result((NormalizedReference(text_, OWN[6:], pointer, is_claimed=False),))

    assert result_of(text_) == reference("")
    assert result_of([text_]) == reference("/0")
    assert result_of({"content": [{"type": "text", "text": text_}]}) == reference("/content/0/text")


def test_parameters_of_a_mime_type_are_kept_beside_the_medium() -> None:
    declared = "audio/L16;codec=pcm;rate=24000"
    provenance = Provenance(meta={"mimeType": declared})
    found = Medium(NOISE, declared)
    assert result_of({"inlineData": {"mimeType": declared, "data": b64(NOISE)}}) == Result(
        (medium(0, provenance),), (found,)
    )
    url = {"url": "https://h/v", "mimeType": "video/mp4; codecs=avc1"}
    provenance = Provenance(meta={"mimeType": "video/mp4; codecs=avc1"})
    link = NormalizedLink("https://h/v", "video", "video/mp4", provenance=provenance)
    assert result_of(url) == Result((link,))


def test_mime_type_too_long_to_be_one_is_not_kept() -> None:
    block = {"type": "audio", "data": b64(NOISE), "mimeType": f"audio/x-raw;x={'a' * 300}"}
    assert result_of(block).parts == (medium(),)


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "javascript:alert(1)", "gs://bucket/x", "ftp://h/x.png", "FILE:///x"],
)
def test_other_urls_never_become_media(url: str) -> None:
    block = {"type": "image", "data": url, "mimeType": "image/png"}
    note = f"[image/png at a URL that is neither http nor https]\n{url}"
    assert result_of({"content": [block]}) == Result(
        (text(note),), warnings=(("refused-url", "/content/0/data"),)
    )


@pytest.mark.parametrize(
    "payload",
    ["not base64 at all! <<<>>>", "hello world this is text", "iVBOR*", "a+b-c_d/", "C:\\a.png"],
)
def test_undecodable_medium_becomes_text_with_a_warning(payload: str) -> None:
    note = text(f"[image/png data that could not be decoded]\n{payload}")
    warnings = (("undecodable-media", "/0/data"),)
    block = {"type": "image", "data": payload, "mimeType": "image/png"}
    assert result_of([block]) == Result((note,), warnings=warnings)
    assert result_of([{"data": payload, "mimeType": "image/png"}]) == Result(
        (note,), warnings=warnings
    )


def test_payload_that_may_be_a_word_stays_in_its_record() -> None:
    block, _ = BLOCKS["unknown bytes"]
    assert result_of({"id": 1, "cell": block}).media == ()


def test_empty_payload_has_a_line() -> None:
    block = {"type": "audio", "data": ""}
    assert result_of(block) == Result(
        (text("[audio data that is empty]"),), warnings=(("undecodable-media", "/data"),)
    )


@pytest.mark.parametrize(
    "value",
    [
        "data:,hello%20world",
        "data:text/plain,hello%20world",
        "data:;base64,aGVsbG8gd29ybGQ=",
        {"type": "file", "data": "data:text/plain,hello%20world"},
        {"data": "data:,hello%20world", "mimeType": "text/plain"},
    ],
)
def test_data_uri_of_text_is_the_text(value: object) -> None:
    assert result_of(value) == Result((text("hello world"),))


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        ("text/plain;charset=iso-8859-1", "h%E9llo%20all", "h\u00e9llo all"),
        ("text/plain;charset=Windows-1252", "%80%205", "\u20ac 5"),
        ("text/plain;charset=Shift_JIS", "%93%FA%96%7B", "\u65e5\u672c"),
        ("text/plain;charset=utf-16le", "h%00i%00", "hi"),
        ("text/plain;charset=iso-8859-1", "h\u00e9llo", "h\u00e9llo"),
        ("text/plain;charset=unknown-8", "h%C3%A9llo", "h\u00e9llo"),
        ("text/plain;charset=utf-7", "+AGgAaQ-", "+AGgAaQ-"),
        ("text/plain;charset=rot13", "uryyb", "uryyb"),
        ("text/plain;charset=zip", "x", "x"),
    ],
)
def test_data_uri_of_text_is_read_in_its_charset(head: str, body: str, expected: str) -> None:
    provenance = Provenance(meta={"mimeType": head})
    found = result_of(f"data:{head},{body}")
    assert (found.media, found.warnings) == ((), ())
    assert found.parts == (text(expected, provenance=provenance),)


def test_data_uri_that_is_not_in_its_charset_stays_as_it_is() -> None:
    uri = "data:text/plain;charset=us-ascii,h%E9llo"
    assert result_of(uri) == Result((text(uri),))


@pytest.mark.parametrize("uri", ["data:,", "data:text/plain,"])
def test_data_uri_of_no_text_is_the_empty_text(uri: str) -> None:
    assert result_of(uri) == Result((text(""),))


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("data:text/csv;name=a.csv,1%2C2", Medium(b"1,2", "text/csv", None, "a.csv")),
        ("data:;name=a.txt,hello", Medium(b"hello", "text/plain", None, "a.txt")),
    ],
)
def test_data_uri_of_text_with_a_file_name_is_a_file(uri: str, found: Medium) -> None:
    assert (
        result_of(uri) == result_of({"type": "file", "data": uri}) == Result((medium(),), (found,))
    )
    words = uri.replace("hello", "1%2C2") + " and so on"
    assert result_of(words) == Result((text(words),))


def test_data_uri_without_a_type_is_plain_text_or_what_its_bytes_show() -> None:
    assert result_of(f"data:;base64,{PNG64}") == Result((medium(),), (Medium(PNG),))
    assert result_of({"note": "data:;base64,aGVsbG8gd29ybGQ="}) == Result(
        (json_part('{"note":"', 0, '"}'), extracted()),
        (Medium(b"hello world", "text/plain", must_be_stored=True),),
    )
    assert result_of({"note": "data:,hello"}) == Result((json_part('{"note":"data:,hello"}'),))


@pytest.mark.parametrize("identifier", [{}, {"identifier": "d40f18"}])
def test_binary_content_of_pydantic_ai_is_its_medium_under_its_identifier(
    identifier: dict[str, str],
) -> None:
    data = b"\xfb\xff\xfe" * 40
    spelled = b64(data).replace("+", "-").replace("/", "_")
    content = {"data": spelled, "media_type": "audio/mpeg", "vendor_metadata": None}
    provenance = Provenance(name=identifier.get("identifier"))
    assert result_of({**content, "kind": "binary", **identifier}) == Result(
        (medium(provenance=provenance),), (Medium(data, "audio/mpeg"),)
    )


def test_short_binary_content_of_pydantic_ai_is_base64() -> None:
    content = {"data": "aGk=", "media_type": "text/plain", "vendor_metadata": None}
    assert result_of({**content, "kind": "binary", "identifier": "x"}) == Result(
        (text("hi", provenance=Provenance(name="x")),)
    )


def test_identifier_of_another_kind_of_block_is_no_name() -> None:
    block = {"type": "image", "data": PNG64, "mimeType": "image/png"}
    assert result_of({**block, "kind": "chart", "identifier": "u-1"}) == Result(
        (medium(), json_part('{"kind":"chart","identifier":"u-1"}')),
        (Medium(PNG, "image/png", "image"),),
    )


@pytest.mark.parametrize("payload", [b64("grüß\n".encode()), "grüß\n", "hello", "Buchstabe"])
def test_payload_of_text_becomes_text(payload: str) -> None:
    expected = "grüß\n" if payload == b64("grüß\n".encode()) else payload
    block = {"data": payload, "mimeType": "text/markdown"}
    provenance = Provenance(meta={"mimeType": "text/markdown"})
    assert result_of(block) == Result(
        (text(expected, mime="text/markdown", provenance=provenance),)
    )


def test_text_with_a_file_name_stays_a_file() -> None:
    block = {
        "type": "file",
        "data": b64(b"a,b\n1,2\n"),
        "mimeType": "text/csv",
        "filename": "t.csv",
    }
    assert result_of(block) == Result(
        (medium(),), (Medium(b"a,b\n1,2\n", "text/csv", None, "t.csv"),)
    )


def test_other_members_of_a_block_are_kept() -> None:
    block = {
        "type": "image",
        "data": PNG64,
        "mimeType": "image/png",
        "title": "Sunset",
        "uri": "file:///a.png",
        "annotations": {"audience": ["user"]},
        "_meta": {"k": 1},
        "detail": "A long description",
        "caption": "sunset",
    }
    provenance = Provenance({"audience": ["user"]}, "file:///a.png", "Sunset", {"k": 1})
    assert result_of(block) == Result(
        (medium(0, provenance), json_part('{"detail":"A long description","caption":"sunset"}')),
        (Medium(PNG, "image/png", "image", "Sunset"),),
    )


def test_other_members_of_a_block_of_a_provider_are_kept_unless_they_are_null() -> None:
    block = {
        "type": "image_url",
        "image_url": {"url": PNG_URI},
        "note": "kept",
        "nothing": None,
        "annotations": {"audience": ["user"]},
        "cache_control": {"type": "ephemeral"},
    }
    assert result_of(block) == Result(
        (medium(0, Provenance({"audience": ["user"]})), json_part('{"note":"kept"}')),
        (Medium(PNG, "image/png", "image"),),
    )


@pytest.mark.parametrize(
    "record",
    [
        {"type": "image", "source": {"type": "file", "file_id": "f_1"}, "rows": 3},
        {"type": "image"},
        {"type": "image", "data": None},
        {"type": "image", "data": {"a": 1}},
        {"type": "image", "data": [1, 2, 300]},
        {"type": "image", "data": [255, 0, 0]},
        {"type": "image", "image": "logo", "id": 7},
        {"type": "audio", "audio": "track001"},
        {"type": "document", "data": "test"},
        {"b64_json": "none"},
        {"rows": [{"type": "image", "image": "abcdabcdabcdabcd"}]},
        {"type": "image", "data": [True, False]},
        {"type": "image", "url": "/img/a.png", "alt": "x"},
        {"type": "file", "name": "a.txt", "url": "https://h/a", "size": 9},
        {"type": "text"},
        {"type": ["text"], "text": "x"},
        {"type": "unheard-of", "data": "x"},
        {"type": "resource", "resource": "x"},
        {"type": "resource_link", "uri": 5},
        {"type": "content", "value": "x"},
        {"type": "text", "text": {"value": "x"}},
    ],
)
def test_block_without_the_member_of_its_type_is_a_record(record: dict[str, object]) -> None:
    result = result_of([record, "x"])
    assert [type(part).__name__ for part in result.parts] == ["NormalizedText"] * 2
    assert result.parts[0] == result_of({"json": record}).parts[0]
    assert result.warnings == ()


def test_resource_link_of_any_type_is_a_medium() -> None:
    link = {"type": "resource_link", "uri": "https://h/x", "name": "x", "mimeType": "image/*"}
    provenance = Provenance(uri="https://h/x", name="x")
    assert result_of({"content": [link]}) == Result(
        (NormalizedLink("https://h/x", "image", "image/*", "x", provenance),)
    )


def test_word_beside_an_address_may_be_a_topic() -> None:
    record = {"url": "https://h/watch", "contentType": "video"}
    assert result_of(record) == Result(
        (json_part('{"url":"https://h/watch","contentType":"video"}'),)
    )
