"""Quotas of a key: what an answer says of them, and what is refused when one is used up."""

import contextlib
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from app.config.settings import QuotaSettings
from app.services.quotas import key_quotas
from tests.contract.upload_requests import begin, checksum, send
from tests.kit.event_streams import ticket_of
from tests.kit.listening_sockets import socket_of
from tests.kit.servers import Backends, Engine, LiveService, serving

LISTED = "/api/resources"
REQUESTS = 20
BYTES = 100_000
UPLOAD_BYTES = 10_000
RACING = 16
POLICY = f'"requests";q={REQUESTS};w=60, "bytes";q={BYTES};w=86400;qu="content-bytes"'


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.moment = 1_000_000.0

    def monotonic(self) -> float:
        return self.moment


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock by which the services of this process count."""
    clock = Clock()
    monkeypatch.setattr(key_quotas, "time", clock)
    return clock


@pytest.fixture(scope="module")
def limited(
    backends: Backends, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveService]:
    """A service with both quotas."""
    settings = backends.settings(engine, tmp_path_factory.mktemp("quotas"))
    quotas = QuotaSettings(requests_per_minute=REQUESTS, body_bytes_per_day=BYTES)
    with serving(settings.model_copy(update={"quotas": quotas})) as service:
        yield service


@pytest.fixture
def caller(limited: LiveService) -> Iterator[httpx.Client]:
    """A client that has used nothing yet."""
    with limited.client() as client:
        yield client


def left(answer: httpx.Response) -> str:
    return answer.headers["ratelimit"]


def bytes_left(client: httpx.Client) -> int:
    """Return the bytes that the key may still send."""
    of_bytes = left(client.get(LISTED)).partition('"bytes";r=')[2]
    return int(of_bytes.partition(";")[0])


def use_up(client: httpx.Client, requests: int = REQUESTS) -> None:
    for _ in range(requests):
        assert client.get(LISTED).status_code == 200


def handshake(client: httpx.Client, query: str = "", **headers: str | None) -> int:
    """The status that a handshake is refused with."""
    with (
        pytest.raises(InvalidStatus) as refused,
        socket_of(client, query, session_id="s", **headers),
    ):
        pass
    return refused.value.response.status_code


def stored(client: httpx.Client) -> int:
    """Return the number of files of the project."""
    return len(client.get(LISTED).json()["items"])


def test_every_answer_to_a_key_says_what_is_left(caller: httpx.Client, clock: Clock) -> None:
    first = caller.get(LISTED)
    assert (first.headers["ratelimit-policy"], left(first)) == (
        POLICY,
        f'"requests";r=19;t=60, "bytes";r={BYTES}',
    )
    clock.moment += 12.5
    uploaded = caller.post(LISTED, content=b"x" * 1_000)
    assert left(uploaded) == '"requests";r=18;t=48, "bytes";r=99000;t=86400'
    clock.moment += 47.5
    missing = caller.get("/api/tool-results/absent")
    assert (missing.status_code, left(missing)) == (
        404,
        '"requests";r=19;t=60, "bytes";r=99000;t=86353',
    )


def test_request_too_many_is_told_when_to_come_back(caller: httpx.Client, clock: Clock) -> None:
    use_up(caller)
    clock.moment += 20.2
    refused = caller.get(LISTED)
    assert refused.status_code == 429
    assert refused.json() == {
        "type": "/docs/errors#quota-exceeded",
        "title": "A quota is used up",
        "status": 429,
        "detail": "This key has used up its quota of requests; there is more of it in 40 seconds.",
        "instance": LISTED,
        "code": "quota-exceeded",
        "requestId": refused.headers["x-request-id"],
        "violated-policies": ["requests"],
    }
    assert (
        refused.headers["retry-after"],
        refused.headers["cache-control"],
        refused.headers["ratelimit-policy"],
        left(refused),
    ) == ("40", "no-store", POLICY, f'"requests";r=0;t=40, "bytes";r={BYTES}')
    clock.moment += 39.8
    assert left(caller.get(LISTED)).startswith('"requests";r=19;t=60')


@pytest.mark.usefixtures("clock")
def test_every_way_that_takes_the_key_is_counted(caller: httpx.Client) -> None:
    uri = caller.post(LISTED, content=b"y").json()["uri"]
    ticket = ticket_of(caller)
    use_up(caller, REQUESTS - 2)
    ways = [LISTED, f"{LISTED}/{uri}/content", "/api/events", "/api/sessions/s/events"]
    assert [caller.get(way).status_code for way in ways] == [429] * 4
    assert caller.post("/api/events/ticket").status_code == 429
    assert handshake(caller) == 429
    assert handshake(caller, f"?ticket={ticket}", Authorization=None) == 429


@pytest.mark.usefixtures("clock")
def test_what_needs_no_key_is_counted_for_nobody(caller: httpx.Client) -> None:
    uri = caller.post(LISTED, content=b"z").json()["uri"]
    url = caller.post(f"{LISTED}/{uri}/signed-url").json()["url"]
    link = url.partition("/api/")[2]
    use_up(caller, REQUESTS - 2)
    answers = [caller.get(path) for path in (f"/api/{link}", "/healthz", "/readyz")]
    assert [(answer.status_code, "ratelimit" in answer.headers) for answer in answers] == [
        (200, False)
    ] * 3


@pytest.mark.promise(
    "security.md#quotas-and-a-full-disk",
    "Requests of one key do not count against another key",
    kept_by="app/services/quotas/key_quotas.py",
    tried="0 requests",
)
@pytest.mark.usefixtures("clock")
def test_another_key_of_the_project_is_not_touched(limited: LiveService) -> None:
    keys = (limited.new_key("p-shared"), limited.new_key("p-shared"))
    with limited.client(keys[0]) as first, limited.client(keys[1]) as second:
        use_up(first)
        assert first.get(LISTED).status_code == 429
        assert left(second.get(LISTED)) == f'"requests";r=19;t=60, "bytes";r={BYTES}'


@pytest.mark.promise(
    "security.md#quotas-and-a-full-disk",
    "Racing uploads never exceed a key's bytes for a day",
    kept_by="app/services/quotas/key_quotas.py",
    tried="0 bytes too many",
)
@pytest.mark.parametrize("is_announced", [True, False])
@pytest.mark.usefixtures("clock")
def test_racing_uploads_never_exceed_the_bytes_of_a_day(
    caller: httpx.Client, *, is_announced: bool
) -> None:
    def upload(number: int) -> int:
        halves = [bytes([number]) * (UPLOAD_BYTES // 2)] * 2
        body = b"".join(halves) if is_announced else iter(halves)
        return caller.post(LISTED, content=body).status_code

    with ThreadPoolExecutor(RACING) as pool:
        statuses = list(pool.map(upload, range(RACING)))
    kept = statuses.count(201)
    assert sorted(statuses) == [201] * kept + [429] * (RACING - kept)
    assert (kept == BYTES // UPLOAD_BYTES) if is_announced else (0 < kept <= BYTES // UPLOAD_BYTES)
    assert (stored(caller), bytes_left(caller)) == (kept, BYTES - kept * UPLOAD_BYTES)


def test_bytes_too_many_are_refused_before_they_are_taken(
    caller: httpx.Client, clock: Clock
) -> None:
    caller.post(LISTED, content=b"a" * 60_000).raise_for_status()
    clock.moment += 3_600
    refused = caller.post(LISTED, content=b"b" * 40_001)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "82800")
    assert refused.json()["violated-policies"] == ["bytes"]
    assert caller.post(LISTED, content=b"b" * 40_000).status_code == 201
    clock.moment += 82_800
    assert bytes_left(caller) == BYTES


@pytest.mark.usefixtures("clock")
def test_body_that_no_day_has_room_for_is_too_large(caller: httpx.Client) -> None:
    refused = caller.post(LISTED, content=b"x" * (BYTES + 1))
    assert (refused.status_code, refused.json()["code"]) == (413, "payload-too-large")
    assert bytes_left(caller) == BYTES


@pytest.mark.usefixtures("clock")
def test_refused_upload_gives_its_bytes_back(caller: httpx.Client) -> None:
    wrong = {"Repr-Digest": "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"}
    refused = caller.post(LISTED, content=b"x" * 50_000, headers=wrong)
    assert (refused.status_code, bytes_left(caller), stored(caller)) == (400, BYTES, 0)


@pytest.mark.promise(
    "security.md#quotas-and-a-full-disk",
    "An upload that is cut off gives its reserved bytes back",
    kept_by="app/services/quotas/key_quotas.py",
    tried="0 bytes reserved",
)
def test_upload_that_is_cut_gives_its_bytes_back(
    limited: LiveService, caller: httpx.Client, clock: Clock
) -> None:
    head = (
        f"POST {LISTED} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000\r\n"
        f"Authorization: {caller.headers['authorization']}\r\n\r\n"
    )
    with contextlib.closing(socket.create_connection(("127.0.0.1", limited.port))) as connection:
        connection.sendall(head.encode() + b"x" * 20_000)
        await_left(BYTES - 50_000, caller, clock)
    await_left(BYTES, caller, clock)
    assert stored(caller) == 0


def await_left(wanted: int, client: httpx.Client, clock: Clock) -> None:
    """Look until so many bytes are left. A look is a request, so time goes on in between."""
    for _ in range(1_000):
        clock.moment += 3.1
        if bytes_left(client) == wanted:
            return
    raise AssertionError(f"never were {wanted} bytes left")


@pytest.mark.usefixtures("clock")
def test_piece_of_an_upload_counts_although_it_is_refused(caller: httpx.Client) -> None:
    path = begin(caller, 3_000)
    assert send(caller, path, 0, b"x" * 1_000).status_code == 204
    damaged = {"Upload-Checksum": checksum("sha256", b"other")}
    assert send(caller, path, 1_000, b"y" * 2_000, damaged).status_code == 460
    assert bytes_left(caller) == BYTES - 3_000


def test_without_quotas_no_answer_speaks_of_them(client: httpx.Client) -> None:
    answers = [client.get(LISTED), client.post(LISTED, content=b"x")]
    names = {name for answer in answers for name in answer.headers if "ratelimit" in name}
    assert names == set()
