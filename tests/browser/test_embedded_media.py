"""Media in a page of another origin, as `@pagefault/react` embeds them, in a real browser."""

import functools
import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page

from app.config.settings import ContentSettings, Settings
from tests.browser.drawings import click_clip
from tests.browser.test_foreign_pages import Blank
from tests.contract.test_content_through_nginx import fronting
from tests.kit import media
from tests.kit.event_streams import WAIT_SECONDS
from tests.kit.plain_http import TRUSTS_NOBODY
from tests.kit.servers import Backends, serving

_EMBEDS = """async ([tag, url, crossOrigin]) => {
  const element = document.createElement(tag);
  if (crossOrigin) element.crossOrigin = "anonymous";
  const shown = await new Promise((resolve) => {
    element.onload = () => resolve(element.naturalWidth);
    element.onloadeddata = () => resolve(element.videoWidth);
    element.onerror = () => resolve("blocked");
    element.preload = "auto";
    element.src = url;
  });
  if (tag === "img" || shown === "blocked") return shown;
  // It asks for a part of the content.
  await new Promise((resolve) => { element.onseeked = resolve; element.currentTime = 1; });
  return shown;
}"""
_ASKS = """async ([url, method]) => {
  const answer = await fetch(url, { method });
  const told = answer.ok ? answer.headers.get("Repr-Digest") : (await answer.json()).code;
  return [answer.status, told !== null && told];
}"""


@dataclass(frozen=True)
class Embedded:
    """The place of the media that a page of another origin shows."""

    picture: str
    video: str
    missing: str
    is_linked: bool
    """True if their address is a signed link."""


@pytest.fixture(scope="module")
def other_origin() -> Iterator[str]:
    """The origin of pages that may call."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Blank)
    thread = threading.Thread(target=functools.partial(server.serve_forever, 0.05))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(WAIT_SECONDS)
    server.server_close()


@pytest.fixture
def page(browser: Browser, other_origin: str) -> Iterator[Page]:
    context = browser.new_context()
    page = context.new_page()
    page.goto(other_origin)
    yield page
    context.close()


def embedded(client: httpx.Client, *, is_linked: bool, base_url: str) -> Embedded:
    """Store media, and tell where they are."""

    def address(content: bytes) -> str:
        path = client.post("/api/resources", content=content).headers["location"]
        if not is_linked:
            return f"{base_url}{path}/content"
        link = httpx.URL(client.post(f"{path}/signed-url").json()["url"])
        return f"{base_url}{link.raw_path.decode()}"

    picture, video = address(media.png(64, 48, noise=True)), address(click_clip())
    missing = f"{base_url}/api/resources/{'0' * 32}/content"
    return Embedded(picture, video, f"{missing}?token=x" if is_linked else missing, is_linked)


@contextmanager
def without_keys(folder: Path, origin: str, _: Backends) -> Iterator[Embedded]:
    settings = Settings(
        data_dir=folder / "data", auth="none", log_level="error", cors_origins=(origin,)
    )
    with (
        serving(settings) as service,
        httpx.Client(base_url=service.base_url, trust_env=False, verify=TRUSTS_NOBODY) as client,
    ):
        yield embedded(client, is_linked=False, base_url=service.base_url)


@contextmanager
def by_links(folder: Path, origin: str, _: Backends) -> Iterator[Embedded]:
    settings = Settings(
        data_dir=folder / "data", auth="api-key", log_level="error", cors_origins=(origin,)
    )
    with serving(settings) as service, service.client() as client:
        yield embedded(client, is_linked=True, base_url=service.base_url)


@contextmanager
def through_nginx(folder: Path, origin: str, _: Backends) -> Iterator[Embedded]:
    with fronting(folder, (origin,)) as fronted:
        base_url = str(fronted.client.base_url).rstrip("/")
        yield embedded(fronted.client, is_linked=True, base_url=base_url)


@contextmanager
def from_a_bucket(folder: Path, origin: str, backends: Backends) -> Iterator[Embedded]:
    base = backends.settings("server", folder / "data")
    content = ContentSettings(redirect_bytes=1, redirect_seconds=120)
    settings = base.model_copy(update={"content": content, "cors_origins": (origin,)})
    with serving(settings) as service, service.client() as client:
        yield embedded(client, is_linked=True, base_url=service.base_url)


Setup = Callable[[Path, str, Backends], AbstractContextManager[Embedded]]


@pytest.mark.parametrize("setup", [without_keys, by_links, through_nginx, from_a_bucket])
def test_page_of_a_listed_origin_shows_media_and_reads_errors(
    setup: Setup, tmp_path: Path, other_origin: str, backends: Backends, page: Page
) -> None:
    with setup(tmp_path, other_origin, backends) as found:
        for tag, url, width in (("img", found.picture, 64), ("video", found.video, 640)):
            # Without `crossOrigin`, only what a link leads to. The browser keeps that, and asks
            # again with it.
            plain = page.evaluate(_EMBEDS, [tag, url, False])
            assert plain == (width if found.is_linked else "blocked")
            assert page.evaluate(_EMBEDS, [tag, url, True]) == width
        status, digest = page.evaluate(_ASKS, [found.picture, "HEAD"])
        assert (status, str(digest)[:9]) == (200, "sha-256=:")
        refused = [403, "invalid-link"] if found.is_linked else [404, "not-found"]
        assert page.evaluate(_ASKS, [found.missing, "GET"]) == refused
