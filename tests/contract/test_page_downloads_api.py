"""Pages as files over HTTP: every kind, every level, and what a URL leads to."""

import base64
import hashlib
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from app.config.settings import FetchSettings
from app.services.fetching.resolving import LOOKUP
from tests.contract.page_requests import (
    ROUTE,
    data_uri,
    download,
    file_name,
    outcome,
    put,
    resources,
)
from tests.kit.hostile_origin import PNG, HostileOrigin, answer, redirect
from tests.kit.media import jpeg, mp4, png, wav
from tests.kit.servers import Backends, Engine, LiveService, serving

pytestmark = pytest.mark.engines("embedded")

LARGE_PNG = png(noise=True)
SMALL = jpeg(32, 24)
CAP_BYTES = 256 * 1024
IMAGE = {"modality": "image"}
DATA = {"modality": "structured"}


@pytest.mark.parametrize(
    ("page", "name", "mime_type", "content"),
    [
        ({"content": "a\r\n\u00e9\x00"}, "p.txt", "text/plain", b"a\r\n\xc3\xa9\x00"),
        ({"content": ""}, "p.txt", "text/plain", b""),
        ({"content": "a,b", "mime_type": "text/csv"}, "p.csv", "text/csv", b"a,b"),
        ({"content": "x", "mime_type": "image/png"}, "p.txt", "text/plain", b"x"),
        ({"content": "x", "mime_type": "no/such"}, "p.txt", "text/plain", b"x"),
        ({"content": "x", "mime_type": "text/x-go"}, "p.go", "text/x-go", b"x"),
        ({"content": "x", "mime_type": "text/rust"}, "p.rs", "text/rust", b"x"),
        ({"content": "x", "metadata": {"language": "kotlin"}}, "p.kt", "text/plain", b"x"),
        ({"content": "x", "metadata": {"filename": "a/main.go"}}, "p.go", "text/plain", b"x"),
        ({"content": "x", "metadata": {"language": "pl"}}, "p.txt", "text/plain", b"x"),
        ({"content": "data:text/x-go;base64,eA=="}, "p.go", "text/x-go", b"x"),
        ({**DATA, "content": {"\u00e9": [10**30]}}, "p.json", "application/json", None),
        ({**DATA, "content": '{ "a": 1 }'}, "p.json", "application/json", b'{ "a": 1 }'),
        ({**DATA, "content": "words"}, "p.json", "application/json", b'"words"'),
        ({**IMAGE, "content": "A caption"}, "p.txt", "text/plain", b"A caption"),
        ({**IMAGE, "content": data_uri(png(), "image/png")}, "p.png", "image/png", png()),
        ({**IMAGE, "content": data_uri(jpeg(), "image/png")}, "p.png", "image/jpeg", jpeg()),
        ({**IMAGE, "content": data_uri(LARGE_PNG, "image/png")}, "p.png", "image/png", LARGE_PNG),
        (
            {**IMAGE, "content": "data:image/svg+xml,%3Csvg/%3e"},
            "p.svg",
            "image/svg+xml",
            b"<svg/>",
        ),
        ({"content": data_uri(png(), "image/png")}, "p.png", "image/png", png()),
        ({"content": data_uri(LARGE_PNG, "image/png")}, "p.png", "image/png", LARGE_PNG),
        (
            {"content": data_uri(LARGE_PNG, "image/png"), "mime_type": "text/plain"},
            *("p.png", "image/png", LARGE_PNG),
        ),
        (
            {"content": "data:text/csv,a%2Cb%0A1%2C2", "mime_type": "text/markdown"},
            *("p.md", "text/csv", b"a,b\n1,2"),
        ),
        ({"content": data_uri(b"a,b\n" * 500, "text/csv")}, "p.csv", "text/csv", b"a,b\n" * 500),
        ({"content": "data:,one%20line"}, "p.txt", "text/plain", b"one line"),
        ({"content": "data:;base64,aGVsbG8="}, "p.txt", "text/plain", b"hello"),
        (
            {**IMAGE, "content": data_uri(png(), "image/png").replace("image/png", "")},
            *("p.png", "image/png", png()),
        ),
        (
            {"content": "data:text/plain, is how a data URI begins, and then words follow."},
            "p.txt",
            "text/plain",
            b"data:text/plain, is how a data URI begins, and then words follow.",
        ),
        ({"content": "data:text/csv,a%20b%0Ac"}, "p.csv", "text/csv", b"a b\nc"),
        (
            {"content": "data:image/svg+xml,<svg id='a b'/>"},
            "p.svg",
            "image/svg+xml",
            b"<svg id='a b'/>",
        ),
        ({"content": "data:, and so on"}, "p.txt", "text/plain", b"data:, and so on"),
        ({"content": "data:text/csv;base64,?"}, "p.txt", "text/plain", b"data:text/csv;base64,?"),
        ({"content": "data:text/plain,x%zz"}, "p.txt", "text/plain", b"x%zz"),
        ({**DATA, "content": data_uri(jpeg(), "image/jpeg")}, "p.jpg", "image/jpeg", jpeg()),
        (
            {**DATA, "content": "data:application/json,%7B%7D"},
            *("p.json", "application/json", b"{}"),
        ),
        (
            {**DATA, "content": ["data:application/json,%7B%7D"]},
            *("p.json", "application/json", None),
        ),
        (
            {**IMAGE, "content": data_uri(LARGE_PNG, "image/png"), "mime_type": "image/webp"},
            *("p.webp", "image/png", LARGE_PNG),
        ),
        (
            {
                **IMAGE,
                "content": f"data:image/png;base64,{base64.urlsafe_b64encode(png()).decode()}",
            },
            *("p.png", "image/png", png()),
        ),
        (
            {"modality": "audio", "content": data_uri(wav(0.01), "audio/wav")},
            *("p.wav", "audio/wav", wav(0.01)),
        ),
        (
            {"modality": "video", "content": data_uri(mp4(), "video/mp4")},
            *("p.mp4", "video/mp4", mp4()),
        ),
        (
            {"modality": "audio", "content": data_uri(b"\x00\x01\x02", "application/octet-stream")},
            *("p.bin", "application/octet-stream", b"\x00\x01\x02"),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_page_is_a_file_of_its_kind(
    shared_client: httpx.Client,
    page: dict[str, Any],
    name: str,
    mime_type: str,
    content: bytes | None,
) -> None:
    put(shared_client, **page)
    found = download(shared_client)
    assert (file_name(found), found.headers["content-type"].partition(";")[0]) == (name, mime_type)
    if content is None:
        assert found.json() == page["content"]
    else:
        assert found.content == content


@pytest.mark.parametrize(
    ("level", "name"),
    [("full", "p.png"), ("1", "p.jpg"), ("ABSTRACT", "p.txt"), ("reference", "p.txt")],
)
def test_every_level_is_a_file(shared_client: httpx.Client, level: str, name: str) -> None:
    content = data_uri(png(600, 400, noise=True), "image/png")
    put(shared_client, **IMAGE, content=content, caption="Words")
    assert file_name(download(shared_client, level=level)) == name


@pytest.mark.engines("embedded", "server")
def test_resource_is_downloaded_under_the_name_of_the_page(client: httpx.Client) -> None:
    stored = client.post("/api/resources", content=png(), params={"filename": "../secret.jpg"})
    put(client, **IMAGE, content=f"@{stored.json()['uri']}")
    found = download(client)
    assert (file_name(found), found.content) == ("p.png", png())


@pytest.mark.parametrize("level", [None, "1", "2"])
def test_level_that_holds_nothing_is_not_a_file(client: httpx.Client, level: str | None) -> None:
    put(client, **IMAGE, content=None)
    assert outcome(download(client, level=level)) == (404, "no-content")


def test_broken_data_uri_is_not_a_file(client: httpx.Client) -> None:
    put(client, **IMAGE, content="data:image/png;base64,abc")
    assert outcome(download(client)) == (422, "invalid-base64")
    assert resources(client) == []


@pytest.fixture(scope="module")
def origin() -> Iterator[HostileOrigin]:
    behaviours = {
        "/login": answer(b"<!doctype html><form>", "Content-Type: text/html"),
        "/typeless": answer(PNG),
        "/traversal": answer(
            PNG, "Content-Type: image/png", 'Content-Disposition: attachment; filename="../../x.sh"'
        ),
        "/sound": answer(wav(), "Content-Type: audio/x-wav"),
        "/moved": redirect("/ok.png"),
        "/small.jpg": answer(SMALL, "Content-Type: image/jpeg"),
    }
    with HostileOrigin(behaviours) as origin:
        yield origin


@pytest.fixture
def canary() -> Iterator[HostileOrigin]:
    """A server of the inner network: whoever connects to it has got in."""
    with HostileOrigin() as canary:
        yield canary
        assert canary.connections == 0


@pytest.fixture(scope="module")
def fetching_service(
    backends: Backends,
    engine: Engine,
    origin: HostileOrigin,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[LiveService]:
    """A service that may fetch from the origin, from nowhere else, and is impatient."""
    fetch = FetchSettings(
        allow=(f"127.0.0.1:{origin.port}", f"files.test:{origin.port}"),
        max_bytes=CAP_BYTES,
        connect_seconds=0.3,
        read_seconds=0.3,
        total_seconds=0.6,
    )
    settings = backends.settings(engine, tmp_path_factory.mktemp("fetching"))
    with serving(settings.model_copy(update={"fetch": fetch})) as live:
        yield live


@pytest.fixture
def fetching(fetching_service: LiveService) -> Iterator[httpx.Client]:
    with fetching_service.client() as client:
        yield client


@pytest.fixture(scope="module")
def refused(fetching_service: LiveService) -> Iterator[httpx.Client]:
    """A client that is never given a file."""
    with fetching_service.client() as client:
        yield client


def url(origin: HostileOrigin, path: str) -> str:
    return f"http://127.0.0.1:{origin.port}{path}"


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize(
    ("path", "page", "name", "content"),
    [
        ("/ok.png", IMAGE, "p.png", PNG),
        ("/moved", IMAGE, "p.png", PNG),
        ("/typeless", IMAGE, "p.png", PNG),
        ("/traversal", IMAGE, "p.png", PNG),
        ("/ok.png", {**IMAGE, "mime_type": "image/webp"}, "p.webp", PNG),
        ("/sound", {"modality": "audio"}, "p.wav", wav()),
        ("/sound", {"modality": "video"}, "p.wav", wav()),
    ],
)
def test_file_behind_a_url_is_fetched(
    fetching: httpx.Client,
    origin: HostileOrigin,
    path: str,
    page: dict[str, Any],
    name: str,
    content: bytes,
) -> None:
    stored = put(fetching, **page, content=url(origin, path))
    found = download(fetching)
    assert (file_name(found), found.content) == (name, content)
    assert fetching.get(f"{ROUTE}/p").json()["content"] == stored["content"]


@pytest.mark.engines("embedded", "server")
def test_second_download_is_local_even_when_the_origin_is_gone(
    backends: Backends, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with HostileOrigin() as origin:
        fetch = FetchSettings(allow=(f"127.0.0.1:{origin.port}",))
        settings = backends.settings(engine, tmp_path_factory.mktemp("gone"))
        with serving(settings.model_copy(update={"fetch": fetch})) as service:
            key = service.new_key()
            with service.client(key) as client:
                put(client, **IMAGE, content=url(origin, "/ok.png"))
                first = download(client)
        assert origin.paths == ["/ok.png"]
    with serving(settings) as service, service.client(key) as client:
        client.patch(f"{ROUTE}/p", json={"caption": "Noise"})
        second = download(client)
        part = download(client, Range="bytes=1-3")
    assert (second.status_code, second.content) == (200, PNG)
    assert second.headers["etag"] == first.headers["etag"]
    assert (part.status_code, part.content) == (206, PNG[1:4])


def test_page_with_another_url_is_fetched_anew(
    fetching: httpx.Client, origin: HostileOrigin
) -> None:
    put(fetching, modality="video", content=url(origin, "/until-close?a"))
    put(fetching, modality="video", content=url(origin, "/sound"))
    assert download(fetching).content == wav()
    put(fetching, modality="audio", content=url(origin, "/sound?b"))
    before = len(origin.requests)
    assert download(fetching).content == wav()
    assert origin.paths[before:] == ["/sound?b"]


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize("levels", [(0, 1), (1, 0)], ids=str)
def test_each_level_with_a_url_of_its_own_is_its_own_file(
    fetching: httpx.Client, origin: HostileOrigin, levels: tuple[int, int]
) -> None:
    put(fetching, **IMAGE, content=url(origin, "/ok.png"))
    supplied = {"content": url(origin, "/small.jpg")}
    assert fetching.put(f"{ROUTE}/p/representations/1", json=supplied).status_code == 201
    files = {0: ("p.png", PNG), 1: ("p.jpg", SMALL)}
    for level in levels * 2:
        found = download(fetching, level=str(level))
        assert (file_name(found), found.content) == files[level]


@pytest.mark.engines("embedded", "server")
def test_fetched_file_is_kept_as_long_as_its_page(
    fetching: httpx.Client, origin: HostileOrigin
) -> None:
    put(fetching, **IMAGE, content=url(origin, "/ok.png"))
    download(fetching)
    (resource,) = resources(fetching)
    path = f"/api/resources/{resource['uri'].removeprefix('blob:')}"
    assert resource["digest"] == f"sha-256:{hashlib.sha256(PNG).hexdigest()}"
    assert fetching.delete(path).status_code == 409
    fetching.delete(f"{ROUTE}/p")
    assert fetching.delete(path).status_code == 204


@pytest.mark.engines("embedded", "server")
def test_downloads_at_once_are_all_answered(fetching: httpx.Client, origin: HostileOrigin) -> None:
    put(fetching, **IMAGE, content=url(origin, "/ok.png"))
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: download(fetching), range(6)))
    assert [(message.status_code, message.content) for message in found] == [(200, PNG)] * 6
    assert len(resources(fetching)) == 1


@pytest.mark.engines("embedded", "server")
@pytest.mark.promise(
    "security.md#the-inner-network",
    "A file that is incomplete, empty or of the wrong kind leaves no row and no file",
    kept_by="app/services/pages/downloads.py",
    tried="13 answers",
)
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/nothing-here", (502, "upstream-error")),
        ("/login", (502, "upstream-error")),
        ("/shorter-than-said", (502, "upstream-error")),
        ("/torn-chunks", (502, "upstream-error")),
        ("/reset-body", (502, "upstream-error")),
        ("/garbage", (502, "upstream-error")),
        ("/bomb", (502, "upstream-error")),
        ("/loop", (502, "upstream-error")),
        ("/silence", (504, "upstream-timeout")),
        ("/stalled-body", (504, "upstream-timeout")),
        ("/dripping-body", (504, "upstream-timeout")),
        ("/announced-too-large", (422, "fetch-too-large")),
        ("/endless", (422, "fetch-too-large")),
    ],
)
def test_what_is_not_a_whole_file_is_refused_and_nothing_is_kept(
    refused: httpx.Client, origin: HostileOrigin, path: str, expected: tuple[int, str]
) -> None:
    page = put(refused, **IMAGE, content=url(origin, path))
    assert outcome(download(refused)) == expected
    assert resources(refused) == []
    assert refused.get(f"{ROUTE}/p").json()["content"] == page["content"]


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The system's resolver: it answers for `hang.test` once the event is set."""
    event = threading.Event()

    def getaddrinfo(host: str, port: int, *_: object, **__: object) -> list[Any]:
        if host == "hang.test":
            event.wait()
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield event
    event.set()


def lookups() -> set[int | None]:
    """Return the threads that look names up, those that another test has left included."""
    return {thread.ident for thread in threading.enumerate() if thread.name == LOOKUP}


@pytest.mark.promise(
    "security.md#the-inner-network",
    (
        "Host names that never resolve do not delay downloads of other projects; lookups that"
        " hang are counted until their threads end"
    ),
    kept_by="app/services/fetching/resolving.py",
    tried="24 downloads at once, 4 threads",
)
def test_names_that_never_resolve_hold_no_download_of_another_project(
    fetching_service: LiveService, origin: HostileOrigin, answered: threading.Event
) -> None:
    """A lookup that hangs cannot be ended, so those that nobody waits for still count."""
    before = lookups()
    with fetching_service.client() as hostile, fetching_service.client() as other:
        put(hostile, **IMAGE, content="http://hang.test/ok.png")
        put(other, **IMAGE, content=f"http://files.test:{origin.port}/ok.png")
        with ThreadPoolExecutor(24) as pool:
            held = list(pool.map(lambda _: outcome(download(hostile)), range(24)))
        assert set(held) == {(504, "upstream-timeout"), (503, "fetches-busy")}
        assert download(other).content == PNG
        assert len(lookups() - before) == 4
        assert outcome(download(hostile)) == (503, "fetches-busy")
        answered.set()
        # The names lead to loopback, which is refused: they are looked up again.
        assert outcome(download(hostile)) == (422, "fetch-blocked")


@pytest.mark.promise(
    "security.md#the-inner-network",
    "Slow servers of one project do not delay downloads of other projects",
    kept_by="app/services/fetching/resolving.py",
    tried="24 downloads at once, 8 under way",
)
def test_slow_servers_of_one_project_hold_no_download_of_another(
    fetching_service: LiveService, origin: HostileOrigin
) -> None:
    with fetching_service.client() as slow, fetching_service.client() as other:
        put(slow, **IMAGE, content=url(origin, "/dripping-body"))
        put(other, **IMAGE, content=url(origin, "/ok.png"))
        with ThreadPoolExecutor(24) as pool:
            held = [pool.submit(lambda: outcome(download(slow))) for _ in range(24)]
            assert download(other).content == PNG
            found = Counter(item.result() for item in held)
    assert set(found) == {(504, "upstream-timeout"), (503, "fetches-busy")}
    assert found[503, "fetches-busy"] >= 24 - 2 * 8


@pytest.mark.promise(
    "security.md#the-inner-network",
    "No page reaches the inner network",
    kept_by="app/services/pages/downloads.py",
    tried="10 URLs, 0 hits on the canary",
)
@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:{port}/ok.png",
        "http://localhost:{port}/ok.png",
        "http://0.0.0.0:{port}/ok.png",
        "http://2130706433:{port}/ok.png",
        "http://0x7f.1:{port}/ok.png",
        "http://[::1]:{port}/ok.png",
        "http://[::ffff:127.0.0.1]:{port}/ok.png",
        "http://user@127.0.0.1:{port}/ok.png",
        "https://127.0.0.1:{port}/ok.png",
        "http://127.0.0.1/ok.png",
    ],
)
def test_inner_network_is_never_reached(
    refused: httpx.Client, canary: HostileOrigin, target: str
) -> None:
    put(refused, **IMAGE, content=target.format(port=canary.port))
    assert outcome(download(refused)) == (422, "fetch-blocked")
    assert resources(refused) == []


def test_redirect_into_the_inner_network_is_not_followed(
    refused: httpx.Client, origin: HostileOrigin, canary: HostileOrigin
) -> None:
    origin.behaviours["/inside"] = redirect(url(canary, "/ok.png"))
    put(refused, **IMAGE, content=url(origin, "/inside"))
    assert outcome(download(refused)) == (422, "fetch-blocked")
    assert resources(refused) == []


@pytest.mark.promise(
    "security.md#the-inner-network",
    "Only a download fetches a URL",
    kept_by="app/services/pages/downloads.py",
    tried="0 hits on the canary",
)
def test_url_is_fetched_for_a_download_only(fetching: httpx.Client, canary: HostileOrigin) -> None:
    put(fetching, **IMAGE, content=url(canary, "/ok.png"), session_id="s")
    for what in ("", "/content", "/blocks", "/blocks?form=json", "/representations/1"):
        assert fetching.get(f"{ROUTE}/p{what}").status_code == 200
    assert fetching.post(f"{ROUTE}/p/fault", json={"target_level": 0}).status_code == 200
    assert download(fetching, level="2").status_code == 200
