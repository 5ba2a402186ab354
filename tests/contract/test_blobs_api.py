"""`/api/blobs/sha256-…`, and uploads whose bytes the project has: on both engines."""

import base64
import hashlib
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.contract.content_requests import (
    ROW_IDS,
    ROWS,
    SIZE,
    TEXT,
    Stored,
    check_answer,
    content_headers,
    expected_headers,
    stored_text,
)
from tests.kit.media import noise_bytes, png
from tests.kit.raw_http import answer_of, connected, is_last, rest
from tests.kit.servers import LiveService

DATA = noise_bytes(20_000)
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def address(data: bytes) -> str:
    """Return the address of some bytes."""
    return f"/api/blobs/sha256-{hashlib.sha256(data).hexdigest()}"


def digest(data: bytes) -> dict[str, str]:
    """Return the header with the digest of some bytes."""
    value = base64.b64encode(hashlib.sha256(data).digest()).decode()
    return {"Repr-Digest": f"sha-256=:{value}:"}


def create(client: httpx.Client, data: bytes, name: str, *, is_sent: bool = True) -> httpx.Response:
    """Upload a file with its digest, or only the digest."""
    content = data if is_sent else b""
    params = {"filename": name}
    return client.post("/api/resources", content=content, params=params, headers=digest(data))


def head(key: str | None, data: bytes, name: str, expect: str = "100-continue") -> bytes:
    """Return the head of an upload that announces its digest, and waits for permission."""
    lines = [
        f"POST /api/resources?filename={name} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {key}",
        f"Content-Length: {len(data)}",
        f"Repr-Digest: {digest(data)['Repr-Digest']}",
        f"Expect: {expect}",
    ]
    return "\r\n".join([*lines, "\r\n"]).encode()


def status(answer: bytes) -> int:
    """Return the status of an answer."""
    return int(answer.split()[1])


def first_answer(connection: socket.socket) -> bytes:
    """Return the first answer, which may be interim and then has no body."""
    return connection.recv(len(CONTINUE), socket.MSG_WAITALL)


@pytest.fixture(scope="module")
def stored(service: LiveService) -> Iterator[Stored]:
    with service.client() as client:
        yield replace(stored_text(client), path=address(TEXT))


@pytest.mark.parametrize(("headers", "status", "span"), ROWS, ids=ROW_IDS)
@pytest.mark.engines("embedded")
def test_bytes_at_their_address_are_sent_as_content(
    stored: Stored, headers: dict[str, str], status: int, span: tuple[int, int] | None
) -> None:
    check_answer(stored, (headers, status, span))
    answer = stored.ask("HEAD", headers)
    assert (answer.status_code, answer.content) == (status if status in (304, 412) else 200, b"")
    if answer.status_code == 200:
        assert content_headers(answer) == expected_headers(stored, SIZE)


def test_address_is_absent_before_the_upload_and_after_the_deletion(client: httpx.Client) -> None:
    statuses = [client.get(address(DATA)).status_code]
    first, second = (create(client, DATA, name) for name in ("a.bin", "b.bin"))
    statuses.append(client.get(address(DATA)).status_code)
    client.delete(first.headers["location"])
    named = client.head(address(DATA)).headers["content-disposition"]
    client.delete(second.headers["location"])
    statuses += [client.get(address(DATA)).status_code, client.head(address(DATA)).status_code]
    assert (statuses, named) == ([404, 200, 404, 404], 'attachment; filename="b.bin"')


@pytest.mark.engines("embedded")
@pytest.mark.parametrize(
    "name",
    [
        f"sha256-{hashlib.sha256(TEXT).hexdigest().upper()}",
        f"sha256-{hashlib.sha256(TEXT).hexdigest()}0",
        f"sha512-{hashlib.sha512(TEXT).hexdigest()}",
        hashlib.sha256(TEXT).hexdigest(),
        "sha256-",
        "%00",
    ],
)
def test_address_in_another_form_is_absent_and_the_answer_has_the_form(
    stored: Stored, name: str
) -> None:
    answer = stored.client.get(f"/api/blobs/{name}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    assert "64 lower-case hex digits" in answer.json()["detail"]


def test_known_bytes_are_stored_under_another_name_without_them(client: httpx.Client) -> None:
    first = create(client, png(), "a.png").json()
    new, again, old = (
        create(client, png(), name, is_sent=False) for name in ("b.png", "b.png", "a.png")
    )
    assert (new.status_code, again.status_code, old.status_code) == (201, 200, 200)
    assert new.content == again.content
    assert old.json() == first
    assert new.json() == {
        **first,
        **{name: new.json()[name] for name in ("uri", "createdAt")},
        "filename": "b.png",
    }
    assert client.get(f"{new.headers['location']}/content").content == png()


@pytest.mark.promise(
    "security.md#other-projects-data",
    "A digest does not open the bytes of another project, and does not disclose that it has them",
    kept_by="app/stores/records/resources.py",
    tried="an empty body and `Expect: 100-continue`, both engines",
)
def test_bytes_of_another_project_have_to_be_sent(
    client: httpx.Client, service: LiveService
) -> None:
    create(client, DATA, "a.bin")
    key = service.new_key()
    with service.client(key) as stranger, connected(service.port) as connection:
        skipped = create(stranger, DATA, "a.bin", is_sent=False)
        connection.sendall(head(key, DATA, "a.bin"))
        interim = first_answer(connection)
        assert (skipped.status_code, skipped.json()["code"]) == (404, "not-found")
        assert stranger.get("/api/resources").json()["items"] == []
    assert interim == CONTINUE


@pytest.mark.engines("embedded")
def test_empty_file_is_stored_with_its_digest(client: httpx.Client) -> None:
    assert create(client, b"", "empty").status_code == 201
    assert client.get(address(b"")).content == b""


@pytest.mark.engines("embedded")
def test_body_that_is_known_is_not_requested(service: LiveService) -> None:
    key = service.new_key()
    with service.client(key) as client:
        created = create(client, DATA, "a.bin")
        with connected(service.port) as connection:
            connection.sendall(head(key, DATA, "b.bin"))
            answer = rest(connection)
        assert (status(answer), is_last(answer)) == (201, True)
        assert CONTINUE not in answer
        names = [item["filename"] for item in client.get("/api/resources").json()["items"]]
    assert created.status_code == 201
    assert sorted(names) == ["a.bin", "b.bin"]


@pytest.mark.engines("embedded")
@pytest.mark.parametrize("expect", ["100-continue", "100-Continue"])
def test_body_that_is_not_known_is_requested_and_verified(
    service: LiveService, expect: str
) -> None:
    key = service.new_key()
    with connected(service.port) as connection:
        connection.sendall(head(key, DATA, "a.bin", expect))
        assert first_answer(connection) == CONTINUE
        connection.sendall(DATA)
        assert status(answer_of(connection)) == 201
        connection.sendall(head(key, DATA[1:], "a.bin", expect))
        assert first_answer(connection) == CONTINUE
        connection.sendall(DATA[:-1])
        assert status(answer_of(connection)) == 400


@pytest.mark.engines("embedded")
def test_curl_does_not_send_bytes_that_are_known(service: LiveService, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(DATA)
    key = service.new_key()
    curl = ["curl", "-sS", "--noproxy", "*", "-w", "%{http_code} %{size_upload}", "-o", "out"]
    headers = ["Expect: 100-continue", f"Authorization: Bearer {key}"]
    headers.append(f"Repr-Digest: {digest(DATA)['Repr-Digest']}")
    options = [part for header in headers for part in ("-H", header)]
    sent = [
        subprocess.run(  # noqa: S603
            [*curl, *options, "--data-binary", "@a.bin", f"{service.base_url}/api/resources"],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for _ in range(2)
    ]
    assert sent == [f"201 {len(DATA)}", "200 0"]


@pytest.mark.engines("embedded")
def test_bytes_that_the_store_has_lost_are_requested(service: LiveService) -> None:
    data = noise_bytes(30_000)
    with service.client() as client:
        path = create(client, data, "a.bin").headers["location"]
        (lost,) = service.settings.data_dir.rglob(hashlib.sha256(data).hexdigest())
        lost.unlink()
        skipped = create(client, data, "b.bin", is_sent=False)
        assert (skipped.status_code, create(client, data, "b.bin").status_code) == (404, 201)
        assert client.get(f"{path}/content").content == data
