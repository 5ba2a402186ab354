"""Content under a server that sends files by itself: the same answers as under uvicorn."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import pytest

from app.config.settings import Settings
from app.wiring.stores import open_access
from tests.contract.content_requests import (
    ROW_IDS,
    ROWS,
    SIZE,
    Row,
    Stored,
    check_answer,
    content_headers,
    expected_headers,
    stored_text,
    upload,
)
from tests.kit.granian import GranianProcess

LARGE = os.urandom((1 << 20) + 1)


@dataclass(frozen=True)
class Served:
    """A client of the service under Granian, and where its blobs are."""

    client: httpx.Client
    data_dir: Path

    def file(self, content: bytes) -> Path:
        """The folder of the stored bytes."""
        digest = hashlib.sha256(content).hexdigest()
        (found,) = self.data_dir.glob(f"blobs/*/{digest[:2]}/{digest}")
        return found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data_dir = tmp_path_factory.mktemp("granian") / "data"

    async def new_key() -> str:
        async with open_access(Settings(data_dir=data_dir)) as access:
            return await access.create_key("granian", "test")

    key = anyio.run(new_key)
    env = {"PAGEFAULT_AUTH": "api-key", "PAGEFAULT_LOG_LEVEL": "error"}
    with GranianProcess(data_dir, env) as granian, granian.client(key) as client:
        yield Served(client, data_dir)


@pytest.fixture(scope="module")
def stored(served: Served) -> Stored:
    return stored_text(served.client)


@pytest.mark.parametrize("row", ROWS, ids=ROW_IDS)
def test_get_is_answered_as_under_uvicorn(stored: Stored, row: Row) -> None:
    check_answer(stored, row)


def test_head_says_what_get_would(stored: Stored) -> None:
    answer = stored.ask("HEAD", {})
    assert (answer.status_code, answer.content) == (200, b"")
    assert content_headers(answer) == expected_headers(stored, SIZE)


def test_a_file_sent_by_the_server_has_the_headers_of_one_sent_by_the_service(
    served: Served,
) -> None:
    path = upload(served.client, LARGE, "application/octet-stream", "a.bin")
    whole = served.client.get(path)
    # One range over all of it is read by the service.
    part = served.client.get(path, headers={"Range": "bytes=0-"})
    assert (whole.status_code, part.status_code) == (200, 206)
    assert whole.content == part.content == LARGE
    expected = content_headers(part)
    assert expected.pop("content-range") == f"bytes 0-{len(LARGE) - 1}/{len(LARGE)}"
    assert content_headers(whole) == expected


def test_a_file_that_is_gone_is_a_problem_and_no_torn_answer(served: Served) -> None:
    content = LARGE[::-1]
    path = upload(served.client, content, "application/octet-stream", None)
    served.file(content).unlink()
    answer = served.client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (503, "blob-missing")
    assert answer.headers["content-type"] == "application/problem+json"
