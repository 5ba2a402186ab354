"""The pictures of the documentation, taken from the viewer that is tested.

`pytest tests/browser/test_pictures.py --write-documents` writes them into `docs/images`. They are
taken in every run, so that what they show can be shown; times in them differ from run to run.
"""

import io

import pytest
from PIL import Image
from playwright.sync_api import ViewportSize, expect

from tests.browser import drawings, shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.kit.process import ROOT
from tests.kit.servers import LiveService

FOLDER = ROOT / "docs" / "images"
MOST_BYTES = 150_000
WIDE, PHONE = ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)
# Waits for what is wanted; what is out of sight is not. A recording is shown from its middle.
_LOADED = """(medium) => new Promise((done, failed) => {
  const place = medium.getBoundingClientRect();
  const isSeen = place.bottom > 0 && place.top < innerHeight;
  if (!isSeen || medium.complete) return done(true);
  medium.addEventListener("load", () => done(true));
  medium.addEventListener("seeked", () => done(true));
  setTimeout(() => failed(new Error("it does not load")), 20_000);
  if (medium.tagName === "VIDEO") medium.currentTime = 1;
})"""


@pytest.fixture(scope="module")
def service_in_use(shared_service: LiveService) -> LiveService:
    """A service with some sessions, and pages."""
    with shared_service.client("none") as agent:
        for name, count in (("nightly-report", 3), ("onboarding:4711", 2), ("search-tuning", 5)):
            said = [shop.message("user", f"Step {step}.", session_id=name) for step in range(count)]
            shop.written(agent, said)
        shop.written(agent, (*shop.OPENING, *shop.SEARCH))
    return shared_service


@pytest.fixture
def tab(service_in_use: LiveService, open_tab: OpenTab) -> Tab:
    """A tab of that service, of the size of the pictures."""
    return open_tab(service_in_use, viewport=WIDE)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_picture_of_a_session(tab: Tab, pytestconfig: pytest.Config, scheme: str) -> None:
    tab.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    tab.open(f"/sessions/{shop.SESSION}")
    show_entry(tab, 1 if scheme == "light" else 4)
    assert_pictured(tab, f"session-{scheme}", pytestconfig)


def test_picture_of_a_session_on_a_phone(tab: Tab, pytestconfig: pytest.Config) -> None:
    tab.page.set_viewport_size(PHONE)
    tab.open(f"/sessions/{shop.SESSION}")
    show_entry(tab, 1)
    assert_pictured(tab, "session-phone", pytestconfig)


def test_picture_of_a_page(tab: Tab, pytestconfig: pytest.Config) -> None:
    tab.open(f"/pages/{shop.CHART_PAGE}")
    tab.page.get_by_role("combobox").select_option("text")
    loss = tab.page.get_by_role("region", name="What was lost")
    expect(loss).to_be_visible()
    tab.page.locator("main").evaluate("main => { main.scrollTop = main.scrollHeight }")
    expect(loss).to_be_in_viewport(ratio=1)
    assert_pictured(tab, "page", pytestconfig)


def test_picture_of_an_upload(tab: Tab, pytestconfig: pytest.Config) -> None:
    tab.open("/upload")
    tab.choose_files(
        ("runbook.md", "text/markdown", b"# When charges fail\n\nCall the provider.\n"),
        ("checkout.png", "image/png", drawings.checkout_page()),
    )
    expect(tab.page.get_by_text("2 of 2 files kept")).to_be_visible()
    assert_pictured(tab, "upload", pytestconfig)


def show_entry(tab: Tab, number: int) -> None:
    """Put an entry at the top of what is seen."""
    expect(tab.entries.last).to_be_in_viewport()
    tab.await_live()
    tab.page.get_by_label("Number of an entry, or a time").fill(f"{number}")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator(f'[data-seq="{number}"]')).to_be_in_viewport()


def assert_pictured(tab: Tab, name: str, config: pytest.Config) -> None:
    """Take the picture; the one in the documentation has to be of the same size."""
    media = tab.page.locator("img, video")
    expect(media.first).to_be_visible()
    for medium in media.all():
        medium.evaluate(_LOADED)
    taken = Image.open(io.BytesIO(tab.page.screenshot(animations="disabled")))
    picture = io.BytesIO()
    taken.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(picture, "PNG", optimize=True)
    assert picture.tell() <= MOST_BYTES
    path = FOLDER / f"{name}.png"
    if config.getoption("write_documents"):
        path.write_bytes(picture.getvalue())
    with Image.open(path) as kept:
        assert kept.size == taken.size
