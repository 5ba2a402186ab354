"""The viewer as it is handed out: one document for all its addresses, its files, nothing else."""

import gzip
import hashlib
import http.client
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.shipped_files import BUILT_VIEWER
from tests.kit.described_api import api_document
from tests.kit.plain_http import TRUSTS_NOBODY
from tests.kit.process import ROOT
from tests.kit.servers import Backends, LiveService, serving

PAGE = b'<!doctype html><title>Pagefault</title><script src="/assets/index-Ab_1-x.js"></script>'
EXPLORER = b'<!doctype html><title>API</title><script src="/assets/docs-Ab_1-x.js"></script>'
SCRIPT = b"console.log('\xc3\xa9')"
ICON = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
COMPRESSED = {
    "": SCRIPT,
    ".br": b"\x0b\x07\x80" + SCRIPT + b"\x03",
    ".gz": gzip.compress(SCRIPT, mtime=0),
}
"""A file of the build as it is, and compressed, by the suffix."""
SECRET = b"nothing of the viewer's"
SAFE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self' blob:; connect-src 'self'; frame-src 'self'; font-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
EXPLORER_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; media-src 'self' blob:; connect-src 'self'; font-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
NOTHING = "default-src 'none'; frame-ancestors 'none'"
CODING_HEADERS = ("Content-Encoding", "Content-Length", "ETag", "Vary")
VOLATILE_HEADERS = ("date", "server", "x-request-id", "etag")
ADDRESSES = [
    "/",
    "/sessions",
    "/sessions/demo",
    "/sessions/a:b.c-d_e?after=3",
    "/pages",
    "/pages/img_001",
    "/upload",
]
ABSENT = [
    "/assets/absent.js",
    "/assets/",
    "/assets/folder.js",
    "/assets/folder.js/inner.js",
    "/assets/.hidden.js",
    "/assets/notes.txt",
    "/assets/no-suffix",
    "/assets/linked.js",
    "/assets/compressed.js.br",
    "/assets/compressed.js.gz",
    "/assets/linked-folder/secret.js",
    "/assets/circle.js",
    "/assets/../secret.js",
    "/assets/../../secret.js",
    "/assets/..%2fsecret.js",
    "/assets/..%2f..%2fsecret.js",
    "/assets/%2e%2e%2f%2e%2e%2fsecret.js",
    "/assets/..%5c..%5csecret.js",
    "/assets/%00.js",
    "/assets/index-Ab_1-x.js%00",
    "/assets/%2fetc%2fpasswd.js",
    "/assets//index-Ab_1-x.js",
    f"/assets/{'x' * 300}.js",
    "/assets/%ed%a0%80.js",
    "/index.html",
    "/docs.html",
    "/secret.js",
    "/web/dist/index.html",
    "/sessions/",
    "/sessions/demo/more",
    "/sessions/..%2fsecret.js",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A viewer as a build leaves it, and around it what must not be read."""
    outside = tmp_path_factory.mktemp("outside")
    folder = outside / "dist"
    assets = folder / "assets"
    (assets / "folder.js").mkdir(parents=True)
    (outside / "secret.js").write_bytes(SECRET)
    for name, body in {"index-Ab_1-x.js": SCRIPT, "index.css": b"", "pixel.png": b"\x89"}.items():
        (assets / name).write_bytes(body)
    for name in (".hidden.js", "notes.txt", "no-suffix", "folder.js/inner.js"):
        (assets / name).write_bytes(SECRET)
    (folder / "index.html").write_bytes(PAGE)
    (folder / "docs.html").write_bytes(EXPLORER)
    (folder / "favicon.svg").write_bytes(ICON)
    (folder / "secret.js").write_bytes(SECRET)
    for suffix, body in COMPRESSED.items():
        (assets / f"compressed.js{suffix}").write_bytes(body)
    (assets / "stolen.js").write_bytes(SCRIPT)
    (assets / "stolen.js.gz").symlink_to(outside / "secret.js")
    (assets / "linked.js").symlink_to(outside / "secret.js")
    (assets / "linked-folder").symlink_to(outside)
    (assets / "circle.js").symlink_to(assets / "circle.js")
    return folder


@pytest.fixture(scope="module")
def viewer(
    backends: Backends, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveService]:
    settings = backends.settings("embedded", tmp_path_factory.mktemp("viewer"))
    with serving(settings.model_copy(update={"viewer_dir": folder})) as service:
        yield service


@pytest.fixture
def visitor(viewer: LiveService) -> Iterator[httpx.Client]:
    """Somebody without a key."""
    with httpx.Client(base_url=viewer.base_url, trust_env=False, verify=TRUSTS_NOBODY) as client:
        yield client


def stable(answer: httpx.Response) -> dict[str, str]:
    return {k: v for k, v in answer.headers.items() if k not in VOLATILE_HEADERS}


def test_explorer_is_handed_out_with_a_policy_of_its_own(visitor: httpx.Client) -> None:
    answer = visitor.get("/docs")
    assert (answer.status_code, answer.content) == (200, EXPLORER)
    assert stable(answer) == {
        "content-type": "text/html; charset=utf-8",
        "content-length": str(len(EXPLORER)),
        "cache-control": "no-cache",
        "content-security-policy": EXPLORER_POLICY,
        **SAFE,
    }
    unchanged = visitor.get("/docs", headers={"If-None-Match": answer.headers["etag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_address_of_the_viewer_is_its_one_document(
    visitor: httpx.Client, address: str
) -> None:
    answer = visitor.get(address)
    assert (answer.status_code, answer.content) == (200, PAGE)
    assert stable(answer) == {
        "content-type": "text/html; charset=utf-8",
        "content-length": str(len(PAGE)),
        "cache-control": "no-cache",
        "content-security-policy": POLICY,
        **SAFE,
    }


@pytest.mark.parametrize(
    ("name", "body", "media_type"),
    [
        ("index-Ab_1-x.js", SCRIPT, "text/javascript; charset=utf-8"),
        ("index.css", b"", "text/css; charset=utf-8"),
        ("pixel.png", b"\x89", "image/png"),
    ],
)
def test_hashed_file_is_kept_for_ever_by_anyone(
    visitor: httpx.Client, name: str, body: bytes, media_type: str
) -> None:
    answer = visitor.get(f"/assets/{name}")
    assert (answer.status_code, answer.content) == (200, body)
    assert stable(answer) == {
        "content-type": media_type,
        "content-length": str(len(body)),
        "cache-control": "public, max-age=31536000, immutable",
        "content-security-policy": NOTHING,
        **SAFE,
    }


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("accepted", "suffix"),
    [
        (None, ""),
        ("", ""),
        ("gzip, deflate", ".gz"),
        ("gzip, deflate, br, zstd", ".br"),
        ("gzip;q=1.0, br;q=0.5", ".gz"),
        ("gzip;q=0, *;q=0.5", ".br"),
        ("gzip;q=0, br;q=0", ""),
        ("identity, gzip;q=0.5", ""),
        ("GZIP", ".gz"),
        ("*", ".br"),
        ("br;q=nan", ""),
    ],
)
def test_file_is_sent_in_the_coding_that_the_browser_prefers(
    viewer: LiveService, method: str, accepted: str | None, suffix: str
) -> None:
    headers = {} if accepted is None else {"Accept-Encoding": accepted}
    # A client library would ask for codings of its own, and decode the answer.
    connection = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=10)
    connection.request(method, "/assets/compressed.js", headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    tag = answer.headers["ETag"]
    connection.request(method, "/assets/compressed.js", headers=headers | {"If-None-Match": tag})
    unchanged = connection.getresponse()
    assert (unchanged.status, unchanged.headers["ETag"], unchanged.read()) == (304, tag, b"")
    connection.close()
    expected = COMPRESSED[suffix]
    assert body == (expected if method == "GET" else b"")
    assert {name: answer.headers[name] for name in CODING_HEADERS} == {
        "Content-Encoding": {"": None, ".br": "br", ".gz": "gzip"}[suffix],
        "Content-Length": str(len(expected)),
        "ETag": f'"sha256-{hashlib.sha256(expected).hexdigest()}"',
        "Vary": "Accept-Encoding",
    }
    assert unchanged.headers["Vary"] == "Accept-Encoding"


def test_compressed_file_that_leads_out_of_the_build_is_not_read(visitor: httpx.Client) -> None:
    answer = visitor.get("/assets/stolen.js", headers={"Accept-Encoding": "gzip"})
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


def test_icon_is_asked_about_again(visitor: httpx.Client) -> None:
    answer = visitor.get("/favicon.svg")
    assert (answer.status_code, answer.content) == (200, ICON)
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("address", ["/", "/pages/p", "/assets/index-Ab_1-x.js", "/favicon.svg"])
def test_head_has_the_headers_of_get_and_no_body(visitor: httpx.Client, address: str) -> None:
    got, asked = visitor.get(address), visitor.head(address)
    assert (asked.status_code, asked.content) == (200, b"")
    assert (stable(asked), asked.headers["etag"]) == (stable(got), got.headers["etag"])


@pytest.mark.parametrize("address", ["/", "/assets/index-Ab_1-x.js", "/favicon.svg"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_the_browser_has_is_not_sent_again(
    visitor: httpx.Client, address: str, method: str
) -> None:
    tag = visitor.get(address).headers["etag"]
    answer = visitor.request(method, address, headers={"If-None-Match": tag})
    assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)


@pytest.mark.parametrize("address", ABSENT)
def test_what_is_no_file_of_the_viewer_is_a_problem(viewer: LiveService, address: str) -> None:
    # By hand, since a client would take the dots out of the path.
    request = f"GET {address} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=10) as connection:
        connection.sendall(request.encode())
        with connection.makefile("rb") as stream:
            answer = stream.read()
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"content-type: application/problem+json\r\n" in answer
    assert SECRET not in answer


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("address", ["/", "/sessions/demo", "/assets/index.css"])
def test_viewer_is_only_read(visitor: httpx.Client, method: str, address: str) -> None:
    answer = visitor.request(method, address)
    assert (answer.status_code, answer.json()["code"]) == (405, "method-not-allowed")
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}


def test_application_is_public_and_its_data_are_not(visitor: httpx.Client) -> None:
    assert visitor.get("/sessions/demo").status_code == 200
    assert visitor.get("/api/sessions/demo").status_code == 401


@pytest.mark.slow
def test_viewer_that_is_not_built_says_how_and_the_api_is_served(
    backends: Backends, tmp_path: Path
) -> None:
    folder = tmp_path / "dist"
    settings = backends.settings("embedded", tmp_path / "data")
    with (
        serving(settings.model_copy(update={"viewer_dir": folder})) as service,
        service.client() as client,
    ):
        answers = [client.get(address) for address in ("/", "/sessions/demo")]
        assert [answer.status_code for answer in answers] == [503, 503]
        for answer in answers:
            assert "<code>make web</code>" in answer.text
            assert '<a href="/docs">' in answer.text
            assert stable(answer) == {
                "content-type": "text/html; charset=utf-8",
                "content-length": str(len(answer.content)),
                "cache-control": "no-store",
                "content-security-policy": NOTHING,
                **SAFE,
            }
        assert client.head("/").status_code == 503
        plain = client.get("/docs")
        assert (plain.status_code, plain.text) == (200, client.get("/docs/plain").text)
        assert client.get("/favicon.svg").status_code == 404
        assert client.get("/api/sessions").status_code == 200
        folder.mkdir()
        (folder / "index.html").write_bytes(PAGE)
        assert client.get("/").content == PAGE


def test_viewer_is_built_beside_the_package() -> None:
    assert ROOT / "web" / "dist" == BUILT_VIEWER


def test_viewer_is_no_part_of_the_api() -> None:
    document = api_document()
    assert [path for path in document["paths"] if not path.startswith(("/api/", "/v1/"))] == [
        "/healthz",
        "/readyz",
        "/metrics",
    ]
