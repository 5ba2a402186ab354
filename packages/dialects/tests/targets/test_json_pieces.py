"""The JSON text of a rendering: joined from pieces, with a digest that is known before."""

import json
from decimal import Decimal

import pybase64
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.dialects.tests.targets.composed import medium
from packages.dialects.tests.targets.resolved_turns import DEEP_LEVELS, DEEP_TEXT, deep
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.conversation import InlineBytes, MediaItem, StoredBytes
from pagefault_dialects.model.render_options import JsonPiece, MediaPiece, Rendering
from pagefault_dialects.model.resource import MediaHints
from pagefault_dialects.targets.base64_leaves import Base64Leaf, JsonLeaf, Node, json_pieces

HEAD = "data:image/png;base64,"


def leaf(data: bytes, head: str = "", *, is_stored: bool = True, digest: str = "") -> Base64Leaf:
    source = StoredBytes("ab" * 16, digest or data.hex()) if is_stored else InlineBytes(data)
    attachment = MediaItem(medium(), source, "image", "image/png", len(data), MediaHints())
    return Base64Leaf(attachment, head)


def joined(rendering: Rendering) -> bytes:
    """Return the text as it is sent; the bytes of a stored medium are its digest."""
    return b"".join(map(sent, rendering.pieces))


def sent(piece: JsonPiece) -> bytes:
    if isinstance(piece, bytes):
        return piece
    assert isinstance(piece, MediaPiece)
    return pybase64.b64encode(bytes.fromhex(piece.digest))


def plain(node: Node) -> JsonValue:
    """Return the document with its media in place."""
    if isinstance(node, dict):
        return {key: plain(member) for key, member in node.items()}
    if isinstance(node, list):
        return [plain(member) for member in node]
    if isinstance(node, Base64Leaf):
        source = node.attachment.source
        data = source.data if isinstance(source, InlineBytes) else bytes.fromhex(source.digest)  # type: ignore[union-attr]
        return node.head + pybase64.b64encode(data).decode()
    return node.value if isinstance(node, JsonLeaf) else node


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | _texts
    | st.floats(allow_nan=False, allow_infinity=False)
)
_values = st.recursive(
    _scalars | st.decimals(allow_nan=False, allow_infinity=False, places=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=5,
)
_leaves = st.builds(
    leaf, st.binary(max_size=9), st.sampled_from(["", HEAD]), is_stored=st.booleans()
)
_documents = st.recursive(
    _scalars | _leaves | st.builds(JsonLeaf, _values),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=10,
)


@given(_documents)
def test_joined_pieces_are_the_json_of_the_document(document: Node) -> None:
    rendering = json_pieces(document)
    text = joined(rendering)
    assert text == json_text(plain(document)).encode()
    assert rendering.size_bytes == len(text)


@given(_documents, _documents)
def test_digest_identifies_the_bytes(first: Node, second: Node) -> None:
    one, other = json_pieces(first), json_pieces(second)
    assert (one.digest == other.digest) == (_known(one) == _known(other))
    assert one.digest == json_pieces(first).digest


def _known(rendering: Rendering) -> list[tuple[bool, bytes]]:
    return [(isinstance(piece, bytes), sent(piece)) for piece in rendering.pieces]


@pytest.mark.parametrize(
    "other",
    [
        {"a": [leaf(b"12"), "x"], "b": 2},
        {"a": [leaf(b"13"), "x"], "b": 1},
        {"a": [leaf(b"12", HEAD), "x"], "b": 1},
        {"a": [leaf(b"12"), leaf(b"12"), "x"], "b": 1},
        {"a": [leaf(b"12"), "y"], "b": 1},
        {"a": [b"12".hex(), "x"], "b": 1},
        {"b": 1, "a": [leaf(b"12"), "x"]},
    ],
)
def test_digest_changes_with_every_option(other: Node) -> None:
    assert json_pieces({"a": [leaf(b"12"), "x"], "b": 1}).digest != json_pieces(other).digest


def test_stored_media_are_places_and_small_ones_are_text() -> None:
    apart = leaf(b"apart", HEAD)
    rendering = json_pieces({"a": apart, "b": leaf(b"in", is_stored=False)})
    assert list(rendering.pieces) == [
        f'{{"a":"{HEAD}'.encode(),
        MediaPiece(b"apart".hex(), 5),
        b'","b":"aW4="}',
    ]


@pytest.mark.parametrize("other_value", [None, Decimal("1.10")])
def test_same_medium_twice_is_two_places(other_value: object) -> None:
    rendering = json_pieces([leaf(b"a"), leaf(b"a"), JsonLeaf(other_value)])
    assert joined(rendering) == f'["YQ==","YQ==",{json_text(other_value)}]'.encode()


def test_values_of_records_may_be_nested_as_deep_as_they_are_stored() -> None:
    assert DEEP_TEXT.count("[") == DEEP_LEVELS
    rendering = json_pieces({"a": [JsonLeaf(deep()), leaf(b"a")]})
    assert joined(rendering) == f'{{"a":[{DEEP_TEXT},"YQ=="]}}'.encode()


def test_numbers_keep_their_size() -> None:
    digits = "9" * 5_000
    rendering = json_pieces([JsonLeaf({"n": Decimal(digits), "m": 2**70}), leaf(b"a")])
    assert joined(rendering) == f'[{{"n":{digits},"m":{2**70}}},"YQ=="]'.encode()


def test_lone_surrogates_are_replaced_and_reported() -> None:
    rendering = json_pieces([JsonLeaf({"\udc80": "\udc800"}), leaf(b"a")])
    assert json.loads(joined(rendering)) == [{"\ufffd": "\ufffd0"}, "YQ=="]


def test_texts_that_look_like_places_are_texts() -> None:
    words = ["\x80", "\ufffd0", "YQ==", '"', "\\udc800"]
    rendering = json_pieces([*words, leaf(b"a")])
    assert json.loads(joined(rendering)) == [*words, "YQ=="]
