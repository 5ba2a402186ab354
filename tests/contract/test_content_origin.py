"""Content on a host of its own: what links lead to, and nothing else."""

import base64
import http.client
import json
import re
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from app.config.settings import Settings
from app.routers.viewer import VIEW_PATHS
from tests.contract.content_requests import (
    ROW_IDS,
    ROWS,
    SIZE,
    TEXT,
    Row,
    Stored,
    content_headers,
    expected_headers,
    stored_text,
)
from tests.contract.session_requests import append, upload
from tests.contract.test_access import ABSENT, ROUTES
from tests.e2e.test_tail_command import call_tool, settings_of, tailing
from tests.kit.described_api import api_document
from tests.kit.event_streams import WAIT_SECONDS
from tests.kit.media import png
from tests.kit.nginx import EXAMPLES, Nginx, balancing
from tests.kit.plain_http import TRUSTS_NOBODY
from tests.kit.servers import Backends, Engine, LiveService, serving

pytestmark = pytest.mark.engines("embedded")

PUBLIC_URL = "https://media.example.com/below"
PUBLIC_ORIGIN = "https://media.example.com"
CONTENT_URL = "https://files.example.com"
CONTENT_HOST = "files.example.com"
OTHER_ORIGIN = "https://app.example.com"
CONTENT_ROUTE = "/api/resources/{uri}/content"
TWO_HOSTS = {"public_url": PUBLIC_URL, "content_url": CONTENT_URL}
ABSENT_PLACES = [
    *((method, path.format(**ABSENT)) for method, path in ROUTES if path != CONTENT_ROUTE),
    *(("GET", path.format(**ABSENT)) for path in VIEW_PATHS),
    *(
        ("GET", path)
        for path in (
            "/api/resources/",
            "/api/resources//content",
            "/api/resources/a/b/content",
            f"/api/resources/{ABSENT['uri']}/content/",
            f"/api/resources/{ABSENT['uri']}/content%0a",
            "/assets/index.js",
            "/docs",
            "/docs/errors",
            "/favicon.svg",
            "/healthz/",
            "/metrics",
            "/openapi.json",
            "/readyz",
            "/nothing",
        )
    ),
    *(
        (method, f"/api/resources/{ABSENT['uri']}/content")
        for method in ("POST", "PUT", "PATCH", "DELETE", "TRACE")
    ),
]


@dataclass(frozen=True)
class Hosts:
    """A file of a service with two hosts: a caller of each, and who may read the file."""

    service: LiveService
    owner: httpx.Client
    """With a key, at the service's own host."""
    files: httpx.Client
    """Without one, at the content URL."""
    path: str

    @property
    def content_path(self) -> str:
        return f"{self.path}/content"

    def link(self, **requested: object) -> httpx.URL:
        """A new link, as it is given."""
        answer = self.owner.post(f"{self.path}/signed-url", json=requested)
        assert answer.status_code == 200, answer.text
        return httpx.URL(answer.json()["url"])

    def linked(self, method: str = "GET", **headers: str) -> httpx.Response:
        """Return the answer of a new link."""
        return self.files.request(method, target(self.link()), headers=headers)


def target(link: httpx.URL) -> str:
    """The path and the query of a link."""
    return link.raw_path.decode()


def code(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


def said(answer: httpx.Response) -> tuple[int, str, dict[str, object]]:
    """Return the body of a refusal, without OpenAI's `error` of `/v1`; that of HEAD is empty."""
    problem = answer.json() if answer.content else {}
    told_of = {
        name: problem[name] for name in problem if name not in ("requestId", "instance", "error")
    }
    return answer.status_code, answer.headers["content-type"], told_of


@pytest.fixture(scope="module")
def two_hosts(
    backends: Backends, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveService]:
    """A service that sends content from another host, and a page as its viewer."""
    settings = backends.settings(engine, tmp_path_factory.mktemp("two-hosts"))
    viewer_dir = tmp_path_factory.mktemp("viewer")
    (viewer_dir / "index.html").write_text("<!doctype html>")
    changed = {**TWO_HOSTS, "cors_origins": (OTHER_ORIGIN,), "viewer_dir": viewer_dir}
    with serving(settings.model_copy(update=changed)) as service:
        yield service


@pytest.fixture
def hosts(two_hosts: LiveService) -> Iterator[Hosts]:
    with two_hosts.client() as owner, at_content_url(two_hosts) as files:
        path = owner.post("/api/resources", content=png(), params={"filename": "a.png"}).headers[
            "location"
        ]
        yield Hosts(two_hosts, owner, files, path)


@pytest.fixture(scope="module")
def stored(two_hosts: LiveService) -> Iterator[Stored]:
    """The text of the tests of content, and its link at the content URL."""
    with two_hosts.client() as owner, at_content_url(two_hosts) as files:
        text = stored_text(owner)
        url = owner.post(f"{text.path.removesuffix('/content')}/signed-url", json={}).json()["url"]
        yield Stored(files, target(httpx.URL(url)), text.last_modified)


def at_content_url(service: LiveService) -> httpx.Client:
    return httpx.Client(
        base_url=service.base_url,
        headers={"Host": CONTENT_HOST},
        trust_env=False,
        verify=TRUSTS_NOBODY,
    )


def test_links_lead_to_the_content_url(hosts: Hosts) -> None:
    kept = upload(hosts.owner, png(noise=True))
    append(hosts.owner, content=[{"type": "image_url", "image_url": {"url": f"@{kept['uri']}"}}])
    resolved = hosts.owner.post(
        "/api/resolve",
        json={"arguments": f"@{kept['uri']}", "sessionId": "s", "as": "signed-url"},
    ).json()["arguments"]
    rendered = hosts.owner.get(
        "/api/sessions/s/render", params={"target": "openai-chat", "media": "signed-url"}
    ).text
    links = [str(hosts.link()), resolved, *re.findall(r"https?://[^\"]+", rendered)]
    assert len(links) == 3
    assert [link.startswith(f"{CONTENT_URL}/api/resources/") for link in links] == [True] * 3
    contents = [hosts.files.get(target(httpx.URL(link))).content for link in links]
    assert contents == [png(), png(noise=True), png(noise=True)]


@pytest.mark.slow
def test_lines_of_the_command_lead_to_the_content_url(two_hosts: LiveService) -> None:
    data = base64.b64encode(png(noise=True)).decode()
    image = {"type": "image", "data": data, "mimeType": "image/png"}
    with two_hosts.client(two_hosts.new_key("tailed-too")) as client:
        call_tool(client, 1, {"content": [image]})
    env = {
        **settings_of(two_hosts.settings),
        "PAGEFAULT_PUBLIC_URL": PUBLIC_URL,
        "PAGEFAULT_CONTENT_URL": CONTENT_URL,
    }
    with tailing(env, "--project", "tailed-too", "--after", "0") as tail:
        tail.line()
        url = tail.line().split()[-1]
        tail.interrupt()
    assert url.startswith(f"{CONTENT_URL}/api/resources/")
    with at_content_url(two_hosts) as files:
        assert files.get(target(httpx.URL(url))).content == png(noise=True)


@pytest.mark.parametrize("row", ROWS, ids=ROW_IDS)
def test_link_answers_as_content_does(stored: Stored, row: Row) -> None:
    asked, status, span = row
    answer = stored.ask("GET", asked)
    assert answer.status_code == status
    if span is None:
        return
    start, end = span
    headers = expected_headers(stored, end - start)
    headers |= {"cross-origin-resource-policy": "cross-origin", "vary": "Origin"}
    if status == 206:
        headers["content-range"] = f"bytes {start}-{end - 1}/{SIZE}"
    assert answer.content == TEXT[start:end]
    assert content_headers(answer) == headers


def test_link_answers_head(hosts: Hosts) -> None:
    answer = hosts.linked("HEAD")
    assert (answer.status_code, answer.headers["content-length"]) == (200, str(len(png())))
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    (
        "The host of `PAGEFAULT_CONTENT_URL` serves nothing but content with a link, and no "
        "key is accepted there"
    ),
    kept_by="app/http/content_host.py",
    tried="81 requests, each with nothing, with a key and with a link",
)
@pytest.mark.parametrize(("method", "path"), ABSENT_PLACES)
def test_nothing_else_is_at_the_content_url(hosts: Hosts, method: str, path: str) -> None:
    key = {"Authorization": hosts.owner.headers["authorization"]}
    token = hosts.link().params["token"]
    answers = [
        hosts.files.request(method, path),
        hosts.files.request(method, path, headers=key),
        hosts.files.request(method, path, params={"token": token}),
    ]
    unknown = said(hosts.owner.request(method, "/nothing"))
    assert unknown[0] == 404
    assert [said(answer) for answer in answers] == [unknown] * 3


def test_routes_of_the_document_are_tried_at_the_content_url() -> None:
    document = api_document()["paths"]
    operations = {
        (method.upper(), path.format(**ABSENT)) for path in document for method in document[path]
    }
    content = CONTENT_ROUTE.format(**ABSENT)
    served = {("GET", content), ("HEAD", content), ("GET", "/healthz")}
    assert operations - set(ABSENT_PLACES) == served


def test_process_answers_for_its_health_at_the_content_url(hosts: Hosts) -> None:
    assert hosts.files.get("/healthz").json() == {"status": "ok"}


def test_no_socket_is_opened_at_the_content_url(hosts: Hosts) -> None:
    key = {"Authorization": hosts.owner.headers["authorization"]}
    with (
        socket.create_connection(("127.0.0.1", hosts.service.port)) as connection,
        pytest.raises(InvalidStatus) as refused,
    ):
        connect(
            f"ws://{CONTENT_HOST}/api/sessions/s/ws",
            sock=connection,
            additional_headers=key,
            proxy=None,
            open_timeout=WAIT_SECONDS,
        )
    answer = refused.value.response
    assert (answer.status_code, json.loads(answer.body or b"")["code"]) == (404, "no-such-route")


def test_key_opens_nothing_at_the_content_url(hosts: Hosts) -> None:
    key = {"Authorization": hosts.owner.headers["authorization"]}
    answers = [
        hosts.files.get(hosts.content_path, headers=key),
        hosts.files.head(hosts.content_path, headers=key),
        hosts.files.get(hosts.content_path, headers=key, params={"token": "x.y"}),
        hosts.files.get(hosts.content_path, headers=key, params={"token": ""}),
        hosts.files.get(hosts.content_path, headers=key, params={"Token": "x.y"}),
        hosts.owner.get(hosts.content_path),
    ]
    assert [answer.status_code for answer in answers] == [401, 401, 403, 403, 401, 200]
    assert code(answers[0]) == (401, "unauthorized")
    assert answers[0].headers["www-authenticate"] == "Bearer"
    assert answers[-1].headers["cross-origin-resource-policy"] == "same-origin"


def test_service_that_asks_for_no_key_wants_a_link_at_the_content_url(settings: Settings) -> None:
    changed = {**TWO_HOSTS, "auth": "none"}
    with (
        serving(settings.model_copy(update=changed)) as service,
        service.client("none") as owner,
        at_content_url(service) as files,
    ):
        path = owner.post("/api/resources", content=png()).headers["location"]
        hosts = Hosts(service, owner, files, path)
        answers = [files.get(f"{path}/content"), owner.get(f"{path}/content"), hosts.linked()]
    assert [answer.status_code for answer in answers] == [401, 200, 200]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("more", ["", "&download=1&filename=%C3%A9%20b.png"])
def test_link_to_the_service_itself_is_sent_to_the_content_url(
    hosts: Hosts, method: str, more: str
) -> None:
    asked = target(hosts.link()) + more
    answer = hosts.owner.request(method, asked)
    assert (answer.status_code, answer.content) == (307, b"")
    assert answer.headers["location"] == CONTENT_URL + asked
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.headers["referrer-policy"] == "no-referrer"
    followed = hosts.files.request(method, target(httpx.URL(answer.headers["location"])))
    assert (followed.status_code, followed.headers["content-length"]) == (200, str(len(png())))


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "A signed link to the API's host is redirected to the content host, and to no other",
    kept_by="app/http/content_host.py",
    tried="6 paths",
)
@pytest.mark.parametrize(
    "path",
    [
        "/api/resources/@evil.example/content",
        "/api/resources/%0d%0aX:1/content",
        "/api/resources/..%5c..%5cevil.example/content",
        "/api/resources/%23%3f/content",
        "/api/resources/%ed%a0%80%ff/content",
        "/%61pi/resources/x/content",
    ],
)
def test_no_path_is_sent_to_another_host(hosts: Hosts, path: str) -> None:
    answer = hosts.owner.get(f"{path}?token=%0d%0aX:1")
    assert answer.status_code == 307
    place = httpx.URL(answer.headers["location"])
    assert (place.scheme, place.host, place.params["token"]) == (
        "https",
        CONTENT_HOST,
        "\r\nX:1",
    )
    assert re.fullmatch(r"/api/resources/[^/?#\\]+/content", place.raw_path.decode().split("?")[0])


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_only_reading_is_sent_to_the_content_url(hosts: Hosts, method: str) -> None:
    assert hosts.owner.request(method, target(hosts.link())).status_code == 405


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "No spelling of the content host that a browser sends reaches the API",
    kept_by="app/config/settings.py",
    tried="6 spellings",
)
@pytest.mark.parametrize(
    "host",
    [
        "files.example.com",
        "FILES.Example.COM",
        "files.example.com:443",
        "files.example.com:",
        "files.example.com.",
        "files.example.com.:443",
    ],
)
def test_every_spelling_of_the_content_url_is_no_way_to_the_service(
    hosts: Hosts, host: str
) -> None:
    forwarded = {"Host": host, "X-Forwarded-Host": "media.example.com"}
    assert hosts.owner.get("/api/sessions").status_code == 200
    assert code(hosts.owner.get("/api/sessions", headers=forwarded)) == (404, "no-such-route")


def test_blank_behind_the_content_url_is_no_way_to_the_service_either(hosts: Hosts) -> None:
    # Not to be said with a client that keeps to the rules.
    connection = http.client.HTTPConnection("127.0.0.1", hosts.service.port)
    with closing(connection):
        connection.putrequest("GET", "/api/sessions", skip_host=True)
        connection.putheader("Host", "files.example.com \t")
        connection.putheader("Authorization", hosts.owner.headers["authorization"])
        connection.endheaders()
        assert connection.getresponse().status == 404


@pytest.mark.parametrize(
    "host",
    [
        "media.example.com",
        "files.example.com:80",
        "files.example.com:8443",
        "files.example.com.evil.example",
        "a.files.example.com",
        "files",
        "[::1]:8000",
    ],
)
def test_any_other_host_is_that_of_the_service(hosts: Hosts, host: str) -> None:
    headers = {b"Host": host.encode("latin-1"), b"X-Forwarded-Host": CONTENT_HOST.encode()}
    assert hosts.owner.get("/api/sessions", headers=headers).status_code == 200


@pytest.mark.promise(
    "security.md#the-transport",
    "If the request target is a URL, its host counts and the header does not",
    kept_by="app/server/request_target.py",
    tried="6 requests",
)
@pytest.mark.parametrize(
    ("target", "named", "status"),
    [
        (f"http://{CONTENT_HOST}/api/sessions", ["media.example.com"], 404),
        (f"HTTP://{CONTENT_HOST.upper()}:443/api/sessions", ["media.example.com"], 404),
        ("http://media.example.com/api/sessions", [CONTENT_HOST], 200),
        ("/api/sessions", [CONTENT_HOST, "media.example.com"], 400),
        ("/api/sessions", ["media.example.com", CONTENT_HOST], 400),
        ("/api/sessions", [], 400),
    ],
)
def test_host_of_the_target_counts_and_two_hosts_or_none_are_refused(
    hosts: Hosts, target: str, named: list[str], status: int
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", hosts.service.port, timeout=WAIT_SECONDS)
    with closing(connection):
        connection.putrequest("GET", target, skip_host=True)
        for host in named:
            connection.putheader("Host", host)
        connection.putheader("Authorization", hosts.owner.headers["authorization"])
        connection.endheaders()
        assert connection.getresponse().status == status


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (PUBLIC_ORIGIN, PUBLIC_ORIGIN),
        (OTHER_ORIGIN, OTHER_ORIGIN),
        (CONTENT_URL, None),
        ("https://evil.example", None),
        ("null", None),
    ],
)
def test_pages_of_the_service_may_read_what_links_lead_to(
    hosts: Hosts, origin: str, allowed: str | None
) -> None:
    link = target(hosts.link())
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "range",
    }
    preflight = hosts.files.options(link, headers=asked)
    read = hosts.files.get(link, headers={"Origin": origin, "Range": "bytes=0-1"})
    assert read.status_code == 206
    found = [answer.headers.get("access-control-allow-origin") for answer in (preflight, read)]
    assert found == [allowed, allowed]
    assert "Content-Range" in read.headers["access-control-expose-headers"].split(", ")


def test_policy_of_the_viewer_names_the_content_url(hosts: Hosts) -> None:
    policy = hosts.owner.get("/sessions").headers["content-security-policy"].split("; ")
    assert [item for item in policy if CONTENT_URL in item] == [
        f"img-src 'self' {CONTENT_URL} data: blob:",
        f"media-src 'self' {CONTENT_URL} blob:",
        f"frame-src 'self' {CONTENT_URL}",
    ]


def test_resource_policy_that_was_chosen_is_kept(tmp_path: Path) -> None:
    chosen = Settings(
        data_dir=tmp_path,
        log_level="error",
        public_url=PUBLIC_URL,
        content_url=CONTENT_URL,
        cross_origin_resource_policy="same-site",
    )
    with (
        serving(chosen) as service,
        service.client("none") as owner,
        at_content_url(service) as files,
    ):
        path = owner.post("/api/resources", content=png()).headers["location"]
        answer = Hosts(service, owner, files, path).linked()
    assert (answer.status_code, answer.headers["cross-origin-resource-policy"]) == (
        200,
        "same-site",
    )


def test_documented_proxy_keeps_the_hosts_apart(tmp_path: Path) -> None:
    server = (EXAMPLES / "content-host.conf").read_text()
    assert f"server_name {CONTENT_HOST};" in server
    settings = Settings(
        data_dir=tmp_path / "data",
        auth="api-key",
        log_level="error",
        public_url=PUBLIC_URL,
        content_url=CONTENT_URL,
    )
    folder = tmp_path / "nginx"
    folder.mkdir()
    with serving(settings) as service, service.client() as owner:
        address = f"127.0.0.1:{service.port}"
        path = owner.post("/api/resources", content=TEXT).headers["location"]
        link = target(httpx.URL(owner.post(f"{path}/signed-url").json()["url"]))
        with Nginx(folder, balancing(address, f"{address} down") + server) as nginx:
            owner.base_url = nginx.base_url

            def asked(host: str, place: str, **headers: str) -> httpx.Response:
                return owner.get(place, headers={"Host": host, **headers})

            answers = [
                asked("media.example.com", "/api/sessions"),
                asked("media.example.com", link),
                asked(CONTENT_HOST, "/api/sessions"),
                asked(CONTENT_HOST, link, Range="bytes=0-9"),
                asked(CONTENT_HOST, f"{path}/content"),
            ]
    assert [answer.status_code for answer in answers] == [200, 307, 404, 206, 401]
    assert answers[1].headers["location"] == CONTENT_URL + link
    assert answers[3].content == TEXT[:10]
