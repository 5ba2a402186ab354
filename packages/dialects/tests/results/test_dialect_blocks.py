"""Blocks that only one dialect has, by the forms of its table; their members are provenance."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from packages.dialects.tests.results.samples import PNG, PNG64, json_part, medium, text
from pagefault_dialects.dialects.tool_output import BlockForm
from pagefault_dialects.model.normalized import (
    NO_PROVENANCE,
    NormalizedLink,
    NormalizedPart,
    Provenance,
)
from pagefault_dialects.results.blocks import BlockOutcome, NestedContent
from pagefault_dialects.results.collector import Collector, Pointer
from pagefault_dialects.results.dialect_blocks import (
    add_provenance,
    read_dialect_block,
    read_provider_file,
    read_unknown_block,
)
from pagefault_dialects.results.parts import ReadContext

Json = Any

MARKED = BlockForm((("body",),), "text", ("kind", "note"), name=("title",), uri=("link", "href"))


def context(*forms: BlockForm) -> ReadContext:
    return ReadContext(Collector(), Pointer().child("result"), forms)


def read(block: Json, *forms: BlockForm) -> BlockOutcome | None:
    return read_dialect_block(block, context(*forms))


def test_block_is_read_by_the_first_form_that_fits() -> None:
    other = replace(MARKED, mark=("kind", "other"))
    data = BlockForm((("body",),), "json", ("kind", "note"))
    note = {"kind": "note", "body": "A"}
    assert read(note, other, MARKED, data) == [text("A")]
    assert read({**note, "body": 7}, MARKED, data) == [text("7")]
    assert read(note, other) is None
    assert read(note) is None
    assert read({"body": "A"}, MARKED) is None


def test_block_without_content_has_no_parts() -> None:
    assert read({"kind": "note", "body": "A"}, replace(MARKED, payload_kind="nothing")) == []


def test_texts_of_a_block_are_parts_without_the_empty_ones() -> None:
    form = BlockForm((("a",), ("b", "c"), ("d",)), "text", ("kind", "note"))
    rows: Sequence[tuple[Json, list[NormalizedPart] | None]] = [
        ({"a": "A", "b": {"c": "C"}, "d": "D"}, [text("A"), text("C"), text("D")]),
        ({"a": "", "b": {"c": "C"}}, [text("C")]),
        ({"a": "", "d": ""}, [text("")]),
        ({"a": None, "b": {"c": "C"}}, [text("C")]),
        ({"a": "A", "d": 7}, None),
        ({"b": 7}, None),
        ({}, None),
    ]
    assert [read({"kind": "note", **members}, form) for members, _ in rows] == [
        parts for _, parts in rows
    ]


def test_form_without_a_mark_fits_blocks_without_other_members() -> None:
    form = BlockForm((("body",), ("more", "x")), "text", mime_type=("form", "type"))
    known = (
        *("filename", "mediaType", "media_type", "mimeType", "mime_type", "metadata", "meta"),
        *("outcome", "created_by", "cachePoint", "citations", "mediaProcessing"),
        *("media_processing", "form", "more"),
    )
    assert read({"body": "A"}, form) == [text("A")]
    for name in known:
        part = text("A", provenance=Provenance(meta={name: "x"}))
        assert read({"body": "A", name: "x"}, form) == [part]
    assert read({"body": "A", "else": None}, form) == [text("A")]
    assert read({"body": "A", "else": "x"}, form) is None
    picture = replace(form, payload_kind="media", kind="image")
    assert read({"body": PNG64, "else": "x"}, picture) is None


def test_members_beside_the_content_are_the_provenance_of_the_first_part() -> None:
    marked: Json = {"kind": "note", "body": "A"}
    rows: Sequence[tuple[Json, Provenance]] = [
        ({}, NO_PROVENANCE),
        ({"title": "T", "link": {"href": "a:b"}}, Provenance(uri="a:b", name="T")),
        (
            {"title": "", "link": {"href": "a:b", "x": 1}},
            Provenance(uri="a:b", meta={"link": {"x": 1}}),
        ),
        ({"title": 7, "link": "a:b"}, Provenance(meta={"title": 7, "link": "a:b"})),
        ({"cache_control": {"type": "ephemeral"}}, NO_PROVENANCE),
        ({"annotations": {"audience": ["user"]}}, Provenance({"audience": ["user"]})),
        (
            {"annotations": {"priority": 1}, "x": 0},
            Provenance({"priority": 1}, meta={"x": 0}),
        ),
        ({"annotations": [1], "x": None, "y": []}, Provenance(meta={"annotations": [1]})),
    ]
    assert [read({**marked, **members}, MARKED) for members, _ in rows] == [
        [text("A", provenance=provenance)] for _, provenance in rows
    ]


def test_media_in_the_other_members_of_a_block_are_moved_out() -> None:
    within = context(MARKED)
    parts = read_dialect_block({"kind": "note", "body": "A", "icon": PNG64}, within)
    assert parts == [text("A", provenance=Provenance(meta={"icon": medium(0).slot}))]
    [found] = within.collector.media
    assert (b"".join(found.source.chunks()), found.pointer) == (PNG, "/result/icon")


def test_payload_of_a_block_may_be_json_or_nested_content() -> None:
    form = replace(MARKED, payloads=(("a", "b"), ("body",)), payload_kind="json")
    block: Json = {"kind": "note", "a": {"b": {"x": 1}}, "body": "A", "title": "T"}
    rest = Provenance(name="T", meta={"body": "A"})
    assert read(block, form) == [replace(json_part('{"x":1}'), provenance=rest)]
    nested = read(block, replace(form, payload_kind="content"))
    assert isinstance(nested, NestedContent)
    assert (nested.content, nested.following, nested.provenance) == ({"x": 1}, [], rest)
    assert (str(nested.context.pointer), nested.context.forms) == (
        "/result/a/b",
        (replace(form, payload_kind="content"),),
    )


def test_medium_of_a_block_has_the_declared_properties() -> None:
    form = BlockForm(
        *((("a",), ("b", "data")), "media", ("kind", "note"), "image", ("title",), (), ("form",))
    )

    def found(block: Json) -> Json:
        within = context(form)
        parts = read_dialect_block({"kind": "note", **block}, within)
        return parts, [
            (item.source.declared_mime_type, item.kind, item.filename, item.pointer)
            for item in within.collector.media
        ]

    part = medium(0)
    assert found({"a": PNG64}) == ([part], [(None, "image", None, "/result/a")])
    assert found({"b": {"data": PNG64, "mimeType": "image/png"}, "form": "image/gif"}) == (
        [part],
        [("image/gif", "image", None, "/result/b/data")],
    )
    assert found({"b": {"data": PNG64, "mimeType": "image/png"}, "form": 7}) == (
        [replace(part, provenance=Provenance(meta={"form": 7}))],
        [("image/png", "image", None, "/result/b/data")],
    )
    assert found({"a": PNG64, "title": "T"})[0] == [replace(part, provenance=Provenance(name="T"))]
    assert found({"a": {"x": 1}}) == found({"c": PNG64}) == (None, [])


def test_unknown_block_is_described_with_the_block_in_its_provenance() -> None:
    block = {"type": "search", "title": "T", "url": "a:b", "hits": 3}
    meta = Provenance(meta={"block": block})
    assert read_unknown_block(block, context()) == [text("T\na:b", provenance=meta)]
    assert read_unknown_block({"title": "T"}, context()) is None
    file: Json = {"type": "input_file", "file_id": "f", "filename": "a.txt"}
    assert read_provider_file(file, context()) == [
        text("a.txt", provenance=Provenance(meta={"block": file}))
    ]
    assert read_provider_file(block, context()) is None


def test_provenance_is_added_to_the_first_part_and_replaces_only_the_name_of_a_medium() -> None:
    first, second = (
        Provenance({"a": 1}, "a:b", "n", {"x": 1, "y": 1}),
        Provenance({"b": 2}, "c:d", "m", {"y": 2, "z": 2}),
    )
    merged = replace(first, meta={"x": 1, "y": 2, "z": 2})
    link = NormalizedLink("https://a.example", "image", "image/png", None, first)
    rows: Sequence[tuple[NormalizedPart, Provenance, Provenance]] = [
        (text("A", provenance=first), second, merged),
        (medium(0, first), second, replace(merged, name="m")),
        (link, second, replace(merged, name="m")),
        (medium(0, first), Provenance(uri="c:d"), first),
        (medium(0), second, second),
        (text("A"), second, second),
        (text("A", provenance=first), NO_PROVENANCE, first),
        (text("A"), Provenance(name="m", meta={}), Provenance(name="m")),
    ]
    other = text("B")
    assert [add_provenance([part, other], added) for part, added, _ in rows] == [
        [replace(part, provenance=expected), other] for part, _, expected in rows
    ]
    assert add_provenance([], second) == []
