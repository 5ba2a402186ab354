"""Pages of other origins in a real browser, against a service that asks for no key."""

import functools
import http.server
import threading
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page

from tests.kit import media
from tests.kit.event_streams import WAIT_SECONDS
from tests.kit.servers import LiveService

REBOUND = "evil.example"
"""A name that the browser is told to find at 127.0.0.1."""
_TRIES = """async ([service, picture]) => {
  const settled = (set) => new Promise((resolve) => { set(resolve); setTimeout(resolve, 5000); });
  const form = new FormData();
  form.append("file", new Blob(["x"]), "x.txt");
  const sent = [
    ["/api/resources", "x"],
    ["/api/resources", new URLSearchParams({a: "x"})],
    ["/api/resources", form],
    ["/api/resources", new Blob(["x"])],
    ["/api/pages/p/fault", null],
    ["/api/events/ticket", null],
    ["/api/uploads", ""],
  ];
  for (const [path, body] of sent) {
    await fetch(service + path, {method: "POST", mode: "no-cors", body}).catch(() => null);
  }
  navigator.sendBeacon(service + "/api/resources", "x");
  const events = new EventSource(service + "/api/events");
  const heard = await settled((done) => {
    events.onopen = () => done("open");
    events.onerror = () => done("error");
  });
  events.close();
  const socket = new WebSocket(service.replace("http", "ws") + "/api/sessions/s/ws");
  const told = await settled((done) => {
    socket.onopen = () => done("open");
    socket.onclose = () => done("closed");
  });
  const image = new Image();
  const shown = await settled((done) => {
    image.onload = () => done("shown");
    image.onerror = () => done("error");
    image.src = service + picture;
  });
  return [heard, told, shown];
}"""
_EMBEDS = """async (url) => {
  const image = new Image();
  const shown = await new Promise((resolve) => {
    image.onload = () => resolve(image.naturalWidth);
    image.onerror = () => resolve("error");
    image.src = url;
  });
  const read = await fetch(url).then((answer) => answer.status, (failure) => failure.name);
  return [shown, read];
}"""
_SUBMITS = """(service) => {
  const form = document.body.appendChild(document.createElement("form"));
  Object.assign(form, {method: "post", enctype: "text/plain"});
  form.action = service + "/api/resources";
  form.submit();
}"""
_WRITES = """() => fetch("/api/resources", {method: "POST", body: location.host})
  .then((answer) => answer.status)"""


class Blank(http.server.BaseHTTPRequestHandler):
    """Serves an empty page at every address."""

    def do_GET(self) -> None:
        body = b"<!doctype html><title>other</title><body></body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def other_port() -> Iterator[int]:
    """The port of a server of somebody else's pages."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Blank)
    serving = threading.Thread(target=functools.partial(server.serve_forever, 0.05))
    serving.start()
    yield server.server_port
    server.shutdown()
    serving.join(WAIT_SECONDS)
    server.server_close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.mark.promise(
    "security.md#calls-from-a-browser",
    "In a real browser, a page of another origin stores nothing and receives no event",
    kept_by="app/http/browser_guard.py",
    tried="3 origins, 9 writes each, a stream, a socket, an image",
)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", REBOUND])
def test_page_of_another_origin_writes_nothing_and_hears_nothing(
    shared_service: LiveService, page: Page, other_port: int, host: str
) -> None:
    with httpx.Client(base_url=shared_service.base_url, trust_env=False) as user:
        picture = user.post("/api/resources", content=media.png()).headers["location"]
        before = user.get("/api/resources").json()
        answers: list[tuple[str, int]] = []
        page.on("response", lambda got: answers.append((got.request.method, got.status)))
        page.goto(f"http://{host}:{other_port}/")
        result = page.evaluate(_TRIES, [shared_service.base_url, f"{picture}/content"])
        assert result == ["error", "closed", "error"]
        with page.expect_navigation():
            page.evaluate(_SUBMITS, shared_service.base_url)
        statuses = [status for method, status in answers if method == "POST"]
        assert len(statuses) >= 8
        assert set(statuses) == {403}
        assert user.get("/api/resources").json() == before


@pytest.mark.promise(
    "security.md#links-and-keys",
    "A page of another origin shows what it has a link to, cannot read it, and shows nothing else",
    kept_by="app/routers/resources.py",
    tried="3 addresses in a real browser",
)
def test_page_of_another_origin_shows_what_it_has_a_link_to_and_nothing_else(
    shared_service: LiveService, page: Page, other_port: int
) -> None:
    with httpx.Client(base_url=shared_service.base_url, trust_env=False) as user:
        picture = user.post("/api/resources", content=media.png()).headers["location"]
        link = user.post(f"{picture}/signed-url").json()["url"]
    without = f"{shared_service.base_url}{picture}/content"
    page.goto(f"http://localhost:{other_port}/")
    shown = [page.evaluate(_EMBEDS, url) for url in (link, without, f"{without}?token=guessed")]
    assert shown == [[64, "TypeError"], ["error", "TypeError"], ["error", "TypeError"]]


def test_page_of_a_rebound_name_is_not_served(shared_service: LiveService, page: Page) -> None:
    answer = page.goto(f"http://{REBOUND}:{shared_service.port}/")
    assert answer is not None
    assert answer.status == 421
    assert page.evaluate(_WRITES) == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "viewer.localhost"])
def test_page_of_the_service_itself_writes(
    shared_service: LiveService, page: Page, host: str
) -> None:
    page.goto(f"http://{host}:{shared_service.port}/sessions")
    assert page.evaluate(_WRITES) == 201
