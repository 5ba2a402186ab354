"""Every route, found in the application's own table, refuses rebound names and foreign pages."""

import http.client
from collections.abc import Iterable, Iterator
from pathlib import Path

import httpx
import pytest
from starlette.routing import BaseRoute, Route, WebSocketRoute

from pagefault_mcp.server.error_middleware import MCP_PATH as MCP
from tests.kit.described_api import api_document, application
from tests.kit.event_streams import WAIT_SECONDS
from tests.kit.servers import Backends, LiveService, serving

JSON = {"Content-Type": "application/json"}
WRITING = {"POST", "PUT", "PATCH", "DELETE"}
FOREIGN = {"Origin": "https://evil.example"}
CROSS_SITE = {"Sec-Fetch-Site": "cross-site"}
NAMED = "https://app.example.com"
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
# What no route is at, and what a router answers by itself.
NOWHERE = [
    *((method, "/nothing") for method in sorted({"GET", "HEAD", "OPTIONS", "TRACE", *WRITING})),
    *((method, "/api/sessions") for method in ("OPTIONS", "TRACE", "DELETE")),
]


def flat(routes: Iterable[BaseRoute]) -> Iterator[BaseRoute]:
    """All routes, those of routers within a router too."""
    for route in routes:
        if (inner := getattr(route, "original_router", None)) is not None:
            yield from flat(inner.routes)
        else:
            yield route


TABLE = list(flat(application().routes))
ROUTES = sorted(
    (method, route.path)
    for route in TABLE
    if isinstance(route, Route)
    for method in route.methods or ()
)
WRITES = [(method, path) for method, path in ROUTES if method in WRITING]
SOCKETS = [route.path for route in TABLE if isinstance(route, WebSocketRoute)]


@pytest.fixture(scope="module")
def open_service(
    backends: Backends, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveService]:
    """A service as it starts by itself: on loopback, without keys."""
    settings = backends.settings("embedded", tmp_path_factory.mktemp("open") / Path("data"))
    with serving(settings.model_copy(update={"auth": "none"})) as service:
        yield service


@pytest.fixture(scope="module")
def keyed_service(
    backends: Backends, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveService]:
    """A service that asks for keys and that pages of one origin may call."""
    settings = backends.settings("embedded", tmp_path_factory.mktemp("keyed") / Path("data"))
    with serving(settings.model_copy(update={"cors_origins": (NAMED,)})) as service:
        yield service


def asked(service: LiveService, method: str, path: str, **headers: str) -> tuple[int, str]:
    """Send the head of a request that announces a body, and none of it; the status and the type."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=WAIT_SECONDS)
    try:
        connection.putrequest(method, path.replace("{", "").replace("}", ""), skip_host=True)
        body = {"Content-Length": "10"} if method in WRITING else {}
        for name, value in {"Host": f"127.0.0.1:{service.port}", **body, **headers}.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.headers["content-type"]
    finally:
        connection.close()


def wrong(
    service: LiveService,
    asked_for: Iterable[tuple[str, str]],
    expected: int,
    **headers: str,
) -> list[tuple[str, str, int]]:
    """Of those requests, the ones that are answered in any other way."""
    answers = {item: asked(service, *item, **headers) for item in asked_for}
    return [
        (method, path, status)
        for (method, path), (status, kind) in answers.items()
        # Clients of MCP read no problems.
        if (status, kind) != (expected, f"application/{'json' if path == MCP else 'problem+json'}")
    ]


def test_table_of_routes_is_whole() -> None:
    documented = {
        (method.upper(), path)
        for path, operations in api_document()["paths"].items()
        for method in operations
    }
    assert documented <= set(ROUTES)
    assert len(ROUTES) > len(documented)
    assert SOCKETS == ["/api/sessions/{session_id}/ws"]


@pytest.mark.promise(
    "security.md#calls-from-a-browser",
    "Without keys, a request under a name rebound to loopback is refused by every route",
    kept_by="app/http/browser_guard.py",
    tried="every route of the application and unknown paths: 421, 0 answer",
)
@pytest.mark.parametrize("host", ["evil.example:8000", "127.0.0.1.evil.example"])
def test_rebound_name_is_answered_by_no_route(open_service: LiveService, host: str) -> None:
    assert wrong(open_service, [*ROUTES, *NOWHERE], 421, Host=host) == []


@pytest.mark.promise(
    "security.md#calls-from-a-browser",
    "Without keys, a name rebound to loopback opens no WebSocket",
    kept_by="app/http/browser_guard.py",
    tried="421",
)
def test_rebound_name_opens_no_socket(open_service: LiveService) -> None:
    handshakes = [("GET", path) for path in SOCKETS]
    assert wrong(open_service, handshakes, 421, Host="evil.example", **HANDSHAKE) == []


@pytest.mark.promise(
    "security.md#calls-from-a-browser",
    (
        "A page of another origin can write by no route, with keys or without, and is refused"
        " before its body has arrived"
    ),
    kept_by="app/http/browser_guard.py",
    tried="every writing route with 4 sets of headers, in 2 modes: 403",
)
@pytest.mark.parametrize(
    "headers", [FOREIGN, CROSS_SITE, {"Origin": "null"}, {**FOREIGN, **CROSS_SITE}], ids=str
)
@pytest.mark.parametrize("mode", ["open_service", "keyed_service"])
def test_foreign_page_writes_by_no_route(
    request: pytest.FixtureRequest, mode: str, headers: dict[str, str]
) -> None:
    # Without a key: the page is refused before one is looked for, and before the body has come.
    service: LiveService = request.getfixturevalue(mode)
    writes = [*WRITES, *(item for item in NOWHERE if item[0] in WRITING)]
    assert wrong(service, writes, 403, **headers) == []
    handshakes = [("GET", path) for path in SOCKETS]
    assert wrong(service, handshakes, 403, **headers, **HANDSHAKE) == []


@pytest.mark.promise(
    "security.md#calls-from-a-browser",
    "A page of another origin can write with no type of body",
    kept_by="app/http/browser_guard.py",
    tried="3 types, 0 rows",
)
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_foreign_page_leaves_nothing_whatever_type_it_sends(
    open_service: LiveService, kind: str | None
) -> None:
    with httpx.Client(base_url=open_service.base_url, trust_env=False) as client:
        headers = {**FOREIGN, **({} if kind is None else {"Content-Type": kind})}
        answers = [
            client.post("/api/resources", content=b"x", headers=headers),
            client.post("/api/pages/p/fault", headers=headers),
            client.post("/api/events/ticket", headers=headers),
            client.post("/api/resources/0/signed-url", content=b"{}", headers=headers),
        ]
        assert {answer.status_code for answer in answers} == {403}
        assert {answer.headers["vary"] for answer in answers} == {"Origin"}
        assert [client.get(path).json()["items"] for path in ("/api/resources", "/api/pages")] == [
            [],
            [],
        ]


def test_named_origin_writes_and_is_answered_its_preflights(keyed_service: LiveService) -> None:
    with keyed_service.client() as client:
        answer = client.post(
            "/api/resources", content=b"x", headers={"Origin": NAMED, **CROSS_SITE}
        )
        preflight = {"Origin": NAMED, "Access-Control-Request-Method": "POST"}
        allowed = client.options("/api/resources", headers=preflight)
        foreign = client.options("/api/resources", headers={**preflight, **FOREIGN})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (201, NAMED)
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, NAMED)
    assert (foreign.status_code, "access-control-allow-origin" in foreign.headers) == (400, False)


def test_any_host_is_answered_where_keys_are_asked_for(keyed_service: LiveService) -> None:
    with keyed_service.client() as client:
        assert client.get("/api/pages", headers={"Host": "any.example"}).status_code == 200


def test_listed_host_is_answered_and_with_a_list_any_other_is_not(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("embedded", tmp_path / "data")
    names = {"allowed_hosts": ("box",), "public_url": "https://media.example.com"}
    hosts = ["box", "box:81", "media.example.com", "localhost", "other.example"]
    for auth in ("none", "api-key"):
        chosen = settings.model_copy(update={**names, "auth": auth})
        with serving(chosen) as service:
            answers = [asked(service, "GET", "/healthz", Host=host)[0] for host in hosts]
        assert answers == [200, 200, 200, 200, 421]


def test_method_that_an_upload_is_told_by_a_header_is_judged(open_service: LiveService) -> None:
    told = {**FOREIGN, "X-HTTP-Method-Override": "DELETE"}
    assert asked(open_service, "POST", "/api/uploads/x", **told)[0] == 403
    assert asked(open_service, "GET", "/api/uploads/x", **told)[0] == 403
