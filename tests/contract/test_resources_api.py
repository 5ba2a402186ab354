"""`/api/resources` over HTTP: uploads, descriptors, deletes."""

import base64
import hashlib
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from app.models.limits import Limits
from tests.contract.page_requests import data_uri
from tests.contract.upload_requests import begin, pair, send
from tests.kit.media import jpeg, mp4, pdf, png, wav
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

ROUTE = "/api/resources"
LIMIT_BYTES = 20_000
LARGE = random.Random(7).randbytes(64 * 1024 * 1024)  # noqa: S311 - only to tell slices apart
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
HTML = b"<!doctype html><script>alert(1)</script>"
ELF = b"\x7fELF\x02\x01\x01" + bytes(2_000)
LONG_HTML = HTML + b" " * 2_000
HOSTILE_NAMES = (
    "../../etc/passwd",
    "..\\..\\boot.ini",
    "/",
    "..",
    ".",
    " ",
    "",
    "a\r\nSet-Cookie: x=1.png",
    "a\x00b.png",
    "a\x1b[31m.png",
    "\u202egnp.exe",
    "\u200b\u2066.png",
    "CON",
    "nul.txt",
    'quote".png',
    "back\\slash.png",
    "semi;colon.png",
    "percent%0d%0a.png",
    "\u20ac\u00fc\U0001f600.png",
    "x" * 1_000 + ".png",
    "\u20ac" * 300 + ".png",
    "e\u0301" * 50,
    "-rf",
    "=?utf-8?b?YQ==?=",
)
FIELD = b'\r\n--b\r\nContent-Disposition: form-data; name="f"\r\n\r\ny'
FORM_FILE = b'\r\n--b\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\n1'


def upload(
    client: httpx.Client,
    content: bytes,
    *,
    headers: dict[str, str] | dict[bytes, bytes] | None = None,
    params: dict[str, str] | None = None,
) -> httpx.Response:
    return client.post(ROUTE, content=content, headers=headers, params=params)


def content_path(created: httpx.Response) -> str:
    return f"{created.headers['location']}/content"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def repr_digest(content: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"


def listed(client: httpx.Client) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = client.get(ROUTE).json()["items"]
    return items


SMALL_LIMITS = Limits(medium_bytes=LIMIT_BYTES, body_bytes=10 * LIMIT_BYTES)


def test_upload_is_described_and_read_back(client: httpx.Client) -> None:
    created = upload(client, png(), params={"filename": "a.png"})
    resource = created.json()
    assert resource == {
        "uri": resource["uri"],
        "kind": "image",
        "mimeType": "image/png",
        "filename": "a.png",
        "size": len(png()),
        "digest": f"sha-256:{sha256(png())}",
        "width": 64,
        "height": 48,
        "createdAt": resource["createdAt"],
    }
    assert created.status_code == 201
    assert created.headers["location"] == f"{ROUTE}/{resource['uri'].removeprefix('blob:')}"
    assert client.get(content_path(created)).content == png()
    assert listed(client) == [resource]


@pytest.mark.parametrize(
    ("content", "kind", "hints"),
    [
        (jpeg(), "image", {"width": 64, "height": 48}),
        (wav(), "audio", {"mediaKind": "audio", "durationSeconds": 1.0}),
        (mp4(), "video", {"mediaKind": "video", "durationSeconds": 1.0}),
        (pdf(), "binary", {"mediaKind": "binary"}),
    ],
    ids=["jpeg", "wav", "mp4", "pdf"],
)
def test_upload_has_kind_and_hints(
    client: httpx.Client, content: bytes, kind: str, hints: dict[str, Any]
) -> None:
    resource = upload(client, content).json()
    general = ("uri", "kind", "mimeType", "size", "digest", "createdAt")
    assert resource["kind"] == kind
    assert {key: value for key, value in resource.items() if key not in general} == hints


@pytest.mark.parametrize(
    ("header", "query", "name"),
    [
        (None, None, None),
        (None, "q.png", "q.png"),
        ('attachment; filename="h.png"', None, "h.png"),
        ("attachment; filename=h.png", None, "h.png"),
        ("attachment; filename*=UTF-8''%e2%82%ac%20rates.png", None, "\u20ac rates.png"),
        ("attachment; filename=\"x.png\"; filename*=UTF-8''%c3%a9.png", None, "\u00e9.png"),
        ('attachment; filename="\u00e9.png"', None, "\u00e9.png"),
        ('attachment; filename="h.png"', "q.png", "q.png"),
        ("attachment", None, None),
        (None, "dir/../q.png", "q.png"),
        (None, "C:\\Users\\me\\q.png", "q.png"),
    ],
)
def test_name_comes_from_query_or_disposition(
    client: httpx.Client, header: str | None, query: str | None, name: str | None
) -> None:
    headers = {b"Content-Disposition": header.encode()} if header else {}
    params = {"filename": query} if query else {}
    answer = upload(client, png(), headers=headers, params=params)
    assert (answer.status_code, answer.json().get("filename")) == (201, name)


def test_form_with_one_file_is_that_file(client: httpx.Client) -> None:
    form = {"note": "kept nowhere"}
    created = client.post(ROUTE, data=form, files={"file": ("\u00e9.png", png(), "image/png")})
    assert (created.status_code, created.json()["filename"]) == (201, "\u00e9.png")
    assert client.get(content_path(created)).content == png()
    raw = upload(client, png(), params={"filename": "\u00e9.png"})
    assert (raw.status_code, raw.content) == (200, created.content)


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A form has one file, and the number and size of its other parts are limited",
    kept_by="app/http/form_files.py",
    tried="11 forms; at most 100 parts and 1 MiB beside the file",
)
@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"", "multipart/form-data", 400),
        (b"", "multipart/form-data; boundary=b", 422),
        (b"no form", "multipart/form-data; boundary=b", 400),
        (b"--b\r\n\r\n--b--\r\n", "multipart/form-data; boundary=b", 422),
        (
            b'--b\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\ncut',
            "multipart/form-data; boundary=b",
            400,
        ),
        (
            b'--b\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\n1\r\n' * 2
            + b"--b--\r\n",
            "multipart/form-data; boundary=b",
            422,
        ),
        (b"--b\r\nX: " + b"y" * 40_000, "multipart/form-data; boundary=b", 400),
        (b"", f"multipart/form-data; boundary={'b' * 300}", 400),
        (FIELD + FIELD * 100, "multipart/form-data; boundary=b", 413),
        (FORM_FILE + FIELD * 100, "multipart/form-data; boundary=b", 413),
        (FIELD + b"y" * 1024 * 1024 + FORM_FILE, "multipart/form-data; boundary=b", 413),
    ],
    ids=[
        "no boundary",
        "empty",
        "not a form",
        "no file",
        "cut",
        "two files",
        "headers",
        "boundary",
        "many fields",
        "many fields behind the file",
        "large field",
    ],
)
def test_form_that_is_not_one_file_leaves_nothing(
    client: httpx.Client, body: bytes, content_type: str, status: int
) -> None:
    answer = upload(client, body, headers={"Content-Type": content_type})
    assert answer.status_code == status
    assert listed(client) == []


@pytest.mark.engines("embedded", "server")
def test_same_file_again_is_the_same_resource(client: httpx.Client) -> None:
    first, again = (upload(client, png(), params={"filename": "a.png"}) for _ in range(2))
    other = upload(client, png(), params={"filename": "b.png"})
    assert (first.status_code, again.status_code, other.status_code) == (201, 200, 201)
    assert again.content == first.content
    assert other.json()["uri"] != first.json()["uri"]
    assert other.json()["digest"] == first.json()["digest"]


@pytest.mark.engines("embedded", "server")
def test_uploads_of_one_file_at_once_make_one_resource(client: httpx.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: upload(client, wav()), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert len({answer.content for answer in answers}) == 1


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize(
    ("digest", "status"),
    [
        (repr_digest(png()), 201),
        (f"sha-512=:AAAA:, {repr_digest(png())}", 201),
        ("sha-512=:AAAA:", 400),
        (repr_digest(b"other"), 400),
        ("sha-256=:AAAA:", 400),
        ("sha-256=abc", 400),
        ("\u00e9", 400),
    ],
)
def test_announced_digest_is_verified(client: httpx.Client, digest: str, status: int) -> None:
    answer = upload(client, png(), headers={b"Repr-Digest": digest.encode()})
    assert answer.status_code == status
    assert len(listed(client)) == (status == 201)


@pytest.mark.promise(
    "security.md#decoders",
    "The bytes decide the type",
    kept_by="packages/dialects/src/pagefault_dialects/media/types.py",
    tried="11 claims",
)
@pytest.mark.parametrize(
    ("content", "declared", "settled"),
    [
        (png(), "text/plain", "image/png"),
        (png(), "image/jpeg", "image/png"),
        (png(), None, "image/png"),
        (pdf(), "image/png", "application/pdf"),
        (b'{"a":1}', "application/json", "application/json"),
        (b"a,b\n1,2\n", "text/csv", "text/csv"),
        (b"plain", "text/plain; charset=utf-8", "text/plain"),
        (HTML, "text/html", "text/html"),
        (SVG, "image/svg+xml", "image/svg+xml"),
        (b"\x00\x01\x02", "no/such/type\u00e9", "application/octet-stream"),
        (b"\x00\x01\x02", "application/x-www-form-urlencoded", "application/octet-stream"),
    ],
)
def test_bytes_decide_the_type(
    client: httpx.Client, content: bytes, declared: str | None, settled: str
) -> None:
    headers = {b"Content-Type": declared.encode()} if declared else {}
    assert upload(client, content, headers=headers).json()["mimeType"] == settled


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "Markup is never promoted by sniffing",
    kept_by="packages/dialects/src/pagefault_dialects/media/types.py",
    tried="3 files",
)
@pytest.mark.parametrize("content", [HTML, SVG, b"<?xml version='1.0'?><a/>"])
def test_markup_is_never_promoted_by_sniffing(client: httpx.Client, content: bytes) -> None:
    mime_type = upload(client, content).json()["mimeType"]
    assert mime_type in ("text/plain", "application/octet-stream")


@pytest.mark.engines("embedded", "server")
def test_empty_file_is_a_file(client: httpx.Client) -> None:
    created = upload(client, b"")
    path = content_path(created)
    assert (created.status_code, created.json()["size"]) == (201, 0)
    answers = {value: client.get(path, headers={"Range": value}) for value in ("bytes=0-", "x=1")}
    assert answers["bytes=0-"].status_code == 416
    assert answers["bytes=0-"].headers["content-range"] == "bytes */0"
    assert (answers["x=1"].status_code, answers["x=1"].content) == (200, b"")


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
@pytest.mark.parametrize("size", [LIMIT_BYTES, LIMIT_BYTES + 1, 10 * LIMIT_BYTES + 1])
def test_file_above_the_limit_leaves_nothing(
    small_service: LiveService, size: int, chunked: bool
) -> None:
    pieces = (bytes(min(4_096, size - start)) for start in range(0, size, 4_096))
    with small_service.client() as client:
        answer = client.post(ROUTE, content=pieces if chunked else bytes(size))
        assert answer.status_code == (201 if size <= LIMIT_BYTES else 413)
        assert len(listed(client)) == (size <= LIMIT_BYTES)


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
@pytest.mark.xdist_group("heavy")
def test_large_file_arrives_and_is_read_by_many_at_once(client: httpx.Client) -> None:
    pieces = (LARGE[start : start + 262_144] for start in range(0, len(LARGE), 262_144))
    created = client.post(ROUTE, content=pieces)
    assert created.json()["digest"] == f"sha-256:{sha256(LARGE)}"
    step = len(LARGE) // 32

    def slice_digest(start: int) -> str:
        headers = {"Range": f"bytes={start}-{start + step - 1}"}
        with client.stream("GET", content_path(created), headers=headers) as answer:
            assert answer.status_code == 206
            return sha256(b"".join(answer.iter_raw()))

    starts = range(0, len(LARGE), step)
    with ThreadPoolExecutor(32) as pool:
        digests = list(pool.map(slice_digest, starts))
    assert digests == [sha256(LARGE[start : start + step]) for start in starts]


@pytest.mark.parametrize(
    "form", ["{id}", "blob%3A{id}", "blob:{id}", "%40blob%3A{id}", "@blob:{id}"]
)
def test_descriptor_is_found_by_every_spelling(client: httpx.Client, form: str) -> None:
    created = upload(client, png())
    path = f"{ROUTE}/" + form.format(id=created.json()["uri"].removeprefix("blob:"))
    read, head = client.get(path), client.head(path)
    assert (read.status_code, read.content) == (200, created.content)
    assert (head.status_code, head.content) == (200, b"")
    volatile = ("date", "x-request-id")
    assert [(k, v) for k, v in head.headers.items() if k not in volatile] == [
        (k, v) for k, v in read.headers.items() if k not in volatile
    ]
    known = client.get(path, headers={"If-None-Match": read.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")
    assert client.get(f"{path}/content").content == png()


@pytest.mark.engines("embedded", "server")
def test_list_is_paged_newest_first(client: httpx.Client) -> None:
    uris = [upload(client, bytes([n])).json()["uri"] for n in range(5)]
    pages, path = [], f"{ROUTE}?limit=2"
    while path:
        answer = client.get(path)
        pages.append([entry["uri"] for entry in answer.json()["items"]])
        path = answer.links.get("next", {}).get("url", "")
    assert pages == [[uris[4], uris[3]], [uris[2], uris[1]], [uris[0]]]


@pytest.mark.parametrize(
    "cursor",
    ["x", "WyJ0b29sLXJlc3VsdHMiLCJhIl0", "WyJyZXNvdXJjZXMiLDkyMjMzNzIwMzY4NTQ3NzU4MDcsImEiXQ"],
)
def test_bad_cursor_is_refused(client: httpx.Client, cursor: str) -> None:
    answer = client.get(ROUTE, params={"cursor": cursor})
    assert (answer.status_code, answer.json().get("code")) == (400, "invalid-cursor")


@pytest.mark.engines("embedded", "server")
def test_unused_resource_is_deleted_and_may_come_back(client: httpx.Client) -> None:
    created = upload(client, png())
    other = upload(client, png(), params={"filename": "other.png"})
    path = created.headers["location"]
    deleted = client.delete(path)
    assert (deleted.status_code, deleted.content) == (204, b"")
    gone = [client.get(path), client.get(content_path(created)), client.delete(path)]
    assert [answer.status_code for answer in gone] == [404] * 3
    assert client.get(content_path(other)).content == png()
    assert upload(client, png()).status_code == 201


@pytest.mark.engines("embedded", "server")
def test_resource_in_use_is_kept_and_its_users_are_named(client: httpx.Client) -> None:
    block = {"type": "audio", "data": base64.b64encode(wav()).decode(), "mimeType": "audio/wav"}
    body = {"toolName": "t", "toolCallId": "c", "result": {"content": [block]}}
    record = client.post("/api/tool-results", json=body).json()
    uri = record["sanitized"]["resources"][0]["uri"]
    refused = client.delete(f"{ROUTE}/{uri}")
    assert (refused.status_code, refused.json()["code"]) == (409, "resource-in-use")
    assert record["id"] in refused.json()["detail"]
    assert client.get(f"{ROUTE}/{uri}/content").content == wav()


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_hostile_name_is_made_harmless_or_refused(client: httpx.Client, name: str) -> None:
    header = b'attachment; filename="' + name.replace("\r\n", "").replace("\0", "").encode() + b'"'
    created = [
        upload(client, png(), params={"filename": name}),
        client.post(ROUTE, files={"file": (name, png())}),
        upload(client, png(), headers={b"Content-Disposition": header}),
    ]
    plain = content_path(upload(client, png()))
    reads = [client.get(content_path(a)) for a in created if a.is_success]
    reads.append(client.get(plain, params={"filename": name, "download": "1"}))
    assert max(answer.status_code for answer in (*created, *reads)) < 500
    for answer in reads:
        response = answer.headers.get("content-disposition", "attachment")
        assert response.isascii()
        assert response.isprintable()
        assert "set-cookie" not in answer.headers
    names = [answer.json().get("filename", "x") for answer in created if answer.is_success]
    assert [n for n in names if "/" in n or not n.isprintable() or len(n.encode()) > 255] == []


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    (
        "A program or a web page that is declared as an image, a sound or a video becomes a "
        "file, whichever route takes it"
    ),
    kept_by="packages/dialects/src/pagefault_dialects/media/file_type.py",
    tried="HTML and ELF by 7 ways",
)
@pytest.mark.parametrize("data", [LONG_HTML, ELF], ids=["HTML", "ELF"])
def test_program_or_web_page_is_a_file_by_every_way_in_though_announced_as_an_image(
    client: httpx.Client, data: bytes
) -> None:
    uri = data_uri(data, "image/png")
    upload(client, data, headers={"Content-Type": "image/png"})
    upload(client, data, params={"filename": "a.png"})
    client.post(ROUTE, files={"file": ("b.png", data, "image/png")})
    metadata = f"{pair('filename', b'c.png')},{pair('filetype', b'image/png')}"
    send(client, begin(client, len(data), metadata), 0, data)
    blocks = [
        {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": "image/png"},
        {"type": "image_url", "image_url": {"url": uri}},
    ]
    call = {"toolName": "t", "toolCallId": "c", "result": {"content": blocks}}
    record = client.post("/api/tool-results", json=call).raise_for_status().json()["sanitized"]
    message = {"role": "user", "content": blocks[1:]}
    client.post("/api/sessions/s/messages", json=message).raise_for_status()
    client.put("/api/pages/p", json={"modality": "image", "content": uri}).raise_for_status()
    kinds = {
        (item.get("filename"), item["kind"], item["mimeType"])
        for item in client.get(ROUTE).json()["items"]
    }
    (mime_type,) = {kind[2] for kind in kinds}
    assert mime_type in ("application/octet-stream", "application/x-executable")
    assert kinds == {(name, "binary", mime_type) for name in (None, "a.png", "b.png", "c.png")}
    assert [part["type"] for part in record["parts"]] == ["file", "file"]
    assert record["meta"]["declaredMimeType"] == {
        "/parts/0": "image/png",
        "/parts/1": "image/png",
    }
    assert client.get("/api/pages/p").json()["media"]["mime_type"] == mime_type
