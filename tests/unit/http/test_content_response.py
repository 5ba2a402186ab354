import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import SimpleNamespace

import anyio
import anyio.lowlevel
import pytest
from fastapi import FastAPI, Request
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message

from app.errors import PreconditionFailedError, RangeNotSatisfiableError, StoreUnavailableError
from app.http.content_response import ContentToSend, build_content_response
from app.http.problems import install_problem_handlers
from app.http.record_responses import build_record_response
from app.services.memory_budget.budget import MemoryBudget
from app.services.resources.content_sources import ContentSources
from app.wiring.services import Services

DATA = bytes(range(100))
DIGEST = hashlib.sha256(DATA).hexdigest()
ETAG = f'"sha256-{DIGEST}"'
VIDEO = ContentToSend(
    digest=DIGEST,
    size_bytes=len(DATA),
    mime_type="video/mp4",
    filename="demo.mp4",
    disposition="inline",
    created_at=datetime(2026, 3, 1, 12, 0, 0, 900_000, tzinfo=UTC),
)
# More than is sent at once.
LARGE = replace(VIDEO, size_bytes=(1 << 20) + 1)
LAST_MODIFIED = "Sun, 01 Mar 2026 12:00:00 GMT"
HEADERS = {
    "content-type": "video/mp4",
    "content-disposition": 'inline; filename="demo.mp4"',
    "etag": ETAG,
    "last-modified": LAST_MODIFIED,
    "cache-control": "private, max-age=31536000, immutable",
    "accept-ranges": "bytes",
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "repr-digest": "sha-256=:vOCv8Zz1qmp0aaMNYdBOQ3bku/Y4EFLunn8zklyVTVI=:",
    "content-length": "100",
}


@dataclass
class MemoryBlob:
    """Bytes in pieces of seven, and a record of what was opened and let go of."""

    data: bytes = DATA
    opened: list[tuple[int, int]] = field(default_factory=list)
    closed: int = 0

    async def open(self, start: int, end: int) -> AsyncIterator[bytes]:
        self.opened.append((start, end))
        return self._chunks(start, end)

    async def _chunks(self, start: int, end: int) -> AsyncIterator[bytes]:
        try:
            for position in range(start, end, 7):
                yield self.data[position : min(position + 7, end)]
        finally:
            await anyio.lowlevel.checkpoint()
            self.closed += 1


SERVICES = Services(
    (), {MemoryBudget: MemoryBudget(64 << 20), ContentSources: SimpleNamespace(files=object())}
)
"""The arguments of sending: a memory budget, and the source of the bytes."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


async def connected() -> Message:
    """The receiving side of a client that stays and says nothing more."""
    await anyio.sleep_forever()
    raise AssertionError


async def send_whole(app: ASGIApp, **request: object) -> Answer:
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    await app(http_scope() | request, connected, send)
    start, *rest = messages
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], headers, b"".join(message["body"] for message in rest))


def http_scope() -> dict[str, object]:
    # The version of the specification that uvicorn announces.
    asgi = {"version": "3.0", "spec_version": "2.3"}
    return {"type": "http", "asgi": asgi, "state": {"services": SERVICES}}


async def get(
    headers: Mapping[str, str], *, method: str = "GET", content: ContentToSend = VIDEO
) -> Answer:
    blob = MemoryBlob()
    response = build_content_response(headers, method, content, open_range=blob.open)
    answer = await send_whole(response)
    assert blob.closed == len(blob.opened)
    return answer


def partial(start: int, end: int) -> Answer:
    headers = HEADERS | {
        "content-range": f"bytes {start}-{end - 1}/100",
        "content-length": str(end - start),
    }
    return Answer(206, headers, DATA[start:end])


WHOLE = Answer(200, HEADERS, DATA)
UNCHANGED = Answer(304, {"etag": ETAG, "cache-control": HEADERS["cache-control"]}, b"")

ANSWERS = {
    "all": ({}, WHOLE),
    "range": ({"Range": "bytes=10-19"}, partial(10, 20)),
    "one of two satisfiable": ({"range": "bytes=0-1,500-600"}, partial(0, 2)),
    "ranges that merge": ({"range": "bytes=5-9,0-5"}, partial(0, 10)),
    "unknown unit": ({"range": "lines=1-2"}, WHOLE),
    "malformed range": ({"range": "bytes=x"}, WHOLE),
    "too many ranges": ({"range": "bytes=" + "0-0," * 17}, WHOLE),
    "if-range names it": ({"range": "bytes=0-1", "if-range": ETAG}, partial(0, 2)),
    "if-range names its date": ({"range": "bytes=0-1", "if-range": LAST_MODIFIED}, partial(0, 2)),
    "if-range names another": ({"range": "bytes=0-1", "if-range": '"x"'}, WHOLE),
    "if-range spares from 416": ({"range": "bytes=500-", "if-range": '"x"'}, WHOLE),
    "known": ({"if-none-match": ETAG}, UNCHANGED),
    "known comes before range": ({"if-none-match": ETAG, "range": "bytes=500-"}, UNCHANGED),
    "known by date": ({"if-modified-since": LAST_MODIFIED}, UNCHANGED),
    "not known": ({"if-none-match": '"x"', "if-modified-since": LAST_MODIFIED}, WHOLE),
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize(("headers", "answer"), ANSWERS.values(), ids=list(ANSWERS))
async def test_conditions_and_ranges_decide_the_answer(
    headers: dict[str, str], answer: Answer
) -> None:
    assert await get(headers) == answer


@pytest.mark.anyio
@pytest.mark.parametrize("range_header", [{}, {"range": "bytes=0-1"}, {"range": "bytes=500-"}])
async def test_head_has_the_headers_of_all_and_opens_nothing(range_header: dict[str, str]) -> None:
    blob = MemoryBlob()
    response = build_content_response(range_header, "HEAD", VIDEO, open_range=blob.open)
    assert await send_whole(response) == Answer(200, HEADERS, b"")
    assert blob.opened == []


@pytest.mark.anyio
async def test_head_of_what_the_caller_has_is_not_modified() -> None:
    assert await get({"if-none-match": ETAG}, method="HEAD") == UNCHANGED


@pytest.mark.anyio
async def test_a_list_in_several_lines_counts_as_one() -> None:
    headers = Headers(raw=[(b"if-none-match", b'"x"'), (b"if-none-match", ETAG.encode())])
    assert await get(headers) == UNCHANGED


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "headers",
    [
        {"if-match": '"x"', "if-none-match": ETAG, "range": "bytes=500-"},
        {"if-unmodified-since": "Sun, 01 Mar 2026 11:00:00 GMT"},
    ],
)
def test_a_failed_precondition_comes_before_everything(
    headers: dict[str, str], method: str
) -> None:
    with pytest.raises(PreconditionFailedError):
        build_content_response(headers, method, VIDEO, open_range=MemoryBlob().open)


def test_a_range_outside_is_an_error_with_the_size() -> None:
    with pytest.raises(RangeNotSatisfiableError) as caught:
        build_content_response({"range": "bytes=100-"}, "GET", VIDEO, open_range=MemoryBlob().open)
    assert caught.value.size_bytes == 100


PRESENTED = [
    ("text/html", "text/html", "attachment"),
    ("image/svg+xml", "image/svg+xml", "attachment"),
    ("application/pdf", "application/pdf", "attachment"),
    ("text/plain", "text/plain; charset=utf-8", "inline"),
    ("image/png", "image/png", "inline"),
    ("image/png\r\nX-Evil: 1", "application/octet-stream", "attachment"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("mime_type", "content_type", "disposition"), PRESENTED)
async def test_the_type_decides_how_content_is_presented(
    mime_type: str, content_type: str, disposition: str
) -> None:
    answer = await get({}, content=replace(VIDEO, mime_type=mime_type, filename=None))
    expected = {"content-type": content_type, "content-disposition": disposition}
    assert answer == Answer(200, HEADERS | expected, DATA)


@pytest.mark.anyio
async def test_a_download_is_an_attachment_of_any_type() -> None:
    answer = await get({}, content=replace(VIDEO, disposition="attachment", filename="\u00e9.mp4"))
    assert answer.headers["content-disposition"] == (
        "attachment; filename=\"e.mp4\"; filename*=UTF-8''%C3%A9.mp4"
    )


@pytest.mark.anyio
async def test_the_digest_is_left_out_where_only_others_are_wanted() -> None:
    answer = await get({"want-repr-digest": "sha-512=3"})
    assert answer.headers == {k: v for k, v in HEADERS.items() if k != "repr-digest"}


@pytest.mark.anyio
async def test_the_operator_decides_who_may_embed() -> None:
    policy = "cross-origin-resource-policy"
    response = build_content_response(
        {}, "HEAD", VIDEO, open_range=MemoryBlob().open, resource_policy="cross-origin"
    )
    assert (await send_whole(response)).headers == HEADERS | {policy: "cross-origin"}


@pytest.mark.anyio
async def test_several_ranges_come_as_parts_in_the_order_asked() -> None:
    answer = await get({"range": "bytes=50-59,0-9"})
    boundary = answer.headers["content-type"].removeprefix("multipart/byteranges; boundary=")
    head = f"--{boundary}\r\nContent-Type: video/mp4\r\nContent-Range: bytes"
    expected_body = f"{head} 50-59/100\r\n\r\n".encode() + DATA[50:60]
    expected_body += f"\r\n{head} 0-9/100\r\n\r\n".encode() + DATA[0:10]
    expected_body += f"\r\n--{boundary}--\r\n".encode()
    changed = {
        "content-type": f"multipart/byteranges; boundary={boundary}",
        "content-length": str(len(expected_body)),
    }
    assert answer == Answer(206, HEADERS | changed, expected_body)
    assert len(boundary) == 32


SPANS = st.lists(st.tuples(st.integers(0, 120), st.integers(0, 60)), min_size=1, max_size=16)


def slices_of(answer: Answer) -> list[tuple[str, bytes]]:
    if "content-range" in answer.headers:
        return [(answer.headers["content-range"], answer.body)]
    boundary = answer.headers["content-type"].partition("boundary=")[2]
    pieces = answer.body.split(f"--{boundary}".encode())
    assert (pieces[0], pieces[-1]) == (b"", b"--\r\n")
    parts = [piece.removeprefix(b"\r\n").partition(b"\r\n\r\n") for piece in pieces[1:-1]]
    return [
        (head.decode().partition("Content-Range: ")[2], body.removesuffix(b"\r\n"))
        for head, _, body in parts
    ]


@given(SPANS.filter(lambda spans: any(start < 100 for start, _ in spans)))
def test_the_bytes_of_every_partial_answer_are_slices_and_its_length_is_exact(
    spans: list[tuple[int, int]],
) -> None:
    header = "bytes=" + ",".join(f"{start}-{start + more}" for start, more in spans)
    answer = anyio.run(get, {"range": header})
    assert answer.status == 206
    assert answer.headers["content-length"] == str(len(answer.body))
    sent: set[int] = set()
    for content_range, body in slices_of(answer):
        first, last = map(int, content_range[len("bytes ") : -len("/100")].split("-"))
        assert body == DATA[first : last + 1]
        sent.update(range(first, last + 1))
    asked = {n for start, more in spans for n in range(start, min(start + more + 1, 100))}
    assert sent == asked


@pytest.mark.anyio
async def test_an_empty_content_is_sent_as_nothing() -> None:
    blob = MemoryBlob(b"")
    response = build_content_response(
        {"range": "bytes=-5"}, "GET", replace(VIDEO, size_bytes=0), open_range=blob.open
    )
    assert await send_whole(response) == Answer(200, HEADERS | {"content-length": "0"}, b"")


@pytest.mark.anyio
async def test_missing_bytes_become_a_problem_and_not_a_torn_body() -> None:
    async def open_range(start: int, end: int) -> AsyncIterator[bytes]:
        raise StoreUnavailableError("blob store")

    app = FastAPI()
    install_problem_handlers(app)

    @app.get("/content")
    async def content(request: Request) -> Response:
        return build_content_response(request.headers, "GET", VIDEO, open_range=open_range)

    answer = await send_whole(app, method="GET", path="/content", headers=[], query_string=b"")
    assert answer.status == 503
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.anyio
async def test_a_client_that_goes_away_closes_the_stream() -> None:
    blob = MemoryBlob()
    gone = anyio.Event()

    async def receive() -> Message:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            gone.set()
            await anyio.sleep_forever()

    response = build_content_response({}, "GET", LARGE, open_range=blob.open)
    with anyio.fail_after(5):
        await response(http_scope(), receive, send)
    assert (blob.opened, blob.closed) == ([(0, LARGE.size_bytes)], 1)


@pytest.mark.anyio
async def test_a_failing_connection_closes_the_stream() -> None:
    blob = MemoryBlob()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            raise ConnectionResetError

    for content in (VIDEO, LARGE):
        response = build_content_response({}, "GET", content, open_range=blob.open)
        with pytest.raises(ConnectionResetError):
            await response(http_scope(), connected, send)
    assert (len(blob.opened), blob.closed) == (2, 2)


def asking(method: str, headers: Mapping[str, str] | None = None) -> Request:
    return Request({"type": "http", "method": method, "headers": Headers(headers or {}).raw})


RECORD = b'{"id":"r1"}'
RECORD_HEADERS = {
    "content-type": "application/json",
    "etag": '"v1"',
    "cache-control": "no-cache",
    "content-length": "11",
}
RECORD_UNCHANGED = Answer(304, {"etag": '"v1"', "cache-control": "no-cache"}, b"")

RECORD_ANSWERS = {
    "read": ("GET", {}, Answer(200, RECORD_HEADERS, RECORD)),
    "head": ("HEAD", {}, Answer(200, RECORD_HEADERS, b"")),
    "known": ("GET", {"if-none-match": 'W/"v1"'}, RECORD_UNCHANGED),
    "head of the known": ("HEAD", {"if-none-match": "*"}, RECORD_UNCHANGED),
    "a range is ignored": ("GET", {"range": "bytes=0-1"}, Answer(200, RECORD_HEADERS, RECORD)),
    "after a write": ("PUT", {"if-match": '"v0"'}, Answer(200, RECORD_HEADERS, RECORD)),
}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("method", "headers", "answer"), RECORD_ANSWERS.values(), ids=list(RECORD_ANSWERS)
)
async def test_a_record_is_sent_as_it_is_stored_or_not_at_all(
    method: str, headers: dict[str, str], answer: Answer
) -> None:
    assert (
        await send_whole(build_record_response(asking(method, headers), RECORD, etag='"v1"'))
        == answer
    )


@pytest.mark.anyio
async def test_a_new_record_says_where_it_is() -> None:
    response = build_record_response(
        asking("POST"), RECORD, etag='"v1"', status=201, headers={"Location": "/api/records/r1"}
    )
    expected = RECORD_HEADERS | {"location": "/api/records/r1"}
    assert await send_whole(response) == Answer(201, expected, RECORD)


@pytest.mark.anyio
async def test_a_record_without_a_tag_gets_one_of_its_bytes() -> None:
    answer = await send_whole(build_record_response(asking("GET"), RECORD))
    tag = f'"sha256-{hashlib.sha256(RECORD).hexdigest()}"'
    assert answer == Answer(200, RECORD_HEADERS | {"etag": tag}, RECORD)


@pytest.mark.anyio
async def test_a_known_record_keeps_what_caches_need() -> None:
    kept = {"Vary": "Accept", "Link": "</next>"}
    response = build_record_response(
        asking("GET", {"if-none-match": "*"}), RECORD, etag='"v1"', headers=kept
    )
    expected = RECORD_UNCHANGED.headers | {"vary": "Accept"}
    assert await send_whole(response) == Answer(304, expected, b"")


def test_a_record_that_is_not_the_wanted_version_is_not_sent() -> None:
    with pytest.raises(PreconditionFailedError):
        build_record_response(asking("GET", {"if-match": '"v0"'}), RECORD, etag='"v1"')
