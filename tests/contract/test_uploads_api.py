"""`/api/uploads` over HTTP: tus 1.0.0, every header and status of it."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.models.limits import Limits
from tests.contract.upload_requests import (
    ABSENT,
    DATA,
    PIECE,
    ROUTE,
    TUS,
    begin,
    checksum,
    content,
    offset_of,
    own_headers,
    pair,
    send,
)
from tests.kit.media import mp4, png
from tests.kit.servers import Backends, Engine, LiveService, serving

pytestmark = pytest.mark.engines("embedded")

LIMIT_BYTES = 1_000_000
TUS_ONLY = {"tus-resumable": "1.0.0"}
WAIT_SECONDS = 60
# Questions about an upload that is still at work: each waits for its answer, none is a pause.
_MAX_QUESTIONS = 5_000


@pytest.fixture(scope="module")
def small(
    backends: Backends, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveService]:
    """A service that takes little, and does not wait long for it."""
    limits = Limits(upload_bytes=LIMIT_BYTES, body_idle_seconds=0.2)
    with serving(
        backends.settings(engine, tmp_path_factory.mktemp("small"), limits=limits)
    ) as live:
        yield live


def test_options_say_what_is_spoken(client: httpx.Client) -> None:
    answer = client.options(ROUTE)
    assert (answer.status_code, answer.content, own_headers(answer)) == (
        *(204, b""),
        {
            "tus-resumable": "1.0.0",
            "tus-version": "1.0.0",
            "tus-extension": "creation,expiration,checksum,termination",
            "tus-max-size": str(5 * 1024**3),
            "tus-checksum-algorithm": "sha1,sha256,sha512",
        },
    )


@pytest.mark.engines("embedded", "server")
def test_upload_is_created_asked_about_filled_and_becomes_a_resource(client: httpx.Client) -> None:
    metadata = ",".join(
        [
            pair("filename", "h\u00e9.mp4".encode()),
            pair("filetype", b"video/mp4"),
            "secret",
        ]
    )
    video = mp4()
    created = client.post(
        ROUTE, headers={**TUS, "Upload-Length": str(len(video)), "Upload-Metadata": metadata}
    )
    path = created.headers["location"]
    assert (created.status_code, created.content) == (201, b"")
    assert path.startswith(f"{ROUTE}/")
    assert own_headers(created) == {"tus-resumable": "1.0.0", "upload-offset": "0"}
    first = send(client, path, 0, video[:100])
    assert (first.status_code, first.content) == (204, b"")
    assert own_headers(first) == {"tus-resumable": "1.0.0", "upload-offset": "100"}
    answer = client.head(path, headers=TUS)
    state = {
        "tus-resumable": "1.0.0",
        "cache-control": "no-store",
        "upload-offset": "100",
        "upload-length": str(len(video)),
        "upload-metadata": metadata,
    }
    assert (answer.status_code, own_headers(answer)) == (200, state)
    last = send(client, path, 100, video[100:])
    uri = last.headers["upload-resource"]
    assert own_headers(last) == {
        "tus-resumable": "1.0.0",
        "upload-offset": str(len(video)),
        "upload-resource": uri,
    }
    done = {**state, "upload-offset": str(len(video)), "upload-resource": uri}
    assert own_headers(client.head(path, headers=TUS)) == done
    descriptor = client.get(f"/api/resources/{uri}").json()
    assert (descriptor["mimeType"], descriptor["filename"], descriptor["durationSeconds"]) == (
        *("video/mp4", "h\u00e9.mp4"),
        1.0,
    )
    assert content(client, uri) == video


def test_upload_is_read_as_json(client: httpx.Client) -> None:
    path = begin(client, 10, f"{pair('name', b'a.txt')},{pair('type', b'text/plain')}")
    send(client, path, 0, b"01234")
    read = client.get(path)
    upload = read.json()
    expected = {
        "id": path.rpartition("/")[2],
        "offset": 5,
        "length": 10,
        "filename": "a.txt",
        "mimeType": "text/plain",
        "createdAt": upload["createdAt"],
        "expiresAt": upload["expiresAt"],
        "resource": None,
    }
    assert (read.status_code, upload, read.headers["tus-resumable"]) == (200, expected, "1.0.0")
    uri = send(client, path, 5, b"56789").headers["upload-resource"]
    done = client.get(path).json()
    descriptor = client.get(f"/api/resources/{uri}").json()
    del descriptor["createdAt"]
    expected = {**expected, "offset": 10, "resource": descriptor, "expiresAt": done["expiresAt"]}
    assert done == expected
    client.delete(f"/api/resources/{uri}")
    assert client.get(path).json() == {**expected, "resource": None}
    assert client.head(path, headers=TUS).headers["upload-resource"] == uri


@pytest.mark.engines("embedded", "server")
def test_every_piece_moves_the_expiry_on(client: httpx.Client) -> None:
    path = begin(client, 10)
    before = client.get(path).json()
    lifetime = datetime.fromisoformat(before["expiresAt"]) - datetime.fromisoformat(
        before["createdAt"]
    )
    sent = send(client, path, 0, b"0")
    after = datetime.fromisoformat(client.get(path).json()["expiresAt"])
    assert lifetime == timedelta(days=1)
    assert after > datetime.fromisoformat(before["expiresAt"])
    told = [sent, client.head(path, headers=TUS)]
    expires = [parsedate_to_datetime(answer.headers["upload-expires"]) for answer in told]
    assert expires == [after.replace(microsecond=0)] * 2


@pytest.mark.engines("embedded", "server")
def test_same_file_is_the_same_resource_by_either_way(client: httpx.Client) -> None:
    path = begin(client, len(png()), pair("filename", b"a.png"))
    sent = send(client, path, 0, png())
    again = client.post("/api/resources", content=png(), params={"filename": "a.png"})
    assert (again.status_code, again.json()["uri"]) == (200, sent.headers["upload-resource"])


def test_empty_file_is_complete_when_it_is_created(client: httpx.Client) -> None:
    created = client.post(ROUTE, headers={**TUS, "Upload-Length": "0"})
    path, uri = created.headers["location"], created.headers["upload-resource"]
    assert content(client, uri) == b""
    assert send(client, path, 0, b"").headers["upload-resource"] == uri


def test_empty_piece_changes_nothing(client: httpx.Client) -> None:
    path = begin(client, 10)
    before = client.get(path).content
    assert own_headers(send(client, path, 0, b""))["upload-offset"] == "0"
    assert client.get(path).content == before


@pytest.mark.parametrize(
    ("offset", "status"), [(0, 409), (4, 409), (6, 409), (10**30, 409), ("005", 204)]
)
def test_piece_begins_where_the_upload_is(
    client: httpx.Client, offset: object, status: int
) -> None:
    path = begin(client, 10)
    send(client, path, 0, b"01234")
    answer = send(client, path, offset, b"56")
    assert answer.status_code == status
    if status == 409:
        problem = answer.json()
        assert (problem["code"], "offset 5." in problem["detail"]) == ("upload-offset", True)
    assert offset_of(client, path) == (5 if status == 409 else 7)


def test_finished_upload_takes_no_more(client: httpx.Client) -> None:
    path = begin(client, 3)
    uri = send(client, path, 0, b"abc").headers["upload-resource"]
    answers = [
        send(client, path, 3, b"d"),
        send(client, path, 0, b"abc"),
        send(client, path, 3, b""),
    ]
    assert [answer.status_code for answer in answers] == [413, 409, 204]
    assert (answers[2].headers["upload-resource"], content(client, uri)) == (uri, b"abc")


@pytest.mark.parametrize("chunked", [False, True], ids=["announced", "chunked"])
def test_body_beyond_the_length_is_refused(client: httpx.Client, chunked: bool) -> None:
    path = begin(client, 100)
    headers = {**PIECE, "Upload-Offset": "0"}
    body = iter([b"x" * 60, b"y" * 60]) if chunked else b"x" * 120
    answer = client.patch(path, content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "payload-too-large")
    kept = offset_of(client, path)
    # Two chunks may arrive as one.
    assert kept in ((0, 60) if chunked else (0,))
    rest = (b"x" * 60 + b"z" * 40)[kept:]
    uri = send(client, path, kept, rest).headers["upload-resource"]
    assert content(client, uri) == b"x" * 60 + b"z" * 40


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "sha512"])
def test_checksum_is_verified(client: httpx.Client, algorithm: str) -> None:
    path = begin(client, len(DATA))
    wrong = send(client, path, 0, DATA[:-1], {"Upload-Checksum": checksum(algorithm, DATA)})
    assert (wrong.status_code, wrong.json()["code"]) == (460, "checksum-mismatch")
    assert offset_of(client, path) == 0
    right = send(client, path, 0, DATA, {"Upload-Checksum": checksum(algorithm, DATA)})
    assert right.status_code == 204
    assert content(client, right.headers["upload-resource"]) == DATA


def test_piece_of_another_type_is_refused(client: httpx.Client) -> None:
    path = begin(client, 3)
    types = ("application/octet-stream", "", "application/offset+octet-stream; a=b")
    answers = [send(client, path, 0, b"abc", {"Content-Type": value}) for value in types]
    answers.append(send(client, path, 0, b"abc", {"Content-Encoding": "gzip"}))
    assert [answer.status_code for answer in answers] == [415] * 4
    assert offset_of(client, path) == 0


@pytest.mark.engines("embedded", "server")
def test_removed_upload_is_gone_and_its_resource_stays(client: httpx.Client) -> None:
    for size, status in ((3, 200), (4, 404)):
        path = begin(client, size)
        uri = send(client, path, 0, b"abc").headers.get("upload-resource", "0" * 32)
        removed = client.delete(path, headers=TUS)
        assert (removed.status_code, removed.content, own_headers(removed)) == (204, b"", TUS_ONLY)
        later = [
            client.head(path, headers=TUS),
            client.get(path),
            send(client, path, 3, b"d"),
            client.delete(path, headers=TUS),
        ]
        assert [answer.status_code for answer in later] == [404] * 4
        assert client.get(f"/api/resources/{uri}").status_code == status


@pytest.mark.parametrize("length", [LIMIT_BYTES, LIMIT_BYTES + 1, 2**63, 10**400])
def test_file_longer_than_the_limit_is_refused(small: LiveService, length: int) -> None:
    with small.client() as client:
        answer = client.post(ROUTE, headers={**TUS, "Upload-Length": str(length)})
    assert answer.status_code == (201 if length == LIMIT_BYTES else 413)


def test_length_has_to_be_known(client: httpx.Client) -> None:
    answer = client.post(ROUTE, headers={**TUS, "Upload-Defer-Length": "1"})
    assert answer.status_code == 400
    assert "not offered" in answer.json()["detail"]


@pytest.mark.parametrize("version", [[], ["0.2.2"], ["1.0"], ["1.0.0", "1.0.0"], ["\u00e9"]])
def test_other_versions_are_refused_before_anything_is_done(
    client: httpx.Client, version: list[str]
) -> None:
    path = begin(client, 3)
    spoken = [(b"Tus-Resumable", value.encode()) for value in version]
    piece = [(b"Upload-Offset", b"0"), (b"Content-Type", b"application/offset+octet-stream")]
    answers = [
        client.post(ROUTE, headers=[*spoken, (b"Upload-Length", b"3")]),
        client.head(path, headers=spoken),
        client.patch(path, content=b"abc", headers=[*spoken, *piece]),
        client.delete(path, headers=spoken),
    ]
    told = [(answer.status_code, own_headers(answer)) for answer in answers]
    refusal = {**TUS_ONLY, "tus-version": "1.0.0", "cache-control": "no-store"}
    assert told == [(412, refusal)] * 4
    assert offset_of(client, path) == 0


def test_every_answer_says_the_version(service: LiveService, client: httpx.Client) -> None:
    with httpx.Client(base_url=service.base_url, trust_env=False) as stranger:
        answers = [
            stranger.post(ROUTE, headers=TUS),
            stranger.options(ROUTE),
            client.get(ROUTE),
            client.put(f"{ROUTE}/{ABSENT}"),
            client.get(f"{ROUTE}/{ABSENT}"),
            client.get(f"{ROUTE}/{ABSENT}/more"),
            client.post(ROUTE, headers=TUS),
        ]
        offload_location = client.get("/api/uploadsx")
    assert [(a.status_code, a.headers.get("tus-resumable")) for a in answers] == [
        (status, "1.0.0") for status in (401, 401, 405, 405, 404, 404, 400)
    ]
    assert "tus-resumable" not in offload_location.headers


def test_method_may_be_told_in_a_header(client: httpx.Client) -> None:
    path = begin(client, 3)
    piece = {**PIECE, "Upload-Offset": "0", "X-HTTP-Method-Override": "patch"}
    sent = client.post(path, content=b"abc", headers=piece)
    response = client.post(path, headers={**TUS, "X-HTTP-Method-Override": "HEAD"})
    unknown = client.post(path, headers={**TUS, "X-HTTP-Method-Override": "no method"})
    removed = client.post(path, headers={**TUS, "X-HTTP-Method-Override": "DELETE"})
    answers = (sent, response, unknown, removed)
    assert [answer.status_code for answer in answers] == [204, 200, 405, 204]
    assert response.headers["upload-offset"] == "3"
    offload_location = {"X-HTTP-Method-Override": "DELETE"}
    assert client.get("/api/resources", headers=offload_location).status_code == 200


@pytest.mark.engines("embedded", "server")
def test_upload_that_is_over_is_gone(backends: Backends, engine: Engine, tmp_path: Path) -> None:
    limits = Limits(upload_seconds=1e-6)
    with (
        serving(backends.settings(engine, tmp_path / "data", limits=limits)) as service,
        service.client() as client,
    ):
        path = begin(client, 3)
        answers = [client.get(path), client.head(path, headers=TUS), send(client, path, 0, b"abc")]
        removed = client.delete(path, headers=TUS)
    assert [answer.status_code for answer in answers] == [410] * 3
    assert (answers[0].json()["code"], removed.status_code) == ("gone", 204)


def reading(
    service: LiveService, client: httpx.Client, path: str, offset: int, framing: str
) -> socket.socket:
    """A connection over which the service waits for the bytes of a piece."""
    lines = [f"PATCH {path} HTTP/1.1", "Host: x", "Connection: close", "Expect: 100-continue"]
    lines += [f"{k}: {v}" for k, v in {**PIECE, "Upload-Offset": str(offset)}.items()]
    lines += [f"Authorization: {client.headers['authorization']}", framing, "", ""]
    connection = socket.create_connection(("127.0.0.1", service.port), timeout=WAIT_SECONDS)
    connection.sendall("\r\n".join(lines).encode())
    assert connection.recv(65_536).startswith(b"HTTP/1.1 100")
    return connection


def status_of(connection: socket.socket) -> int:
    received = b""
    while piece := connection.recv(65_536):
        received += piece
    return int(received.split()[1])


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize("framing", ["Content-Length: 200000", "Transfer-Encoding: chunked"])
def test_what_came_of_a_broken_request_is_kept(
    service: LiveService, client: httpx.Client, framing: str
) -> None:
    path = begin(client, len(DATA))
    send(client, path, 0, DATA[:1_000])
    with reading(service, client, path, 1_000, framing) as connection:
        head = b"%x\r\n" % 199_000 if "chunked" in framing else b""
        connection.sendall(head + DATA[1_000:150_000])
    offsets = (client.get(path).json()["offset"] for _ in range(_MAX_QUESTIONS))
    assert next(offset for offset in offsets if offset != 1_000)
    kept = offset_of(client, path)
    # The last bytes before a connection breaks may break with it.
    assert 1_000 < kept <= 150_000
    uri = send(client, path, kept, DATA[kept:]).headers["upload-resource"]
    assert content(client, uri) == DATA


@pytest.mark.engines("embedded", "server")
def test_what_came_of_a_request_that_stopped_is_kept(small: LiveService) -> None:
    with small.client() as client:
        path = begin(client, 100)
        with reading(small, client, path, 0, "Content-Length: 100") as connection:
            connection.sendall(b"x" * 30)
            assert status_of(connection) == 408
        assert offset_of(client, path) == 30


@pytest.mark.engines("embedded", "server")
def test_who_asks_where_to_go_on_ends_the_request_that_hangs(
    service: LiveService, client: httpx.Client
) -> None:
    path = begin(client, 100)
    with reading(service, client, path, 0, "Content-Length: 100") as connection:
        connection.sendall(b"x" * 30)
        kept = offset_of(client, path)
        assert status_of(connection) == 409
    # They may not have been read yet, and if they were, they count.
    assert kept in (0, 30)
    whole = b"x" * 30 + b"y" * 70
    uri = send(client, path, kept, whole[kept:]).headers["upload-resource"]
    assert content(client, uri) == whole


@pytest.mark.engines("embedded", "server")
def test_of_two_pieces_at_one_offset_one_counts(service: LiveService, client: httpx.Client) -> None:
    path = begin(client, 10)
    pieces = [b"aaaaa", b"bbbbb", b"ccccc"]
    # All are at work before any of them can be through.
    connections = [reading(service, client, path, 0, "Content-Length: 5") for _ in pieces]
    for connection, piece in zip(connections, pieces, strict=True):
        connection.sendall(piece[:2])
    for connection, piece in zip(connections, pieces, strict=True):
        connection.sendall(piece[2:])
    statuses = [status_of(connection) for connection in connections]
    for connection in connections:
        connection.close()
    assert sorted(statuses) == [204, 409, 409]
    counted = pieces[statuses.index(204)]
    uri = send(client, path, 5, b"ddddd").headers["upload-resource"]
    assert content(client, uri) == counted + b"ddddd"


@pytest.mark.engines("embedded", "server")
def test_many_who_ask_about_a_finished_upload_get_one_resource(client: httpx.Client) -> None:
    path = begin(client, len(DATA))
    send(client, path, 0, DATA[:100_000])
    send(client, path, 100_000, DATA[100_000:])
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.head(path, headers=TUS), range(16)))
    assert len({answer.headers["upload-resource"] for answer in answers}) == 1


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, len(DATA)), max_size=6), checked=st.booleans())
def test_any_cutting_gives_the_same_resource(
    client: httpx.Client, cuts: list[int], checked: bool
) -> None:
    path = begin(client, len(DATA), pair("filename", b"a.bin"))
    ends = [*sorted(cuts), len(DATA)]
    answers = []
    for start, end in zip([0, *ends], ends, strict=False):
        piece = DATA[start:end]
        headers = {"Upload-Checksum": checksum("sha256", piece)} if checked else {}
        answers.append(send(client, path, start, piece, headers))
    assert {answer.status_code for answer in answers} == {204}
    uri = answers[-1].headers["upload-resource"]
    plain = client.post("/api/resources", content=DATA, params={"filename": "a.bin"})
    assert (uri, content(client, uri)) == (plain.json()["uri"], DATA)
