"""Content that nginx sends: a real one, configured as in `deploy/nginx`."""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from app.config.settings import ContentSettings, Settings
from tests.contract.content_requests import (
    ROW_IDS,
    ROWS,
    SIZE,
    TEXT,
    Row,
    Stored,
    check_answer,
    content_headers,
    expected_headers,
    stored_text,
    upload,
)
from tests.kit.nginx import Nginx, sending_files
from tests.kit.servers import LiveService, serving

ORIGIN = "https://app.example"


@dataclass(frozen=True)
class Fronted:
    """A service that leaves its files to nginx, and the client of each."""

    service: LiveService
    data_dir: Path
    direct: httpx.Client
    client: httpx.Client

    def file(self, content: bytes) -> Path:
        """The folder of the stored bytes."""
        digest = hashlib.sha256(content).hexdigest()
        (found,) = self.data_dir.glob(f"blobs/*/{digest[:2]}/{digest}")
        return found


@contextlib.contextmanager
def fronting(folder: Path, origins: tuple[str, ...] = ()) -> Iterator[Fronted]:
    """A service behind nginx for the length of the block."""
    data_dir = folder / "data"
    settings = Settings(
        data_dir=data_dir,
        auth="api-key",
        log_level="error",
        cors_origins=origins,
        content=ContentSettings(accel_prefix="/_blobs/"),
    )
    with serving(settings) as service:
        key = service.new_key()
        with (
            Nginx(folder, sending_files(service.port, data_dir)) as nginx,
            service.client(key) as direct,
            service.client(key) as client,
        ):
            client.base_url = nginx.base_url
            yield Fronted(service, data_dir, direct, client)


@pytest.fixture(scope="module")
def fronted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fronted]:
    with fronting(tmp_path_factory.mktemp("fronted")) as fronted:
        yield fronted


@pytest.fixture(scope="module")
def stored(fronted: Fronted) -> Stored:
    return stored_text(fronted.client)


@pytest.mark.parametrize("row", ROWS, ids=ROW_IDS)
def test_get_is_answered_as_without_nginx(stored: Stored, row: Row) -> None:
    check_answer(stored, row)


def test_head_says_what_get_would(stored: Stored) -> None:
    answer = stored.ask("HEAD", {})
    assert (answer.status_code, answer.content) == (200, b"")
    assert content_headers(answer) == expected_headers(stored, SIZE)


def test_several_ranges_come_as_parts(stored: Stored) -> None:
    answer = stored.ask("GET", {"Range": "bytes=20-29,0-4"})
    assert answer.status_code == 206
    assert answer.headers["content-type"].startswith("multipart/byteranges; boundary=")
    for start, end in ((20, 30), (0, 5)):
        assert b"\r\n\r\n" + TEXT[start:end] + b"\r\n--" in answer.content


def test_the_service_tells_the_place_and_sends_no_byte(fronted: Fronted, stored: Stored) -> None:
    answer = fronted.direct.get(stored.path)
    digest = hashlib.sha256(TEXT).hexdigest()
    project = fronted.file(TEXT).parts[-3]
    expected = expected_headers(stored, 0) | {
        "x-accel-redirect": f"/_blobs/{project}/{digest[:2]}/{digest}",
        "transfer-encoding": "chunked",
    }
    del expected["content-length"], expected["accept-ranges"]
    assert (answer.status_code, answer.content) == (200, b"")
    assert content_headers(answer) == expected


@pytest.mark.parametrize("asked", [{}, {"Range": "bytes=0-9"}, {"If-Range": "x"}], ids=str)
def test_it_is_nginx_that_reads_the_file(fronted: Fronted, asked: dict[str, str]) -> None:
    content = b"read by nginx" + repr(asked).encode()
    path = upload(fronted.client, content, "text/plain", None)
    other = content.swapcase()
    # Nobody does this to a blob; here it shows who read it.
    fronted.file(content).write_bytes(other)
    answer = fronted.client.get(path, headers=asked)
    assert answer.content == (other[:10] if "Range" in asked else other)


def test_large_content_arrives_whole(fronted: Fronted) -> None:
    content = os.urandom(5 << 20)
    path = upload(fronted.client, content, "application/octet-stream", None)
    assert fronted.client.get(path).content == content
    part = fronted.client.get(path, headers={"Range": "bytes=1000000-"})
    assert (part.status_code, part.content) == (206, content[1_000_000:])


def test_a_file_that_is_gone_is_a_problem(fronted: Fronted) -> None:
    content = b"soon gone"
    path = upload(fronted.client, content, "text/plain", None)
    fronted.file(content).unlink()
    answer = fronted.client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (503, "blob-missing")


def test_nobody_gets_at_the_files_by_their_paths(fronted: Fronted, stored: Stored) -> None:
    place = fronted.direct.get(stored.path).headers["x-accel-redirect"]
    assert fronted.client.get(place).status_code == 404
    assert fronted.client.get("/_blobs/").status_code == 404


def test_refusals_are_those_of_the_service(fronted: Fronted, stored: Stored) -> None:
    stranger = fronted.client.get(stored.path, headers={"Authorization": "Bearer none"})
    with fronted.service.client() as other:
        other.base_url = fronted.client.base_url
        foreign = other.get(stored.path)
    assert (stranger.status_code, foreign.status_code) == (401, 404)
    assert {stranger.content[:1], foreign.content[:1]} == {b"{"}


def test_pages_of_other_origins_may_read_what_nginx_sends(tmp_path: Path) -> None:
    with fronting(tmp_path, (ORIGIN,)) as fronted:
        answer = stored_text(fronted.client).ask("GET", {"Origin": ORIGIN, "Range": "bytes=0-9"})
    assert (answer.status_code, answer.content) == (206, TEXT[:10])
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "Content-Range" in answer.headers["access-control-expose-headers"]
    assert answer.headers["vary"] == "Origin"


def test_a_signed_link_works_through_nginx(fronted: Fronted, stored: Stored) -> None:
    body = {"disposition": "attachment", "filename": "b.txt"}
    made = fronted.client.post(stored.path.replace("/content", "/signed-url"), json=body)
    url = httpx.URL(made.json()["url"])
    answer = httpx.get(fronted.client.base_url.join(url.raw_path.decode()), trust_env=False)
    assert answer.content == TEXT
    assert answer.headers["content-disposition"] == 'attachment; filename="b.txt"'


def test_a_caller_cannot_tell_nginx_what_to_send(fronted: Fronted, stored: Stored) -> None:
    answer = fronted.client.get(stored.path, headers={"X-Accel-Redirect": "/_blobs/other"})
    assert answer.content == TEXT
