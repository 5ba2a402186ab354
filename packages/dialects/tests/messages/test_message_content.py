"""Contents of messages as items: texts, media, notes of omissions, provider blocks."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pagefault_dialects.messages.message_content import (
    ContentReader,
    note_no_place,
    note_reasoning,
    note_unread_members,
)
from pagefault_dialects.messages.provider_blocks import make_provider_block
from pagefault_dialects.model.conversation import (
    Address,
    AlternativeText,
    BlockLabel,
    InlineBytes,
    Item,
    Medium,
    Omission,
    TextItem,
    stored_medium,
)
from pagefault_dialects.model.resource import MediaHints, Resource
from tests.kit.media import b64, png

Json = Any

P = "/content/0"
DATA = png(8, 6)
URI = f"data:image/png;base64,{b64(DATA)}"
ID, OTHER_ID = "a1" * 16, "b2" * 16
BLOB, OTHER_BLOB = f"@blob:{ID}", f"@blob:{OTHER_ID}"
STORED = Resource(
    *(ID, "d4" * 32, "image/png", "a.png", 9, "image", MediaHints(8, 6)),
    created_at=datetime(2026, 11, 29, tzinfo=UTC),
)
OTHER = replace(STORED, resource_id=OTHER_ID)
RESOURCES = {ID: STORED, OTHER_ID: OTHER}

PLAIN = ContentReader(RESOURCES, "assistant")
DESCRIBING = ContentReader(RESOURCES, "assistant", describes_blocks=True)
KEEPING = ContentReader(RESOURCES, "assistant", describes_blocks=True, keeps_blocks=True)
SEARCHING = ContentReader(RESOURCES, "assistant", finds_media=True)
MOVED = ContentReader(RESOURCES, "assistant", frozenset({ID}))


def read(reader: ContentReader, content: Json, *, is_of_dialect: bool = True) -> list[Item]:
    return [*reader.read(content, P, is_of_dialect=is_of_dialect)]


def texts(*words: str) -> list[Item]:
    return [TextItem(P, text) for text in words]


def image(**more: Json) -> Medium:
    members: Json = {"filename": None, "size_bytes": len(DATA), **more}
    return Medium(P, InlineBytes(DATA), "image", "image/png", **members)


def no_place(*names: str) -> list[Item]:
    return [note_no_place(f"{P}/{name}", name) for name in names]


def test_values_that_are_no_blocks_are_texts() -> None:
    rows: Sequence[tuple[Json, list[Item]]] = [
        (None, []),
        ([], []),
        ("Hi.", texts("Hi.")),
        ("", texts("")),
        (7, texts("7")),
        (["a", "b", 7], texts("a", "b", "7")),
        (URI, texts(URI)),
        ([["a"]], texts("a")),
        # Objects are values that a tool returned.
        ({"a": 1}, texts('{"a":1}')),
        ([{"a": 1}, {"b": 2}], texts('[{"a":1},{"b":2}]')),
    ]
    found = [read(PLAIN, content, is_of_dialect=False) for content, _ in rows]
    assert found == [items for _, items in rows]


def test_list_with_a_block_is_read_block_by_block() -> None:
    block = {"type": "text", "text": "A"}
    unknown = note_no_place(P, "a")
    assert read(DESCRIBING, [block, "B", 7, {"a": 1}, [8]]) == [
        *texts("A", "B", "7", "[block: a]"),
        unknown,
        TextItem(P, "[8]"),
    ]
    assert read(DESCRIBING, [{"type": "input_audio", "transcript": "Hm."}]) == texts("Hm.")
    assert read(DESCRIBING, [{"type": "image_url", "image_url": {"url": URI}}]) == [image()]
    assert read(DESCRIBING, [{"text": "A"}, {"text": "B"}]) == texts("A", "B")


def test_text_block_is_its_text_and_notes_of_its_other_members() -> None:
    cited: Json = {"citations": [1], "annotations": [{"x": 1}], "cache_control": {"a": 1}}
    rows: Sequence[tuple[Json, list[Item]]] = [
        ({"type": "text", "text": "A"}, texts("A")),
        *(({"type": kind, "text": "A"}, texts("A")) for kind in ("input_text", "output_text")),
        ({"text": "A"}, texts("A")),
        ({"text": "A", "thought": None, "b": None}, texts("A")),
        (
            {"text": "A", "thoughtSignature": "c2ln"},
            [*texts("A"), note_reasoning(f"{P}/thoughtSignature")],
        ),
        (
            {"text": "A", "thought": False, "thought_signature": "c2ln"},
            [*texts("A"), note_reasoning(f"{P}/thought_signature")],
        ),
        (
            {"type": "text", "text": "A", "id": "x", **cited},
            [*texts("A"), *no_place("citations", "annotations")],
        ),
        ({"type": "text", "text": "A", "annotations": {"audience": ["assistant"]}}, texts("A")),
        (
            {"type": "text", "text": "A", "annotations": {"audience": ["user"]}, "b": 1},
            [
                Omission(
                    P, "text", "other-audience", 'Its annotations say whom it is for: "user".'
                ),
                *no_place("b"),
            ],
        ),
        ({"type": "refusal", "refusal": "No.", "b": 1}, texts("No.")),
    ]
    for reader in (PLAIN, DESCRIBING, KEEPING):
        assert [read(reader, block) for block, _ in rows] == [items for _, items in rows]


def test_block_of_a_medium_is_the_medium_and_notes_of_its_other_members() -> None:
    link = "https://a.example/b.png"
    linked = Medium(P, Address(link), "image", "image/png", "b.png", None)
    rows: Sequence[tuple[Json, list[Item]]] = [
        ({"type": "input_image", "image_url": URI, "detail": "low"}, [image(detail="low")]),
        (
            {"inlineData": {"mimeType": "image/png", "data": b64(DATA), "x": ""}, "more": 1},
            [image(), *no_place("more")],
        ),
        (
            {"type": "image", "data": b64(DATA), "mimeType": "image/gif", "name": "a.gif"},
            [image(filename="a.gif", claimed_type="image/gif")],
        ),
        (
            {"type": "image", "data": b64(DATA), "mimeType": " IMAGE/PNG ; a=b"},
            [image()],
        ),
        (
            {"type": "resource_link", "uri": link, "name": "b.png", "mimeType": "image/png"},
            [linked],
        ),
        (
            {
                "type": "image",
                "data": b64(DATA),
                "mimeType": "image/png",
                "_meta": {"caption": "A cat."},
            },
            [image(words=AlternativeText("caption", "A cat."))],
        ),
    ]
    for reader in (PLAIN, DESCRIBING, KEEPING):
        assert [read(reader, block) for block, _ in rows] == [items for _, items in rows]


def test_medium_has_the_detail_of_its_block_if_it_is_one_of_openais() -> None:
    details = ("low", "high", "auto", "original")
    blocks: Json = [
        {"type": "image_url", "image_url": {"url": URI, "detail": detail}} for detail in details
    ]
    assert [read(KEEPING, block) for block in blocks] == [
        [image(detail=detail)] for detail in details
    ]
    other: Json = {"type": "input_image", "image_url": URI, "detail": "x"}
    assert read(KEEPING, other) == [image(), note_no_place(P, "input_image")]


def test_medium_for_another_audience_is_only_a_note() -> None:
    block = {"type": "image", "data": b64(DATA), "mimeType": "image/png"}
    private = {**block, "annotations": {"audience": ["user"]}}
    note = Omission(P, "part", "other-audience", 'Its annotations say whom it is for: "user".')
    for reader in (PLAIN, DESCRIBING, KEEPING):
        assert read(reader, private) == [note]
        assert read(replace(reader, audience="everyone"), private) == [image()]


def test_speech_is_its_audio_with_the_words_or_the_words_alone() -> None:
    sound = b"\0\1" * 40
    words: Json = {"transcript": "Hm."}
    rows: Sequence[tuple[Json, list[Item]]] = [
        ({"type": "input_audio", **words, "b": 1}, texts("Hm.")),
        (
            {"type": "output_audio", **words, "audio": b64(sound)},
            [
                Medium(
                    *(P, InlineBytes(sound), "audio", "audio/pcm;rate=24000", None, len(sound)),
                    words=AlternativeText("transcript", "Hm."),
                )
            ],
        ),
    ]
    for reader in (PLAIN, DESCRIBING, KEEPING):
        assert [read(reader, block) for block, _ in rows] == [items for _, items in rows]


def test_name_and_uri_of_a_part_are_its_label_or_a_text_behind_it() -> None:
    resource: Json = {"uri": "a:b", "text": "T", "mimeType": "text/plain"}
    link: Json = {"type": "resource_link", "uri": "a:b", "name": "n"}
    block: Json = {"type": "resource", "resource": resource}
    assert [read(DESCRIBING, block), read(DESCRIBING, link)] == [
        [TextItem(P, "T", label=BlockLabel(uri="a:b"))],
        [TextItem(P, "n\na:b", label=BlockLabel("n", "a:b"))],
    ]
    assert [read(PLAIN, block), read(PLAIN, link)] == [
        texts("T", '{"uri":"a:b"}'),
        texts("n\na:b", '{"name":"n","uri":"a:b"}'),
    ]


SEARCH: Json = {"type": "search", "action": {"query": "cats"}}


def test_block_of_one_provider_is_json_or_words_or_kept() -> None:
    words = "[search: cats]"
    note = note_no_place(P, "search")
    assert read(PLAIN, SEARCH) == texts('{"type":"search","action":{"query":"cats"}}')
    assert read(DESCRIBING, SEARCH) == read(SEARCHING, SEARCH) == [TextItem(P, words), note]
    assert read(KEEPING, SEARCH) == [make_provider_block(SEARCH, P, "search", words)]
    # An object that a tool returned stays JSON.
    assert read(KEEPING, SEARCH, is_of_dialect=False) == read(PLAIN, SEARCH)


def test_damaged_block_of_a_common_type_is_described() -> None:
    refused = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "!"},
    }
    text = "[image/png data that could not be decoded]\n!"
    damaged = {"type": "refusal", "refusal": 7}
    note = note_no_place(P, "refusal")
    for reader in (DESCRIBING, KEEPING):
        assert read(reader, refused) == texts(text)
    described = TextItem(P, "[block: refusal]")
    assert read(DESCRIBING, damaged) == [described, note]
    assert read(KEEPING, damaged) == [described, replace(note, to="text")]
    # Data that cannot be read is a file at the provider, if the block names one.
    named = {**refused, "file_id": "f"}
    assert read(KEEPING, named) == [make_provider_block(named, P, "image", "[block: image]")]


def test_description_has_labels_and_texts_of_a_block_and_of_blocks_inside_it() -> None:
    nested: Json = [
        {"title": "One", "url": "https://a.example", "text": "First."},
        {"stdout": "out", "stderr": "err"},
        7,
    ]
    rows: Sequence[tuple[Json, str]] = [
        ({"type": "x"}, "[block: x]"),
        ({"x": {}}, "[block: x]"),
        (
            {
                "type": "x",
                **{name: name for name in ("title", "name", "source", "url", "uri", "fileUri")},
                **{name: name for name in ("file_uri", "filename")},
            },
            "[x: title, name, source, url, uri, fileUri, file_uri, filename]",
        ),
        ({"type": "x", "title": "", "name": 7, "url": "data:image/png,x"}, "[block: x]"),
        ({"type": "x", "source": {"s3Location": {"uri": "s3://b/k"}}}, "[x: s3://b/k]"),
        (
            {
                "type": "x",
                **{name: name for name in ("text", "code", "command", "stdout", "stderr", "logs")},
                "content": "content",
            },
            "text\ncode\ncommand\nstdout\nstderr\nlogs\ncontent",
        ),
        ({"type": "x", "action": {"query": "q", "url": "u", "command": "ls"}}, "[x: q, u]\nls"),
        ({"type": "x", "input": {"code": "1+1", "title": "t"}}, "1+1"),
        ({"type": "x", "action": "q", "input": {"query": "r"}}, "[x: r]"),
        ({"type": "x", "action": {"query": "q"}, "input": {"query": "r"}}, "[x: q]"),
        ({"x": {"title": "Inner"}}, "[x: Inner]"),
        ({"type": "x", "x": "y", "title": "Outer"}, "[x: Outer]"),
        *(
            ({"type": "x", name: nested}, "One, https://a.example\nFirst.\nout\nerr")
            for name in ("content", "results", "sources", "outputs")
        ),
        ({"type": "x", "content": {"text": "A", "title": "T"}}, "T\nA"),
        ({"type": "x", "results": {"text": "A"}}, "[block: x]"),
        ({"type": "x", "title": "T", "content": [{"logs": "L"}]}, "[x: T]\nL"),
    ]
    described = [read(replace(KEEPING, keeps_blocks=False), block)[0] for block, _ in rows]
    assert described == texts(*(text for _, text in rows))


def test_reference_is_replaced_by_the_medium() -> None:
    medium = stored_medium(STORED, P)
    unknown = f"@blob:{'c3' * 16}"
    for reader in (PLAIN, DESCRIBING, KEEPING):
        assert read(reader, BLOB) == [medium]
        assert read(reader, {"type": "text", "text": BLOB}) == [medium]
        assert read(reader, {"type": "image", "data": BLOB, "mimeType": "image/png"}) == [medium]
        assert read(reader, unknown) == texts(unknown)
        assert read(reader, f"See {BLOB}.") == texts(f"See {BLOB}.")
    assert read(MOVED, BLOB) == [replace(medium, is_in_text=True)]
    # The name in the message replaces that in the store.
    named = {"type": "image", "data": BLOB, "mimeType": "image/png", "name": "b.png"}
    assert read(KEEPING, named) == [replace(medium, filename="b.png")]
    assert read(KEEPING, {"type": "image", "data": unknown, "mimeType": "image/png"}) == texts(
        unknown
    )


def test_medium_that_was_moved_out_of_a_text_follows_the_text() -> None:
    moved = replace(stored_medium(STORED, P), is_in_text=True)
    text = f"See {BLOB} and {OTHER_BLOB}."
    assert read(MOVED, text) == [*texts(text), moved]
    both = replace(MOVED, moved_media_ids=frozenset({ID, OTHER_ID, "c3" * 16}))
    other = replace(stored_medium(OTHER, P), is_in_text=True)
    assert read(both, text) == [*texts(text), moved, other]
    assert read(replace(MOVED, resources={}), text) == texts(text)
    # A value of a tool has each medium once.
    value = {"rows": [BLOB, BLOB]}
    json_text = f'{{"rows":["{BLOB}","{BLOB}"]}}'
    assert read(MOVED, value, is_of_dialect=False) == [*texts(json_text), moved]
    assert read(PLAIN, value, is_of_dialect=False) == texts(json_text)
    assert read(replace(MOVED, describes_blocks=True), {"type": "x", "rows": [BLOB]}) == [
        replace(moved, is_in_text=False),
        note_no_place(P, "x"),
    ]
    assert read(replace(MOVED, keeps_blocks=True), {"type": "x", "rows": [BLOB]}) == [
        replace(moved, is_in_text=False),
        note_no_place(P, "x"),
    ]


def test_text_that_was_not_searched_yet_is_read_like_a_tool_result() -> None:
    short = f"See {'x' * 30}"
    text = f"See {URI} here."
    found = image(is_in_text=True)
    assert read(PLAIN, text) == texts(text)
    assert read(SEARCHING, short) == texts(short)
    assert read(SEARCHING, text) == [TextItem(P, "See [medium] here."), found]
    # A reference is restored only if its medium was moved out of the text.
    moved = replace(MOVED, finds_media=True)
    restored = replace(stored_medium(STORED, P), is_in_text=True)
    assert read(moved, f"See {BLOB} in the text, here.") == [
        TextItem(P, "See [medium] in the text, here."),
        restored,
    ]
    unknown = f"See {OTHER_BLOB} in the text, here."
    assert read(moved, unknown) == texts(unknown)
    assert [*PLAIN.read_unsearched(7, P)] == texts("7")
    assert [*PLAIN.read_unsearched({"a": 1}, P)] == texts('{"a":1}')
    assert [*PLAIN.read_unsearched(short, P)] == texts(short)


def test_unread_members_are_noted_unless_they_are_empty_or_belong_to_the_frame() -> None:
    frame = (
        *("type", "id", "object", "index", "role", "status", "phase", "example", "annotations"),
        *("created", "created_at", "createdAt", "timestamp", "model", "container", "logprobs"),
        *("finish_reason", "stop_reason", "stop_sequence", "stop_details", "stopReason"),
        *("usage", "usage_metadata", "usageMetadata", "response_metadata", "_meta"),
        *("cache_control", "cachePoint", "caller", "partial_json", "providerExecuted", "dynamic"),
        *("detail", "is_error", "isError", "willContinue", "will_continue", "scheduling"),
    )
    thoughts = (
        *("thoughtSignature", "thought_signature", "signature", "encrypted_content"),
        *("reasoning", "reasoning_content", "reasoning_details", "thinking"),
    )
    members: Json = {
        **dict.fromkeys(frame, 1),
        **dict.fromkeys(thoughts, 1),
        **{"read": 1, "a": None, "b": "", "c": [], "d": {}, "e": False, "f/~": 0},
    }
    assert [*note_unread_members(members, frozenset({"read"}), "/m")] == [
        *(
            Omission(
                f"/m/{name}",
                *("reasoning", "reasoning", "Only the model that thought it takes it back."),
            )
            for name in thoughts
        ),
        note_no_place("/m/f~1~0", "f/~"),
    ]
    assert note_no_place("/m/e", "e") == Omission(
        "/m/e", "e", "no-place", "Other dialects have no place for `e`."
    )
