"""The headers of tus as text: what is read of them, and what is refused."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive, Scope, Send

from app.errors import MalformedRequestError
from app.http.tus import (
    ALGORITHMS,
    HEADERS,
    TusMiddleware,
    build_progress_headers,
    build_state_headers,
    parse_checksum,
    parse_metadata,
)
from app.models.upload import Checksum, ResumableUpload

UPLOAD = ResumableUpload(
    upload_id="u",
    length_bytes=10,
    received_bytes=4,
    metadata="a AAAA",
    filename=None,
    mime_type=None,
    created_at=datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC),
    expires_at=datetime(2026, 1, 3, 3, 4, 5, 678_901, tzinfo=UTC),
)
KEYS = st.text("".join(map(chr, range(0x21, 0x7F))), min_size=1, max_size=9).filter(
    lambda key: "," not in key
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("a", {"a": b""}),
        ("a ", {"a": b""}),
        ("a AAAA", {"a": bytes(3)}),
        ("a AA==,b,c /+8=", {"a": b"\0", "b": b"", "c": b"\xff\xef"}),
        ("a AAAA , b AAAA", {"a": bytes(3), "b": bytes(3)}),
    ],
)
def test_metadata_are_read(text: str, values: dict[str, bytes]) -> None:
    assert parse_metadata(text) == values


@given(st.dictionaries(KEYS, st.binary(max_size=30), max_size=5))
def test_metadata_are_read_as_they_were_written(values: dict[str, bytes]) -> None:
    pairs = [f"{key} {base64.b64encode(value).decode()}" for key, value in values.items()]
    assert parse_metadata(",".join(pairs)) == values


@pytest.mark.parametrize("read", [parse_metadata, parse_checksum])
@given(text=st.text(st.characters(max_codepoint=0xFF), max_size=60))
def test_any_text_is_read_or_refused(read: Callable[[str], object], text: str) -> None:
    try:
        found: object = read(text)
    except MalformedRequestError as exc:
        found = exc
    assert isinstance(found, dict | Checksum | MalformedRequestError)


@pytest.mark.parametrize(
    "text",
    [
        "a A",
        "a AA",
        "a AAAA AAAA",
        "a\tAAAA",
        "a -_-_",
        "a AAAA,,b",
        ",",
        "a,a",
        "\xe9",
        "a " * 4_000,
    ],
)
def test_metadata_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(MalformedRequestError):
        parse_metadata(text)


@pytest.mark.parametrize(("name", "size"), [("sha1", 20), ("sha256", 32), ("sha512", 64)])
def test_checksum_is_read(name: str, size: int) -> None:
    digest = bytes(range(size))
    read = parse_checksum(f"{name} {base64.b64encode(digest).decode()}")
    assert (read, name in ALGORITHMS.split(",")) == (Checksum(name, digest), True)  # type: ignore[arg-type]


def test_headers_say_how_far_an_upload_is() -> None:
    progress = {"Upload-Offset": "4", "Upload-Expires": "Sat, 03 Jan 2026 03:04:05 GMT"}
    assert build_progress_headers(UPLOAD) == progress
    state = build_state_headers(UPLOAD)
    assert state == {
        **progress,
        "Upload-Length": "10",
        "Upload-Metadata": "a AAAA",
        "Cache-Control": "no-store",
    }
    assert {*state} - {"Cache-Control"} <= {*HEADERS}


def asked(path: str, method: str, *headers: tuple[bytes, bytes]) -> tuple[str, list[bytes]]:
    """The method the application sees, and the names of the headers of its answer."""
    seen: list[str] = []
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["method"])
        await send({"type": "http.response.start", "status": 412, "headers": []})

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "path": path, "method": method, "headers": list(headers)}
    anyio.run(TusMiddleware(app), scope, receive, send)
    assert scope["method"] == method
    return seen[0], [name for name, _ in sent[0]["headers"]]


@pytest.mark.parametrize("path", ["/api/uploads", "/api/uploads/", "/api/uploads/u"])
def test_answers_about_uploads_say_the_version(path: str) -> None:
    override = (b"x-http-method-override", b" patch ")
    assert asked(path, "POST", override) == ("PATCH", [b"tus-resumable", b"tus-version"])
    assert asked(path, "HEAD")[0] == "HEAD"


@pytest.mark.parametrize("path", ["/api/uploads-x", "/api", "/api/resources/api/uploads", "/"])
def test_other_answers_and_methods_are_left_alone(path: str) -> None:
    assert asked(path, "POST", (b"x-http-method-override", b"DELETE")) == ("POST", [])
