"""With forced colours, the viewer conveys without colours what colours conveyed."""

import io

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.contract.render_cases import audio_block, image_block
from tests.kit import media
from tests.kit.servers import LiveService
from web.check.accessible import add_axe, assert_accessible

OTHER = "other"
# WCAG 1.4.11: the contrast of the parts that are needed to understand a graphic.
LEAST_CONTRAST = 3.0
# Columns of the map, in shares of its width: tokens, images, errors.
COLUMNS = {"tokens": (0.05, 0.45), "images": (0.5, 0.75), "errors": (0.77, 1.0)}


@pytest.fixture(scope="module")
def filled_service(shared_service: LiveService) -> LiveService:
    with shared_service.client("none") as agent:
        for number in range(40):
            block = (
                image_block(media.png(30, 30))
                if number % 5 == 0
                else shop.text("All is well. " * 80)
            )
            result = shop.content(block)
            is_failure = number % 8 == 0
            shop.written(
                agent, [shop.tool_result("look", f"c{number}", result, success=not is_failure)]
            )
        sound = shop.content(audio_block(media.wav(4.0), "audio/wav"))
        shop.written(agent, [shop.tool_result("hotline", "c", sound)])
        shop.written(agent, [shop.message("user", "Hello.", session_id=OTHER)])
    return shared_service


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_colours_tell_is_seen_where_they_are_forced(
    filled_service: LiveService, open_tab: OpenTab, scheme: str
) -> None:
    tab = add_axe(open_tab(filled_service, forced_colors="active", color_scheme=scheme))
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}#9")
    failed = page.locator('.call-card[data-seq="9"]')
    expect(failed).to_have_css("border-top-style", "double")
    for current in ('.session-row[aria-current="page"]', "nav a[aria-current]", '[data-seq="9"]'):
        assert_outlined(page.locator(current))
    drawn = picture_of(page.locator(".minimap"))
    for name, (start, end) in COLUMNS.items():
        column = drawn.crop((int(start * drawn.width), 0, int(end * drawn.width), drawn.height))
        assert contrast_within(column) >= LEAST_CONTRAST, name
    place = page.locator(".minimap-place")
    assert contrast_within(picture_of(place, margin=4)) >= LEAST_CONTRAST
    assert_accessible(tab)

    # Keyboard focus is visible, also on elements that have an outline already.
    page.keyboard.press("j")
    expect(page.locator('[data-seq="10"]')).to_have_css("outline-width", "3px")
    page.keyboard.press("Tab")
    assert_outlined(page.locator(":focus"))
    page.get_by_role("slider", name="Where in the session").press("End")
    waveform = page.locator(".pf-waveform")
    expect(waveform).to_be_visible()
    assert contrast_within(picture_of(waveform)) >= LEAST_CONTRAST


def test_bars_levels_and_differences_are_seen_where_colours_are_forced(
    filled_service: LiveService, open_tab: OpenTab
) -> None:
    tab = add_axe(open_tab(filled_service, forced_colors="active"))
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}/model?maxTokens=4000")
    evicted = page.locator(".model-entry.evicted").first
    expect(evicted).to_have_css("border-left-style", "double")
    bar = picture_of(page.locator(".model-bar").first)
    assert contrast_within(bar.crop((4, 2, bar.width - 4, bar.height - 2))) >= LEAST_CONTRAST
    assert_accessible(tab)
    tab.open(f"/compare?a={shop.SESSION}&b={OTHER}")
    expect(page.locator(".pair.first").first).to_have_css("border-left-style", "dashed")
    assert_accessible(tab)
    tab.open("/search?q=well")
    mark = page.locator("mark").first
    expect(mark).to_be_visible()
    assert mark.evaluate("mark => getComputedStyle(mark).backgroundColor") != page.evaluate(
        "() => getComputedStyle(document.body).backgroundColor"
    )


def test_map_is_drawn_anew_when_colours_are_forced_meanwhile(
    filled_service: LiveService, open_tab: OpenTab
) -> None:
    tab: Tab = open_tab(filled_service)
    tab.open(f"/sessions/{shop.SESSION}")
    the_map = tab.page.locator(".minimap")
    expect(the_map).to_be_visible()
    before = picture_of(the_map)
    tab.page.emulate_media(forced_colors="active", color_scheme="dark")
    after = picture_of(the_map)
    assert contrast_within(after) >= LEAST_CONTRAST
    assert before.tobytes() != after.tobytes()


def assert_outlined(element: Locator) -> None:
    """Check for an outline of at least two pixels in another colour than the background."""
    style, width, colour = element.evaluate(
        "(one) => { const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(one);"
        " return [outlineStyle, parseFloat(outlineWidth), outlineColor]; }"
    )
    ground = element.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert (style, width >= 2) == ("solid", True)
    assert colour != ground


def picture_of(element: Locator, *, margin: int = 0) -> Image.Image:
    """Return a picture of an element, with a margin in pixels."""
    box = element.bounding_box()
    assert box is not None
    whole = Image.open(io.BytesIO(element.page.screenshot())).convert("RGB")
    edges = (box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"])
    x_0, y_0, x_1, y_1 = (round(edge) for edge in edges)
    return whole.crop((x_0 - margin, y_0 - margin, x_1 + margin, y_1 + margin))


def contrast_within(picture: Image.Image) -> float:
    """The contrast (WCAG 2) between the lightest and the darkest colour of a picture."""
    colours = picture.getcolors(picture.width * picture.height)
    assert colours is not None
    shades = [luminance(colour) for _, colour in colours if isinstance(colour, tuple)]
    return (max(shades) + 0.05) / (min(shades) + 0.05)


def luminance(colour: tuple[int, ...]) -> float:
    shares = (channel / 255 for channel in colour[:3])
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
