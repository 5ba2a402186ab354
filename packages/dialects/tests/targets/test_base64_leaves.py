"""Blocks that targets write of items, the names of files, and the digest of a node."""

import json
from dataclasses import replace
from decimal import Decimal

from packages.dialects.tests.targets.composed import ID, made, medium, original, smaller
from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.conversation import (
    Address,
    DataItem,
    InlineBytes,
    MediaItem,
    NativeBlock,
    Omission,
    ProviderBlock,
    ResolvedItem,
    StoredBytes,
    TextItem,
)
from pagefault_dialects.targets.base64_leaves import (
    Base64Leaf,
    JsonLeaf,
    Node,
    base64_leaf,
    blocks_of,
    content_of,
    copy_provider_block,
    data_uri_of,
    file_name_of,
    join_texts,
    json_pieces,
    native_block_of,
    node_digest,
    text_block,
    text_of,
    visible_text_block,
)

IMAGE = original(medium())
URL = "https://files.example/a"
BLOCK = ProviderBlock("/0", {"d": {"type": "x", "a": [1], "b": {"c": 2}}}, "x", "no-place", "")


def text(words: str, block: NativeBlock | None = None) -> TextItem:
    return TextItem("/0", words, block=block)


def write_medium(attachment: MediaItem) -> Node:
    return {"name": attachment.filename}


def test_attachment_is_base64_a_url_or_a_reference() -> None:
    by_url = original(medium(), URL)
    reference = original(medium(), f"@blob:{ID}", is_reference=True)
    attachments = [IMAGE, by_url, reference]
    assert [base64_leaf(one) for one in attachments] == [
        Base64Leaf(IMAGE),
        Base64Leaf(by_url),
        f"@blob:{ID}",
    ]
    assert [data_uri_of(one) for one in attachments] == [
        Base64Leaf(IMAGE, "data:image/png;base64,"),
        URL,
        f"@blob:{ID}",
    ]


def test_file_has_an_extension_of_its_type() -> None:
    jpeg = smaller(medium(filename="a.png"), made())
    attachments = [
        original(medium("image/png", "a.png")),
        original(medium("image/jpg", "a.JPEG")),
        jpeg,
        original(medium("application/pdf", None)),
        original(medium("application/x-unknown-type", "a")),
    ]
    assert [file_name_of(one) for one in attachments] == [
        *("a.png", "a.JPEG", "a.png.jpg", "file.pdf", "a"),
    ]


def test_text_of_items_and_their_blocks() -> None:
    items: list[ResolvedItem] = [text("a"), DataItem("/0", {"n": 1}), IMAGE, BLOCK]
    omission = Omission("/0", "text", "evicted", "")
    assert [text_of(item) for item in (*items, omission)] == ["a", '{"n":1}', None, None, None]
    assert join_texts(["a", "", None, "b"]) == "a\n\nb"
    assert (text_block(" "), visible_text_block(" \n"), visible_text_block("a ")) == (
        [{"type": "text", "text": " "}],
        [],
        [{"type": "text", "text": "a "}],
    )


def test_items_are_written_as_blocks_in_order_and_empty_texts_are_left_out() -> None:
    items: list[ResolvedItem] = [text("a"), text(""), IMAGE, DataItem("/0", [1]), BLOCK]
    block: Node = {"type": "x", "a": JsonLeaf([1]), "b": JsonLeaf({"c": 2})}
    assert copy_provider_block(BLOCK) == block
    assert blocks_of(items, write_medium) == [
        *text_block("a"),
        {"name": "a.png"},
        *text_block("[1]"),
        block,
    ]
    assert blocks_of(items[:2], write_medium, lambda words: [words, words]) == ["a", "a"]
    assert blocks_of([], write_medium) == []


def test_texts_alone_are_one_string() -> None:
    texts: list[ResolvedItem] = [text("a"), text(""), DataItem("/0", [1])]
    assert content_of(texts, write_medium) == "a\n\n[1]"
    assert content_of([], write_medium) == ""
    assert content_of([text("a"), IMAGE], write_medium) == [*text_block("a"), {"name": "a.png"}]
    assert content_of([BLOCK], write_medium) == [copy_provider_block(BLOCK)]
    assert content_of([text("a"), IMAGE], write_medium, lambda words: [words]) == [
        *("a", {"name": "a.png"}),
    ]


def test_native_block_is_written_once_for_its_items() -> None:
    value: JsonObject = {"type": "pair"}
    pair = NativeBlock("d", value, 2, (), node=value)
    other = NativeBlock("d", value, 1, (), node={"type": "other"})
    unwritten = NativeBlock("d", value, 1, ())
    items: list[ResolvedItem] = [
        text("a", pair),
        text("b", pair),
        text("c", other),
        text("d", pair),
        text("e", unwritten),
        DataItem("/0", 1),
    ]
    assert [native_block_of(item) for item in items] == [pair, pair, other, pair, None, None]
    assert blocks_of(items, write_medium) == [
        value,
        {"type": "other"},
        value,
        *text_block("e"),
        *text_block("1"),
    ]


def leaf(size_bytes: int = 3, digest: str = "d4" * 32, head: str = "") -> Base64Leaf:
    return Base64Leaf(original(medium(size_bytes=size_bytes, source=StoredBytes(ID, digest))), head)


def test_digest_of_a_node_identifies_its_values_and_the_bytes_of_its_media() -> None:
    inline = Base64Leaf(original(replace(medium(), source=InlineBytes(b"a"))))
    other_inline = Base64Leaf(original(replace(medium(), source=InlineBytes(b"b"))))
    nodes: list[Node] = [
        {"a": leaf()},
        {"a": leaf(size_bytes=4)},
        {"a": leaf(digest="e5" * 32)},
        {"a": leaf(head="data:")},
        {"a": inline},
        {"a": other_inline},
        {"a": Base64Leaf(original(replace(medium(), source=Address(URL))))},
        {"a": JsonLeaf([1])},
        {"a": JsonLeaf([1.0])},
        {"a": "ä"},
        {"a": "\ud800"},
        {"a": JsonLeaf([Decimal("1.10")])},
        {"a": JsonLeaf([Decimal("1.1")])},
    ]
    digests = [node_digest(node) for node in nodes]
    assert len(set(digests)) == len(nodes)
    assert [node_digest(node) for node in nodes] == digests
    assert node_digest({"a": leaf()}) == node_digest({"a": leaf()})


def test_long_lists_are_encoded_in_batches() -> None:
    documents: list[Node] = [
        *({}, [], "a", 1),
        {"a": [*range(64)]},
        {"a": [*range(65)], "b": [*range(128)]},
        {"ü": 1, "c": [*range(129)], "d": {}},
        {"a": [{"b": [*range(200)]}] * 70},
    ]
    for document in documents:
        [text_of_document] = json_pieces(document).pieces
        assert (
            text_of_document
            == json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        )
