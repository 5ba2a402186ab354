"""Content on a host of its own in a browser: shown in the viewer, and apart from it."""

import contextlib
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import pytest
from playwright.sync_api import Error, expect

from app.config.settings import Settings
from app.wiring.stores import open_access
from tests.browser import drawings, shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.browser.test_hostile_content import DRAWING, FILES, RUN, SAVED
from tests.browser.test_live_timeline import _PLAY
from tests.contract.render_cases import file_block, image_block
from tests.kit import media
from tests.kit.process import PagefaultProcess

ENTRIES = (
    shop.tool_result("camera", "call_1", shop.content(image_block(media.png(noise=True)))),
    shop.tool_result(
        "recorder", "call_2", shop.content(file_block("a.mp4", drawings.click_clip(), "video/mp4"))
    ),
    shop.tool_result(
        "plotter",
        "call_3",
        shop.content(file_block("a.svg", DRAWING.encode(), "image/svg+xml")),
    ),
)
_READS_THE_API = """(url) => fetch(url, {headers: {Authorization: "Bearer pf_x"}}).then(
  (answer) => answer.status, (failure) => failure.name)"""


@dataclass(frozen=True)
class TwoOrigins:
    """A service at two names of this machine, and a key of it."""

    process: PagefaultProcess
    content_url: str
    key: str

    def client(self) -> httpx.Client:
        """An agent that writes."""
        return self.process.client(self.key)

    def forgive(self, tab: Tab) -> list[str]:
        """Take the requests to the content URL from the faults of a tab; returns their URLs."""
        text = f"request: {self.content_url}/"
        asked = [fault for fault in tab.faults if fault.startswith(text)]
        tab.faults[:] = [fault for fault in tab.faults if fault not in asked]
        return [fault.removeprefix("request: ") for fault in asked]


@pytest.fixture(scope="module")
def two_origins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoOrigins]:
    """A service whose viewer and whose content are in two origins of the browser."""
    data_dir = tmp_path_factory.mktemp("two-origins") / "data"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    content_url = f"http://localhost:{port}"
    env = {
        "PAGEFAULT_AUTH": "api-key",
        "PAGEFAULT_PUBLIC_URL": f"http://127.0.0.1:{port}",
        "PAGEFAULT_CONTENT_URL": content_url,
    }
    with PagefaultProcess(data_dir, options=("--port", str(port)), env=env) as process:
        yield TwoOrigins(process, content_url, new_key(data_dir))


def new_key(data_dir: Path) -> str:
    """A key, made as the command makes one."""

    async def made() -> str:
        async with open_access(Settings(data_dir=data_dir, auth="api-key")) as access:
            return await access.create_key("shop", "test")

    with ThreadPoolExecutor(1) as beside:
        return beside.submit(anyio.run, made).result()


def test_viewer_shows_media_that_are_at_another_origin(
    two_origins: TwoOrigins, open_tab: OpenTab
) -> None:
    with two_origins.client() as agent:
        shop.written(agent, ENTRIES)
    tab = open_tab(two_origins.process)
    tab.open(f"/sessions/{shop.SESSION}")
    tab.give_key(two_origins.key)
    expect(tab.entries).to_have_count(len(ENTRIES))
    picture, video = tab.entries.nth(0).locator("img"), tab.entries.nth(1).locator("video")
    picture.scroll_into_view_if_needed()
    expect(picture).to_have_js_property("naturalWidth", 64)
    video.scroll_into_view_if_needed()
    assert video.evaluate(_PLAY)
    tab.entries.nth(2).scroll_into_view_if_needed()
    tab.entries.nth(2).get_by_role("button", name="Show the text").click()
    expect(tab.entries.nth(2).locator("pre")).to_contain_text(RUN)
    with tab.page.expect_download() as saved:
        tab.entries.nth(2).get_by_role("button", name="Download").click()
    assert saved.value.path().read_text() == DRAWING

    linked = [request for request in tab.requests if "token=" in request.url]
    own = [item for item in linked if item.url.startswith(tab.base_url)]
    answers = [item.response() for item in own]
    assert [answer.status for answer in answers if answer is not None] == [307] * len(own)
    at_content_url = two_origins.forgive(tab)
    assert len(at_content_url) == len(linked) - len(own) >= 3
    assert [url for url in at_content_url if "/content?" not in url] == []


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "Content that is opened at the content host runs no script and reads nothing of the API",
    kept_by="app/http/content_headers.py",
    tried="8 files",
)
@pytest.mark.parametrize("name", FILES)
def test_content_opened_at_its_own_host_runs_nothing_and_reads_nothing_of_the_api(
    two_origins: TwoOrigins, open_tab: OpenTab, name: str
) -> None:
    text, kind = FILES[name]
    headers = {"Content-Type": kind}
    with two_origins.client() as agent:
        path = agent.post("/api/resources", content=text, headers=headers).headers["location"]
        link = agent.post(f"{path}/signed-url").json()["url"]
    assert link.startswith(f"{two_origins.content_url}/api/resources/")
    tab = open_tab(two_origins.process)
    page = tab.page
    if name in SAVED:
        with page.expect_download(), contextlib.suppress(Error):
            page.goto(link)
    else:
        page.goto(link)
        assert page.evaluate("document.contentType") == kind
        assert page.evaluate("self.origin") == "null"
        assert page.evaluate(_READS_THE_API, f"{tab.base_url}/api/sessions") == "TypeError"
    assert page.evaluate("'pwned' in window") is False
    assert page.title() != "pwned"
    assert RUN not in page.title()
    two_origins.forgive(tab)
    # What browsers say of what they have kept from being loaded.
    tab.faults.clear()


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    (
        "A document at the content host has an origin without a key and cannot read the API, "
        "even without its protective headers"
    ),
    kept_by="app/http/content_host.py",
    tried="1 document",
)
def test_key_of_a_tab_is_not_in_the_origin_of_content(
    two_origins: TwoOrigins, open_tab: OpenTab
) -> None:
    tab = open_tab(two_origins.process)
    tab.open("/sessions")
    tab.give_key(two_origins.key)
    expect(tab.page.locator("dialog[open]")).to_have_count(0)
    kept, read = [], []
    for origin in (tab.base_url, two_origins.content_url):
        # A document without a policy: what is kept apart here is so by its origin alone.
        tab.page.goto(f"{origin}/healthz")
        kept.append(tab.page.evaluate("Object.values(sessionStorage)"))
        read.append(tab.page.evaluate(_READS_THE_API, f"{tab.base_url}/api/sessions"))
    assert kept == [[two_origins.key], []]
    assert read == [401, "TypeError"]
    two_origins.forgive(tab)
    tab.faults.clear()
