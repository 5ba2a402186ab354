"""Media are found in content blocks and objects of any provider, with what these declare."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from pagefault_dialects.media.block_shapes import (
    MediaClaim,
    MediaMatch,
    TextMember,
    find_declared_text_type,
    find_embedded_claims,
    find_range_kind,
    is_binary_content,
    is_media_source,
    match_at,
    match_linked_media,
    match_plain_object,
    match_typed_block,
    match_untyped_block,
    may_hold_words,
    parse_byte_sequence,
    parse_payload,
    value_at,
)
from pagefault_dialects.media.block_table import (
    BlockShape,
    BlockTable,
    is_langchain_block,
    is_url_path,
    paths,
    without_langchain_members,
)
from pagefault_dialects.model.media import InMemoryMedia
from tests.kit.media import b64

SOURCE = InMemoryMedia(b"abc")
URL = "https://h/a"
# Base64 without a signature, in lines.
LINES = [
    b64(bytes(index * 89 % 256 for index in range(150)))[start : start + 40]
    for start in range(0, 200, 40)
]

Row = tuple[dict[str, Any], str, MediaClaim, str]


def describe(match: MediaMatch | None, block: dict[str, Any]) -> Row | None:
    """Return a match as its path, its claim and its consumed members, written with dots."""
    if match is None:
        return None
    assert match.payload == parse_payload(value_at(block, match.path))
    consumed = " ".join(dict.fromkeys(map(".".join, match.consumed)))
    return block, ".".join(match.path), match.claim, consumed


def check(find: Callable[[dict[str, Any]], MediaMatch | None], rows: list[Row]) -> None:
    assert [describe(find(row[0]), row[0]) for row in rows] == rows


def check_none(find: Callable[[dict[str, Any]], object], blocks: list[dict[str, Any]]) -> None:
    assert [block for block in blocks if find(block) is not None] == []


IMAGE = MediaClaim("image", min_chars=64)
PNG = MediaClaim("image", "image/png", min_chars=16)
FILE = MediaClaim(min_chars=None)

TYPED: list[Row] = [
    ({"type": "image", "data": "a"}, "data", IMAGE, "data type cache_control"),
    ({"type": "file", "data": "a"}, "data", FILE, "data type cache_control"),
    # The first of several payloads, and of several shapes.
    ({"type": "image", "url": URL, "data": "a"}, "data", IMAGE, "data type cache_control"),
    ({"type": "image", "image": "a", "url": URL}, "url", IMAGE, "url type cache_control"),
    (
        {"type": "image", "data": "a", "mimeType": " image/png "},
        *("data", PNG, "data mimeType type cache_control"),
    ),
    # The innermost type and name count; `name` of the block itself is kept.
    (
        {
            "type": "image",
            "media_type": "image/gif",
            "name": "outer",
            "source": {"type": "base64", "media_type": "image/png", "data": "a", "name": "b"},
        },
        *("source.data", MediaClaim("image", "image/png", "b", 16)),
        "source.data source.media_type source.name type cache_control source.type",
    ),
    (
        {"type": "image", "media_type": "image/png", "source": {"data": "a"}, "title": "b"},
        *("source.data", MediaClaim("image", "image/png", "b", 16)),
        "source.data media_type type cache_control",
    ),
    (
        {"type": "file", "file": {"file_data": "a", "filename": "b", "name": "c"}, "filename": "d"},
        *("file.file_data", MediaClaim(filename="b")),
        "file.file_data file.filename type cache_control",
    ),
    (
        {"type": "file", "data": "a", "filename": "", "title": "c"},
        *("data", MediaClaim(filename="c"), "data type cache_control"),
    ),
    # A range and a word declare a kind.
    (
        {"type": "file", "data": "a", "mediaType": " Video/* "},
        *("data", MediaClaim("video", min_chars=64), "data mediaType type cache_control"),
    ),
    (
        {"type": "file", "data": "a", "mime": "audio"},
        *("data", MediaClaim("audio", min_chars=64), "data mime type cache_control"),
    ),
    (
        {"type": "audio", "data": "a", "mime": "image/*"},
        *("data", MediaClaim("audio", min_chars=64), "data mime type cache_control"),
    ),
    (
        {"type": "file", "data": "a", "mimeType": "words", "mime": "text/*"},
        *("data", FILE, "data type cache_control"),
    ),
    # A format declares a type.
    (
        {"type": "input_audio", "input_audio": {"data": "a", "format": "wav"}},
        *("input_audio.data", MediaClaim("audio", "audio/wav", min_chars=16)),
        "input_audio.data input_audio.format type cache_control",
    ),
    (
        {"type": "audio", "data": "a", "mimeType": "g711_ulaw"},
        *("data", MediaClaim("audio", "audio/pcmu", min_chars=16)),
        "data mimeType type cache_control",
    ),
    (
        {"type": "image_generation_call", "result": "a", "format": 1, "output_format": "png"},
        *("result", PNG, "result output_format type cache_control"),
    ),
    ({"type": "image", "data": "a", "format": "json"}, "data", IMAGE, "data type cache_control"),
    (
        {"type": "file", "file": {"file_data": "a"}, "format": "json"},
        *("file.file_data", MediaClaim(mime_type="application/json", min_chars=16)),
        "file.file_data format type cache_control",
    ),
    # The parameters of samples.
    (
        {"type": "audio", "data": "a", "mime_type": "audio/l16", "sample_rate": 8_000, "rate": 1.5},
        *("data", MediaClaim("audio", "audio/l16;rate=8000", min_chars=16)),
        "data mime_type sample_rate type cache_control",
    ),
    (
        {"type": "audio", "data": "a", "mime_type": "audio/l16;rate=1000", "channels": 2},
        *("data", MediaClaim("audio", "audio/l16;rate=1000", min_chars=16)),
        "data mime_type type cache_control",
    ),
    (
        {"type": "input_audio", "audio": "a"},
        *("audio", MediaClaim("audio", "audio/pcm;rate=24000", min_chars=16)),
        "audio type cache_control",
    ),
    (
        {"type": "input_audio", "audio": "a", "format": "wav"},
        *("audio", MediaClaim("audio", "audio/wav", min_chars=16)),
        "audio format type cache_control",
    ),
    # Members that describe how the payload is written.
    (
        {"type": "image", "data": "a", "encoding": "base64", "detail": "low", "source_type": "url"},
        *("data", IMAGE, "data type cache_control source_type detail encoding"),
    ),
    (
        {"type": "image", "data": "a", "encoding": "hex", "detail": 1, "source_type": []},
        *("data", IMAGE, "data type cache_control"),
    ),
    # Links, data URIs and payloads of other kinds.
    (
        {"type": "image_url", "image_url": {"url": URL}},
        *("image_url.url", IMAGE, "image_url.url type cache_control"),
    ),
    ({"type": "file", "url": " @HTTP:a"}, "url", FILE, "url type cache_control"),
    ({"type": "file", "url": "a" * 64}, "url", FILE, "url type cache_control"),
    (
        {"type": "file", "url": URL, "id": 1, "index": 0, "_meta": {}, "name": "a"},
        *("url", MediaClaim(filename="a"), "url type cache_control"),
    ),
    (
        {"type": "image", "url": URL, "size": 1},
        *("url", IMAGE, "url type cache_control"),
    ),
    (
        {"type": "file", "file_url": URL, "size": 1},
        *("file_url", FILE, "file_url type cache_control"),
    ),
    ({"type": "Buffer", "data": [1, 2]}, "data", FILE, "data type cache_control"),
    ({"type": "file", "data": SOURCE}, "data", FILE, "data type cache_control"),
]


def test_block_with_a_type_is_matched_by_the_shapes_of_that_type() -> None:
    check(match_typed_block, TYPED)


def test_block_without_a_payload_is_not_matched() -> None:
    check_none(
        match_typed_block,
        [
            {"data": "a"},
            {"type": "unknown", "data": "a"},
            {"type": ["image"], "data": "a"},
            {"type": "image"},
            {"type": "image", "data": None, "source": "a"},
            # A list of files.
            {"type": "file", "url": "/a"},
            {"type": "image", "url": "a"},
            {"type": "file", "url": URL, "size": 9},
        ],
    )


def test_block_with_one_member_is_matched_without_a_type() -> None:
    check(
        match_untyped_block,
        [
            (
                {"inlineData": {"data": "a", "mimeType": "image/png", "displayName": "b"}},
                *("inlineData.data", MediaClaim(None, "image/png", "b", 16)),
                "inlineData.data inlineData.mimeType inlineData.displayName",
            ),
            ({"fileData": {"fileUri": URL}}, "fileData.fileUri", FILE, "fileData.fileUri"),
            (
                {"image": {"format": "png", "source": {"bytes": [1, 2]}}},
                *("image.source.bytes", PNG, "image.source.bytes image.format"),
            ),
            ({"image_url": URL}, "image_url", IMAGE, "image_url"),
        ],
    )
    check_none(
        match_untyped_block,
        [{}, {"data": "a"}, {"image_url": URL, "a": 1}, {"fileData": {}}, {"image_url": "/a"}],
    )


def test_object_of_only_a_medium_is_matched() -> None:
    check(
        match_plain_object,
        [
            ({"data": "a"}, "data", FILE, "data"),
            ({"image": "a", "id": None}, "image", IMAGE, "image"),
            (
                {"data": "a", "contentType": "image/png", "filename": "b"},
                *("data", MediaClaim(None, "image/png", "b", 16), "data contentType filename"),
            ),
            (
                {"body": "a", "mime": "audio/*", "name": "b", "title": "c"},
                *("body", MediaClaim("audio", None, "b", 64), "body mime"),
            ),
            (
                {
                    **{"data": "a", "media_type": "image/png", "kind": "binary"},
                    **{"identifier": "b", "vendor_metadata": {}},
                },
                *("data", MediaClaim(None, "image/png", None, 16, is_encoded=True)),
                "data media_type kind",
            ),
            (
                {"data": LINES, "mime": "a/b"},
                "data",
                MediaClaim(None, "a/b", None, 16),
                "data mime",
            ),
            ({"data": [1, 2]}, "data", FILE, "data"),
        ],
    )
    check_none(
        match_plain_object,
        [
            {},
            {"other": "a"},
            {"data": "a", "other": 1},
            {"data": "a", "file": "b"},
            {"data": "a", "filename": 1},
            {"data": 1},
            {"data": LINES},
            {"data": "a", "kind": "binary"},
            {"data": "a", "kind": "text", "media_type": "image/png"},
            {"mime": "image/png", "filename": "a"},
        ],
    )


def test_object_with_a_url_and_a_type_of_media_is_matched() -> None:
    check(
        match_linked_media,
        [
            (
                {"url": URL, "mimeType": "image/png", "size": 1},
                *("url", MediaClaim(None, "image/png", None, 16), "url mimeType"),
            ),
            ({"src": URL, "type": "video/*"}, "src", MediaClaim("video", min_chars=64), "src type"),
            (
                {"url": 1, "href": URL, "format": "png", "name": "a"},
                *("href", MediaClaim(None, "image/png", "a", 16), "href format"),
            ),
        ],
    )
    check_none(
        match_linked_media,
        [
            {"mimeType": "image/png"},
            {"url": URL},
            {"url": URL, "contentType": "video"},
            {"url": URL, "mimeType": "text/html"},
            {"url": 1, "mimeType": "image/png"},
            {"url": "a", "href": URL, "href_type": "image/png"},
        ],
    )


def test_member_that_is_a_medium_is_matched_at_its_path() -> None:
    block: dict[str, Any] = {
        "a": {"b": "c", "mimeType": "image/png"},
        "d": LINES,
        "type": "file",
    }
    nested, declared = match_at(block, ("a", "b"), "video"), match_at(block, ("d",))
    consumed = (("a", "b"), ("a", "mimeType"), ("type",))
    claim = MediaClaim("video", "image/png", None, 16)
    assert nested == MediaMatch(
        ("a", "b"), "c", claim, (*consumed[:2], ("type",), ("cache_control",), ("type",))
    )
    assert declared is not None
    assert declared.payload == "".join(LINES)
    assert match_at(block, ("a", "c")) is None


def test_members_that_may_be_media_have_claims() -> None:
    values: list[tuple[dict[str, Any], dict[str, MediaClaim]]] = [
        ({}, {}),
        ({"id": 1}, {}),
        ({"data": 1, "image": "a"}, {"data": FILE, "image": MediaClaim("image")}),
        (
            {"data": "a", "mimeType": "image/png", "filename": "a.png"},
            {"data": MediaClaim(None, "image/png", "a.png", 16)},
        ),
        (
            {"content": "a", "mimeType": "image/png", "name": "words."},
            {"content": MediaClaim(None, "image/png", None, 64)},
        ),
        ({"data": "a", "encoding": "base64"}, {"data": MediaClaim(min_chars=16)}),
        ({"body": "a", "encoding": "base64"}, {"body": MediaClaim(min_chars=64)}),
        ({"body": "a", "encoding": "hex"}, {"body": FILE}),
        ({"body": "a", "mime": "audio/*"}, {"body": MediaClaim("audio", min_chars=64)}),
        (
            {"image": "a", "mime": "IMAGE/png"},
            {"image": MediaClaim("image", "IMAGE/png", None, 16)},
        ),
        ({"image": "a", "mime": "video/mp4"}, {"image": MediaClaim("image")}),
        # A text is a medium only if its type says so.
        ({"text": "a", "name": "a.txt"}, {"text": FILE}),
        ({"text": "a", "mime": "text/html", "name": "a.txt"}, {"text": FILE}),
        ({"text": "a", "mime": "image/svg+xml", "name": "a.svg"}, {"text": FILE}),
        (
            {"text": "a", "mime": "image/png", "name": "a.png"},
            {"text": MediaClaim(None, "image/png", "a.png", 64)},
        ),
        # The claims of a block replace those of its member.
        (
            {"type": "image", "data": "a", "url": URL},
            {"data": MediaClaim("image", min_chars=64)},
        ),
        (
            {"image_url": {"url": URL}, "b64_json": "a", "other": 1},
            {
                "b64_json": MediaClaim("image", min_chars=64),
                "image_url.url": MediaClaim("image", min_chars=64),
            },
        ),
        (
            {"uri": "data:,a", "mimeType": "image/png"},
            {"uri": MediaClaim(None, "image/png", None, 64)},
        ),
        ({"uri": URL, "mimeType": "image/png"}, {}),
        ({"uri": 1}, {}),
    ]
    found = [
        (value, {".".join(path): claim for path, claim in find_embedded_claims(value).items()})
        for value, _ in values
    ]
    assert found == values


def test_payload_is_a_string_bytes_or_a_source() -> None:
    others: list[object] = [1, None, True, 1.5, {}, [], ["a"], b"a", Decimal(1), (1,)]
    values: list[tuple[object, object]] = [
        ("a", "a"),
        ("", ""),
        (SOURCE, SOURCE),
        ([1, 255], b"\x01\xff"),
        (LINES, "".join(LINES)),
        *((value, None) for value in others),
    ]
    assert [(value, parse_payload(value)) for value, _ in values] == values
    assert parse_payload(LINES, is_declared=False) is None
    assert [value for value, _ in values if is_media_source(value)] == [SOURCE]


def test_bytes_are_read_in_every_spelling() -> None:
    values: list[tuple[object, bytes | None]] = [
        ([137, 0, 255], b"\x89\x00\xff"),
        ({"0": 1, "1": 2}, b"\x01\x02"),
        ({"type": "Buffer", "data": [1]}, b"\x01"),
        *(([1, other], None) for other in (256, -1, 2**80, 1.0, True, "1", None)),
        ([], None),
        ({}, None),
        ({"1": 1}, None),
        ({"0": 1, "2": 2}, None),
        ({"type": "buffer", "data": [1]}, None),
        ({"type": "Buffer", "data": {"0": 1}}, None),
        ({"type": "Buffer"}, None),
        ("a", None),
    ]
    assert [(value, parse_byte_sequence(value)) for value, _ in values] == values


def test_value_is_found_at_a_path() -> None:
    value: dict[str, Any] = {"a": {"b": [1]}}
    found = [value_at(value, path) for path in ((), ("a", "b"), ("a", "c"), ("a", "b", "0"))]
    assert found == [value, [1], None, None]


def test_text_type_is_declared_by_a_member() -> None:
    blocks: list[tuple[dict[str, object], TextMember | None]] = [
        ({"text": "a", "mimeType": "text/csv"}, TextMember(("mimeType",), "text/csv")),
        ({"text": "a", "media_type": "a", "mime": "text/csv"}, TextMember(("mime",), "text/csv")),
        ({"text": "a", "mimeType": "image/png"}, None),
        ({"text": "a", "format": "csv"}, None),
        ({"text": "a"}, None),
    ]
    assert [(block, find_declared_text_type(block)) for block, _ in blocks] == blocks


def test_words_of_providers_are_known() -> None:
    texts = ["image/*", " Audio ", "video/*", "text/*", "image/png", "*", ""]
    assert [find_range_kind(text) for text in texts] == ["image", "audio", "video", *[None] * 4]
    assert [may_hold_words((key, "a")) for key in ("data", "image", "content", "text")] == [
        *(False, False, True, True)
    ]
    blocks: list[dict[str, object]] = [
        {"kind": "binary", "media_type": "a"},
        {"kind": "binary"},
        {"media_type": "a"},
    ]
    assert [is_binary_content(block) for block in blocks] == [True, False, False]
    urls = [is_url_path(("a", key)) for key in ("url", "image_url", "fileUri", "file_uri", "data")]
    assert urls == [True, True, True, True, False]


def test_shapes_are_found_by_their_types_and_names() -> None:
    image = BlockShape("a", "image", "image", paths("data", "source.bytes", "image_url"))
    other = BlockShape("b", "image", None, paths("audio.media.words"), file_name="called")
    untyped = BlockShape("c", None, None, paths("x.y"), type_name="kind")
    more = BlockShape("d", None, None, paths("z"), may_have_others=True)
    audio = BlockShape("e", "audio", None, ())
    table = BlockTable((image, untyped, other, more, audio))
    assert table.typed == {"audio": (audio,), "image": (image, other)}
    assert (table.untyped, sorted(table.untyped_keys)) == ((untyped, more), ["x", "z"])
    assert table.first_keys_with_other_members == ("z",)
    names = ("mimeType", "mime_type", "mediaType", "media_type", "contentType", "content_type")
    assert table.mime_type_members == ("kind", *names)
    assert table.type_names == ("kind", *names, "mime", "mimetype", "type")
    files = ("filename", "file_name", "fileName", "displayName", "display_name")
    assert table.file_names == ("called", *files)
    assert table.link_block_members == {
        *("type", "source_type", "detail", "encoding", "kind", *table.type_names, "called", *files),
        *("name", "title", "url", "id", "index", "extras", "metadata", "annotations", "_meta"),
    }
    assert table.base64_path_suffixes == {("source", "bytes"), ("media", "words"), ("x", "y")}


def test_members_that_langchain_generates_are_removed() -> None:
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"id": "lc_1", "index": 0, "a": 1}, {"a": 1}),
        ({"id": 7, "index": "lc_txt_0"}, {}),
        ({"id": "call_1", "index": "b", "lc_": 1}, {"id": "call_1", "index": "b", "lc_": 1}),
        (
            {"extras": {"filename": "a", "b": 1}, "c": 2},
            {"extras": {"b": 1}, "c": 2, "filename": "a"},
        ),
        *(
            (block, block)
            for block in (
                {"extras": {"filename": "a"}, "filename": "b"},
                {"extras": {"filename": 1}},
                {"extras": {"name": "a"}},
                {"extras": "filename"},
            )
        ),
    ]
    assert [(block, without_langchain_members(block)) for block, _ in blocks] == blocks
    ids: list[dict[str, Any]] = [
        *({"id": "lc_1"}, {"id": "call_1"}, {"id": 1}, {}, {"index": "lc_1"})
    ]
    assert [is_langchain_block(block) for block in ids] == [True, *[False] * 4]
