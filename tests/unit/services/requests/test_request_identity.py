"""A request is known by its JSON: however it is written, below a mebibyte and above."""

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from app.services.requests.request_identity import RequestIdentity, identity_of_body
from app.services.requests.streamed_bodies import InMemoryDraft
from app.services.tool_results.tool_result_requests import (
    ParsedToolResult,
    normalize_streamed,
    read_tool_result_request,
)
from app.stores.blobs.filesystem import FilesystemBlobStore
from app.stores.blobs.store import BlobDraft
from pagefault_dialects.streams.json_digests import NAMED_CHARS
from pagefault_dialects.streams.json_stream import JsonStream
from tests.unit.services.requests.received import Outcome, outcome_of

MIB = 1024 * 1024
BINARY = hashlib.shake_128(b"medium").digest(MIB)


def body(**members: object) -> bytes:
    return json.dumps({"toolName": "t", "toolCallId": "c", **members}).encode()


def identity(text: bytes, *, piece_bytes: int = 256 * 1024, long_chars: int = NAMED_CHARS) -> str:
    """Return the identity of a body that arrives in pieces; larger ones are streamed."""
    outcome = outcome_of([text], long_chars=long_chars, piece_bytes=piece_bytes)
    assert isinstance(outcome, Outcome)
    return outcome.digest


def identity_in_one_piece(text: bytes) -> RequestIdentity:
    """Return the identity of a body whose media are in memory."""
    blobs = FilesystemBlobStore(Path("nothing-is-stored"))

    def new_draft() -> BlobDraft:
        return InMemoryDraft(blobs, "p", limit_bytes=MIB)

    json_stream = JsonStream(new_draft, lambda _: None)
    json_stream.feed_whole(text)
    json_stream.finish()
    assert json_stream.long_strings

    def read(body: bytes) -> ParsedToolResult:
        return read_tool_result_request(body, max_depth=1_000, max_nodes=1_000_000)

    return normalize_streamed(json_stream, read, lambda _: None).identity


@pytest.mark.slow
@pytest.mark.parametrize("piece_bytes", [256 * 1024, 4 * MIB], ids=["streamed", "in one piece"])
def test_media_above_a_mebibyte_are_known_by_their_text(piece_bytes: int) -> None:
    medium = base64.b64encode(BINARY).decode()
    result = {"b": {"type": "image", "data": medium, "mimeType": "image/png"}, "a": medium[:-4]}
    as_sent = body(result=result)
    expected = identity(as_sent, piece_bytes=4 * MIB, long_chars=4 * MIB)
    value = json.loads(as_sent)
    reordered = json.dumps(
        {key: value[key] for key in sorted(value)}, indent=1, sort_keys=True
    ).replace("/", "\\/")
    mixed = as_sent.replace(b"/", b"\\/", 5)
    for text in (as_sent, reordered.encode(), mixed, as_sent + b"\n"):
        assert identity(text, piece_bytes=piece_bytes) == expected
    changed = as_sent.replace(medium[40:44].encode(), b"AAAA", 1)
    assert identity(changed, piece_bytes=piece_bytes) != expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "spell",
    [
        lambda text: text.replace("+", "-").replace("/", "_"),
        lambda text: text.rstrip("="),
        lambda text: "\n".join(text[start : start + 76] for start in range(0, len(text), 76)),
        lambda text: f"data:image/png;base64,{text}",
    ],
    ids=["url-safe", "unpadded", "lines", "data URI"],
)
def test_base64_in_another_spelling_is_another_value(spell: Callable[[str], str]) -> None:
    text = base64.b64encode(BINARY[: MIB - 2]).decode()
    plain, spelled = body(result=text), body(result=spell(text))
    whole = [identity(item, piece_bytes=4 * MIB, long_chars=4 * MIB) for item in (plain, spelled)]
    assert [identity(item, piece_bytes=4 * MIB) for item in (plain, spelled)] == whole
    assert [identity(item) for item in (plain, spelled)] == whole
    assert len(set(whole)) == 2


def test_digest_of_bytes_that_was_stored_is_still_known() -> None:
    text = body(result=1)
    known = identity_of_body(json.loads(text), text)
    assert known.matches(hashlib.sha256(text).hexdigest())
    assert known.matches(known.digest)
    assert not known.matches(hashlib.sha256(text + b"\n").hexdigest())
    assert not RequestIdentity(known.digest).matches("")


def test_digest_of_bytes_of_a_body_in_one_piece_is_that_of_all_of_them() -> None:
    medium = base64.b64encode(BINARY[:NAMED_CHARS]).decode()
    text = body(result={"image": f"data:image/png;base64,{medium}", "text": "a" * NAMED_CHARS})
    for spelled in (text, text.replace(b"/", b"\\/"), text.replace(b"=", b"\\u003d")):
        known = identity_in_one_piece(spelled)
        assert known.matches(hashlib.sha256(spelled).hexdigest())
        assert not known.matches(hashlib.sha256(spelled + b" ").hexdigest())
        assert not known.matches(f"json:{hashlib.sha256(spelled).hexdigest()}")
