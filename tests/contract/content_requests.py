"""Requests for stored content, and what every way of sending it has to answer to them."""

import base64
import hashlib
from dataclasses import dataclass

import httpx

TEXT = bytes(range(32, 127)) * 11
SIZE = len(TEXT)
ETAG = f'"sha256-{hashlib.sha256(TEXT).hexdigest()}"'
OTHER = f'"sha256-{"0" * 64}"'
PAST = "Thu, 01 Jan 2015 00:00:00 GMT"
FUTURE = "Fri, 01 Jan 2100 00:00:00 GMT"
SAVED = "<the stored Last-Modified>"
WHOLE = (0, SIZE)

# What is asked, and what comes: the status and, where bytes come, which.
Row = tuple[dict[str, str], int, tuple[int, int] | None]
ROWS: list[Row] = [
    ({}, 200, WHOLE),
    ({"Range": "bytes=0-0"}, 206, (0, 1)),
    ({"Range": "bytes=0-9"}, 206, (0, 10)),
    ({"Range": "BYTES=5-"}, 206, (5, SIZE)),
    ({"Range": "bytes=-10"}, 206, (SIZE - 10, SIZE)),
    ({"Range": f"bytes=-{SIZE * 2}"}, 206, WHOLE),
    ({"Range": f"bytes=10-{'9' * 5_000}"}, 206, (10, SIZE)),
    ({"Range": f"bytes=0-1,{SIZE}-{SIZE + 9}"}, 206, (0, 2)),
    ({"Range": "bytes=0-4,3-9"}, 206, (0, 10)),
    ({"Range": "bytes=5-9,0-4"}, 206, (0, 10)),
    ({"Range": "bytes= 0-1 , ,"}, 206, (0, 2)),
    ({"Range": f"bytes={SIZE}-"}, 416, None),
    ({"Range": "bytes=-0"}, 416, None),
    ({"Range": "items=0-1"}, 200, WHOLE),
    ({"Range": "bytes=9-5"}, 200, WHOLE),
    ({"Range": "bytes=a-b"}, 200, WHOLE),
    ({"Range": "bytes=-"}, 200, WHOLE),
    ({"Range": "bytes="}, 200, WHOLE),
    ({"Range": "bytes 0-1"}, 200, WHOLE),
    ({"Range": "bytes=" + ",".join(f"{n * 4}-{n * 4}" for n in range(17))}, 200, WHOLE),
    ({"If-None-Match": ETAG}, 304, None),
    ({"If-None-Match": f"W/{ETAG}"}, 304, None),
    ({"If-None-Match": f"{OTHER}, {ETAG}"}, 304, None),
    ({"If-None-Match": "*"}, 304, None),
    ({"If-None-Match": OTHER}, 200, WHOLE),
    ({"If-None-Match": "no tag"}, 200, WHOLE),
    ({"If-Match": ETAG}, 200, WHOLE),
    ({"If-Match": "*"}, 200, WHOLE),
    ({"If-Match": OTHER}, 412, None),
    ({"If-Match": f"W/{ETAG}"}, 412, None),
    ({"If-Unmodified-Since": SAVED}, 200, WHOLE),
    ({"If-Unmodified-Since": PAST}, 412, None),
    ({"If-Unmodified-Since": "yesterday"}, 200, WHOLE),
    ({"If-Modified-Since": SAVED}, 304, None),
    ({"If-Modified-Since": FUTURE}, 304, None),
    ({"If-Modified-Since": PAST}, 200, WHOLE),
    ({"If-Range": ETAG, "Range": "bytes=0-1"}, 206, (0, 2)),
    ({"If-Range": SAVED, "Range": "bytes=0-1"}, 206, (0, 2)),
    ({"If-Range": OTHER, "Range": "bytes=0-1"}, 200, WHOLE),
    ({"If-Range": f"W/{ETAG}", "Range": "bytes=0-1"}, 200, WHOLE),
    ({"If-Range": FUTURE, "Range": "bytes=0-1"}, 200, WHOLE),
    ({"If-Range": OTHER, "Range": f"bytes={SIZE}-"}, 200, WHOLE),
    # The order of RFC 9110 §13.2.2.
    ({"If-Match": OTHER, "If-None-Match": ETAG}, 412, None),
    ({"If-Match": ETAG, "If-Unmodified-Since": PAST}, 200, WHOLE),
    ({"If-None-Match": OTHER, "If-Modified-Since": FUTURE}, 200, WHOLE),
    ({"If-None-Match": ETAG, "Range": f"bytes={SIZE}-"}, 304, None),
    ({"If-Match": OTHER, "Range": f"bytes={SIZE}-"}, 412, None),
    ({"If-Match": ETAG, "If-None-Match": OTHER, "Range": "bytes=0-1"}, 206, (0, 2)),
]
ROW_IDS = [",".join(f"{k}:{v[:24]}" for k, v in asked.items()) or "-" for asked, *_ in ROWS]


@dataclass(frozen=True)
class Stored:
    """A stored text, and its content's path."""

    client: httpx.Client
    path: str
    last_modified: str

    def ask(self, method: str, asked: dict[str, str]) -> httpx.Response:
        headers = {k: self.last_modified if v == SAVED else v for k, v in asked.items()}
        return self.client.request(method, self.path, headers=headers)


def upload(client: httpx.Client, content: bytes, mime_type: str, filename: str | None) -> str:
    """The path of the content of a new resource."""
    created = client.post(
        "/api/resources",
        content=content,
        params={"filename": filename} if filename else {},
        headers={"Content-Type": mime_type},
    )
    assert created.status_code == 201
    return f"{created.headers['location']}/content"


def stored_text(client: httpx.Client) -> Stored:
    """`TEXT` as a resource of the client's project."""
    path = upload(client, TEXT, "text/plain", "a.txt")
    return Stored(client, path, client.head(path).headers["last-modified"])


def expected_headers(stored: Stored, length: int) -> dict[str, str]:
    """The headers of the text, or of so many bytes of it."""
    digest = base64.b64encode(hashlib.sha256(TEXT).digest()).decode()
    return {
        "content-type": "text/plain; charset=utf-8",
        "content-length": str(length),
        "content-disposition": 'inline; filename="a.txt"',
        "etag": ETAG,
        "last-modified": stored.last_modified,
        "cache-control": "private, max-age=31536000, immutable",
        "accept-ranges": "bytes",
        "repr-digest": f"sha-256=:{digest}:",
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox; default-src 'none'",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
    }


def content_headers(answer: httpx.Response) -> dict[str, str]:
    """The headers of an answer that say something about the content."""
    general = ("date", "server", "connection", "x-request-id")
    return {name: value for name, value in answer.headers.items() if name not in general}


def check_answer(stored: Stored, row: Row) -> None:
    """Ask as the row says, and compare what comes."""
    asked, status, span = row
    answer = stored.ask("GET", asked)
    assert answer.status_code == status
    if span is None:
        assert answer.headers.get("content-range") == (f"bytes */{SIZE}" if status == 416 else None)
        return
    start, end = span
    headers = expected_headers(stored, end - start)
    if status == 206:
        headers["content-range"] = f"bytes {start}-{end - 1}/{SIZE}"
    assert answer.content == TEXT[start:end]
    assert content_headers(answer) == headers
