"""The pictures of the documentation, taken from the viewer.

`make pictures` writes them into `docs/images`. Each run takes them, to check that the views in them
still exist. Their times differ from run to run.
"""

import io
import json
from collections.abc import Sequence

import pytest
from PIL import Image
from playwright.sync_api import ViewportSize, expect

from tests.browser import drawings, shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.contract.render_cases import image_block
from tests.kit.process import ROOT
from tests.kit.servers import LiveService

FOLDER = ROOT / "docs" / "images"
MAX_BYTES = 150_000
WIDE, PHONE = ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)
# Waits for visible media. Recordings are shown from the middle.
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
            messages = [
                shop.message("user", f"Step {step}.", session_id=name) for step in range(count)
            ]
            shop.written(agent, messages)
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
    tab.page.locator("main").get_by_role("combobox").select_option("text")
    loss = tab.page.get_by_role("region", name="Dropped")
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


def test_picture_of_a_long_session_and_its_map(
    tab: Tab, service_in_use: LiveService, pytestconfig: pytest.Config
) -> None:
    with service_in_use.client("none") as agent:
        for number in range(40):
            shop.written(agent, night_step(number))
    tab.open("/sessions/nightly-orders#96")
    expect(tab.page.get_by_role("slider", name="Where in the session")).to_be_visible()
    expect(tab.page.locator('[aria-current="location"]')).to_be_in_viewport()
    tab.await_live()
    assert_pictured(tab, "session-errors", pytestconfig, has_media=False)


def test_picture_of_what_a_model_gets(tab: Tab, pytestconfig: pytest.Config) -> None:
    tab.open(f"/sessions/{shop.SESSION}/model?target=anthropic&maxTokens=1200")
    expect(tab.page.get_by_text("The model no longer sees")).to_be_visible()
    tab.page.get_by_role("region", name="Entries, as the model has them").evaluate(
        "box => { box.scrollTop = 420 }"
    )
    assert_pictured(tab, "model", pytestconfig, has_media=False)


def test_picture_of_an_image_and_what_a_model_gets_of_it(
    tab: Tab, service_in_use: LiveService, pytestconfig: pytest.Config
) -> None:
    chart = io.BytesIO()
    with Image.open(io.BytesIO(drawings.latency_chart())) as drawn:
        drawn.resize((8_200, 2_400)).save(chart, "PNG")
    picture = image_block(chart.getvalue())
    result = shop.tool_result("chart.draw", "call_1", shop.content(picture), session_id="charts")
    with service_in_use.client("none") as agent:
        shop.written(agent, [result])
    tab.open("/sessions/charts")
    tab.page.get_by_role("button", name="Enlarge").click()
    copy = tab.page.get_by_role("img", name="What a model gets of it")
    expect(copy).not_to_have_js_property("naturalWidth", 0)
    expect(tab.page.get_by_text("A reduced copy:")).to_be_visible()
    assert_pictured(tab, "image", pytestconfig)


def test_picture_of_texts(
    tab: Tab, service_in_use: LiveService, pytestconfig: pytest.Config
) -> None:
    data = '{"order": "K-20418", "total": 353.40, "items": [{"sku": "A-1", "count": 3}]}'
    messages = [
        shop.message("assistant", MARKDOWN, session_id="review"),
        shop.tool_result("orders.get", "c1", data, session_id="review"),
    ]
    with service_in_use.client("none") as agent:
        shop.written(agent, messages)
    tab.open("/sessions/review#1")
    expect(tab.page.locator(".hljs-addition")).to_be_visible()
    tab.await_live()
    assert_pictured(tab, "reading", pytestconfig, has_media=False)


def test_picture_of_a_comparison(
    tab: Tab, service_in_use: LiveService, pytestconfig: pytest.Config
) -> None:
    with service_in_use.client("none") as agent:
        for session, state in (("deploy-monday", "ok"), ("deploy-tuesday", "402 Payment Required")):
            shop.written(
                agent,
                [
                    shop.message("user", "Deploy, and try an order.", session_id=session),
                    shop.tool_result("deploy", "d", "Deployed 4.2.", session_id=session),
                    shop.tool_result(
                        "orders.try", "o", state, session_id=session, success=state == "ok"
                    ),
                    shop.message("assistant", f"The order says: {state}.", session_id=session),
                ],
            )
        shop.written(agent, [shop.message("user", "Roll back.", session_id="deploy-tuesday")])
    tab.open("/compare?a=deploy-monday&b=deploy-tuesday")
    tab.page.get_by_text("Show the difference").first.click()
    expect(tab.page.locator(".hljs-addition").first).to_be_visible()
    assert_pictured(tab, "compare", pytestconfig, has_media=False)


def test_picture_of_the_doctor(tab: Tab, pytestconfig: pytest.Config) -> None:
    tab.open("/doctor?target=anthropic")
    tab.page.get_by_label("The history as JSON").fill(json.dumps(BROKEN))
    tab.page.get_by_role("button", name="Examine").click()
    findings = tab.page.get_by_role("region", name="The history, with what is wrong")
    expect(findings).to_be_visible()
    findings.evaluate("region => region.scrollIntoView()")
    assert_pictured(tab, "doctor", pytestconfig, has_media=False)


def test_picture_of_a_search(tab: Tab, pytestconfig: pytest.Config) -> None:
    tab.open("/search?q=checkout%20latency")
    expect(tab.page.locator("mark").first).to_be_visible()
    assert_pictured(tab, "search", pytestconfig, has_media=False)


MARKDOWN = """## Why the checkout fails

The gateway refuses the certificate since **noon**; `charge` hides it. The fix:

```diff
--- a/gateway.py
+++ b/gateway.py
@@ -12,3 +12,3 @@ def charge(order):
-    except CertificateError: return None
+    except CertificateError as error: raise ChargeFailed(order) from error
```

| hour | p95 | failed |
|---|---|---|
| 12:00 | 0.4 s | 0 |
| 13:00 | 1.9 s | 41 |

- [x] renew the certificate
- [ ] tell the customers
"""
BROKEN = [
    {"role": "user", "content": "What is in the basket?"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "basket.read", "input": {}}],
    },
    {"role": "user", "content": "Never mind, pay it."},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_9", "content": "Paid."}],
    },
]


def night_step(number: int) -> Sequence[shop.Write]:
    """A call for each of two tools, of which one fails now and then."""
    calls = [
        {
            "id": f"{name}-{number}",
            "type": "function",
            "function": {"name": name, "arguments": "{}"},
        }
        for name in ("orders.next", "pay")
    ]
    is_paid = number % 9 != 4
    result = "Paid 353.40 EUR." if is_paid else "402 Payment Required: the card has expired."
    call_message = shop.message(
        "assistant", f"Order K-{20_400 + number}.", session_id="nightly-orders", tool_calls=calls
    )
    return (
        call_message,
        shop.tool_result(
            "orders.next", f"orders.next-{number}", {"order": number}, session_id="nightly-orders"
        ),
        shop.tool_result(
            "pay", f"pay-{number}", result, session_id="nightly-orders", success=is_paid
        ),
    )


def show_entry(tab: Tab, number: int) -> None:
    """Scroll an entry to the top of the viewport."""
    expect(tab.entries.last).to_be_in_viewport()
    tab.await_live()
    tab.page.evaluate("number => { location.hash = `#${number}`; }", number)
    expect(tab.page.locator(f'[data-seq="{number}"]')).to_be_in_viewport()


def assert_pictured(tab: Tab, name: str, config: pytest.Config, *, has_media: bool = True) -> None:
    """Take the picture; the one in the documentation has to be of the same size."""
    media = tab.page.locator("img, video")
    if has_media:
        expect(media.first).to_be_visible()
    for medium in media.all():
        medium.evaluate(_LOADED)
    screenshot = Image.open(io.BytesIO(tab.page.screenshot(animations="disabled")))
    picture = io.BytesIO()
    screenshot.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        picture, "PNG", optimize=True
    )
    assert picture.tell() <= MAX_BYTES
    path = FOLDER / f"{name}.png"
    if config.getoption("write_documents"):
        path.write_bytes(picture.getvalue())
    with Image.open(path) as kept:
        assert kept.size == screenshot.size
