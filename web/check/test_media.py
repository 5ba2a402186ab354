"""Media in the page: images that are enlarged, PDF pages, recordings with what happens when."""

import io
import struct
import wave

import httpx
import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import FloatRect, Locator, Page, expect

from tests.browser import drawings, shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.contract.page_requests import data_uri, put
from tests.contract.render_cases import audio_block, file_block, image_block
from tests.kit import media
from tests.kit.servers import LiveService
from web.check.accessible import add_axe, assert_accessible

_DRAWN = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}"""
_PLAY_FROM = """(sound, at) => new Promise((resolve) => {
  sound.onended = () => resolve("ended");
  sound.onerror = () => resolve(sound.error.message);
  sound.muted = true;
  sound.currentTime = at;
  sound.play().catch((error) => resolve(String(error)));
})"""
# A PDF whose script and form would call out, if anybody ran them.
HOSTILE_PDF = b"""%PDF-1.7
1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(app.alert\\('pwned'\\))>>>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Annots[4 0 R]>>endobj
4 0 obj<</Type/Annot/Subtype/Link/Rect[0 0 200 100]/A<</S/URI/URI(javascript:alert\\(1\\))>>>>endobj
trailer<</Root 1 0 R>>
%%EOF
"""


def drawn_pdf(pages: int) -> bytes:
    """A PDF with a drawing on each page."""
    sheets = []
    for number in range(pages):
        sheet = Image.new("RGB", (400, 300), "white")
        ImageDraw.Draw(sheet).rectangle((40, 40, 40 + 30 * (number + 1), 200), fill=(180, 30, 30))
        sheets.append(sheet)
    written = io.BytesIO()
    sheets[0].save(written, "PDF", save_all=True, append_images=sheets[1:])
    return written.getvalue()


def test_image_is_enlarged_moved_and_compared_with_what_a_model_gets(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    large = io.BytesIO()
    Image.new("RGB", (9_000, 400), (30, 90, 160)).save(large, "PNG")
    picture = image_block(large.getvalue())
    shop.written(writer, [shop.tool_result("camera", "c", shop.content(picture))])
    tab = add_axe(open_tab(open_service))
    tab.open(f"/sessions/{shop.SESSION}")
    page = tab.page
    page.get_by_role("button", name="Enlarge").click()
    dialog = page.get_by_role("dialog")
    image = dialog.locator(".pf-zoom-field img")
    expect(image).to_have_js_property("naturalWidth", 9_000)
    expect(image).to_have_css("transform", "matrix(1, 0, 0, 1, 0, 0)")
    dialog.get_by_role("button", name="Larger").click()
    page.keyboard.press("ArrowRight")
    expect(image).to_have_css("transform", "matrix(1.25, 0, 0, 1.25, -60, 0)")
    page.keyboard.press("0")
    expect(image).to_have_css("transform", "matrix(1, 0, 0, 1, 0, 0)")
    dialog.get_by_role("button", name="100%").click()
    expect(image).not_to_have_css("transform", "matrix(1, 0, 0, 1, 0, 0)")
    expect(dialog.get_by_text("A reduced copy:")).to_be_visible()
    copy = dialog.get_by_role("img", name="What a model gets of it")
    expect(copy).not_to_have_js_property("naturalWidth", 0)
    assert 0 < copy.evaluate("image => image.naturalWidth") < 9_000
    assert_accessible(tab)
    dialog.get_by_label("What a model gets of it").first.select_option("text")
    expect(dialog.get_by_text("It is not sent.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_enlarged_image_follows_pointers_wherever_they_go(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    picture = image_block(media.png(600, 400, noise=True))
    shop.written(writer, [shop.tool_result("camera", "c", shop.content(picture))])
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    page = tab.page
    page.get_by_role("button", name="Enlarge").click()
    image = page.locator(".pf-zoom-field img")
    box = field_of(page)
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    # The wheel zooms at the pointer, and does not scroll the page behind.
    page.mouse.move(middle[0] + 100, middle[1])
    page.mouse.wheel(0, -100)
    await_view(page, 1.25, -25, 0)
    # A dragged image follows the pointer out of the field, and stays there when it is released.
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 40, middle[1] - 30)
    await_view(page, 1.25, 15, -30)
    page.mouse.move(box["x"] - 10, middle[1] - 30)
    outside = max(-25 - box["width"] / 2 - 10, -1.25 * width_of(image) / 2)
    await_view(page, 1.25, outside, -30)
    page.mouse.up()
    page.mouse.move(middle[0] + 5, middle[1])
    page.mouse.move(*middle)
    await_view(page, 1.25, outside, -30)
    # However far it is moved, it covers the middle of its field.
    for _ in range(60):
        page.keyboard.press("ArrowRight")
    await_view(page, 1.25, -1.25 * width_of(image) / 2, -30)
    page.keyboard.press("-")
    await_view(page, 1, 0, 0)


@pytest.mark.parametrize(
    ("mime_type", "samples", "seconds"),
    [
        ("audio/pcm;rate=24000", media.tone(3.0), 3),
        ("audio/L16;codec=pcm;rate=24000", media.tone(3.0), 3),
        ("audio/L16;rate=24000", media.tone(3.0, order=">"), 3),
        ("audio/PCMU", media.noise_bytes(32_000), 4),
        ("audio/PCMA", media.noise_bytes(32_000), 4),
    ],
)
def test_samples_without_a_header_are_played_and_drawn(
    open_service: LiveService,
    open_tab: OpenTab,
    writer: httpx.Client,
    mime_type: str,
    samples: bytes,
    seconds: int,
) -> None:
    speech = audio_block(samples, mime_type)
    shop.written(writer, [shop.tool_result("speak", "c", shop.content(speech))])
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    sound = tab.page.locator("audio")
    expect(sound).to_have_js_property("duration", seconds)
    expect(tab.page.locator(".pf-waveform")).to_be_visible()
    assert sound.evaluate(_PLAY_FROM, seconds - 0.5) == "ended"


def test_image_is_enlarged_by_two_fingers(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    picture = image_block(media.png(600, 400, noise=True))
    shop.written(writer, [shop.tool_result("camera", "c", shop.content(picture))])
    tab = open_tab(open_service, has_touch=True, viewport={"width": 390, "height": 800})
    tab.open(f"/sessions/{shop.SESSION}")
    page = tab.page
    page.get_by_role("button", name="Enlarge").tap()
    image = page.locator(".pf-zoom-field img")
    expect(image).not_to_have_js_property("naturalWidth", 0)
    box = field_of(page)
    x, y = round(box["x"] + box["width"] / 2), round(box["y"] + box["height"] / 2)
    fingers = page.context.new_cdp_session(page)

    def touch(kind: str, *places: tuple[int, int]) -> None:
        points = [{"x": at[0], "y": at[1], "id": index} for index, at in enumerate(places)]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (x - 40, y))
    touch("touchStart", (x - 40, y), (x + 40, y))
    touch("touchMove", (x - 80, y), (x + 80, y))
    touch("touchEnd")
    await_view(page, 2, 0, 0)
    # One finger moves it.
    touch("touchStart", (x, y))
    touch("touchMove", (x + 10, y))
    touch("touchMove", (x + 40, y))
    touch("touchEnd")
    await_view(page, 2, 40, 0)
    touch("touchStart", (x - 80, y), (x + 80, y))
    touch("touchMove", (x - 20, y), (x + 20, y))
    touch("touchEnd")
    await_view(page, 1, 0, 0)
    # The page itself is as large as it was.
    assert page.evaluate("visualViewport.scale") == 1


def field_of(page: Page) -> FloatRect:
    """Return the box of an enlarged image."""
    box = page.locator(".pf-zoom-field").bounding_box()
    assert box is not None
    return box


def width_of(image: Locator) -> float:
    """Return the width of an image without zoom."""
    width: float = image.evaluate("image => image.offsetWidth")
    return width


def await_view(page: Page, scale: float, x: float, y: float) -> None:
    """Wait until the image is so many times as large, and moved so far, to within a few pixels."""
    page.wait_for_function(
        """wanted => {
          const image = document.querySelector(".pf-zoom-field img");
          const { a, e, f } = new DOMMatrix(getComputedStyle(image).transform);
          return [10 * a, e, f].every((value, index) => Math.abs(value - wanted[index]) < 3);
        }""",
        arg=[10 * scale, x, y],
    )


def test_pages_of_a_pdf_are_drawn_as_they_come_near(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    report = file_block("report.pdf", drawn_pdf(12), "application/pdf")
    shop.written(writer, [shop.tool_result("report", "c", shop.content(report))])
    tab = add_axe(open_tab(open_service))
    tab.open(f"/sessions/{shop.SESSION}")
    tab.page.get_by_role("button", name="Show the pages").click()
    pages = tab.page.locator(".pdf-page canvas")
    expect(pages).to_have_count(12)
    expect(pages.first).to_have_js_property("width", 900)
    await_drawn(tab.page)
    # The last one is blank until it is looked at.
    expect(pages.last).to_have_js_property("width", 300)
    pages.last.scroll_into_view_if_needed()
    expect(pages.last).to_have_js_property("width", 900)
    assert_accessible(tab)


def test_pages_of_a_pdf_far_out_of_view_are_freed_and_keep_their_place(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    report = file_block("report.pdf", drawn_pdf(16), "application/pdf")
    shop.written(writer, [shop.tool_result("report", "c", shop.content(report))])
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    tab.page.get_by_role("button", name="Show the pages").click()
    pages = tab.page.locator(".pdf-page canvas")
    expect(pages.first).to_have_js_property("width", 900)
    region = tab.page.locator(".pdf")
    length = region.evaluate("pdf => pdf.scrollHeight")
    for place in range(16):
        pages.nth(place).scroll_into_view_if_needed()
        expect(pages.nth(place)).to_have_js_property("width", 900)
    expect(pages.first).to_have_js_property("width", 0)
    drawn = pages.evaluate_all("all => all.filter(({ width }) => width === 900).length")
    assert drawn <= 10
    # Nothing has moved: who goes back finds each page where it was.
    assert region.evaluate("pdf => pdf.scrollHeight") == length
    region.evaluate("pdf => pdf.scrollTo(0, 0)")
    expect(pages.first).to_have_js_property("width", 900)
    await_drawn(tab.page)


def await_drawn(page: Page) -> None:
    """Wait until the first page of a PDF has more than one colour."""
    # A function: an expression would be evaluated again and again, which the page's policy forbids.
    page.wait_for_function(f"() => ({_DRAWN})(document.querySelector('.pdf-page canvas')) > 1")


@pytest.mark.parametrize(
    ("pdf", "text"), [(HOSTILE_PDF, None), (b"%PDF-1.7\nnothing", "This document cannot be shown")]
)
def test_hostile_or_broken_pdf_does_nothing(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client, pdf: bytes, text: str | None
) -> None:
    stored = writer.post(
        "/api/resources",
        content=pdf,
        params={"filename": "x.pdf"},
        headers={"Content-Type": "application/pdf"},
    ).json()
    part = {"text": "See.", "attachments": [{"id": f"@{stored['uri']}"}]}
    route = f"/api/sessions/{shop.SESSION}/interactions"
    assert writer.post(route, json={"input": {"parts": [part]}}).is_success
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    tab.page.get_by_role("button", name="Show the pages").click()
    if text is None:
        expect(tab.page.locator(".pdf-page canvas")).to_have_js_property("width", 900)
        expect(tab.page.locator(".pdf a")).to_have_count(0)
    else:
        expect(tab.page.get_by_text(text)).to_be_visible()
    # A dialog, a request elsewhere or a broken script fails every test.


def test_video_without_a_poster_is_no_error_of_the_page(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    broken = file_block("a.mp4", media.mp4()[:600], "video/mp4")
    shop.written(writer, [shop.tool_result("recorder", "c", shop.content(broken))])
    tab = open_tab(open_service)
    logs: list[str] = []
    tab.page.on("console", lambda message: logs.append(message.text))
    with tab.page.expect_response("**/poster*") as response:
        tab.open(f"/sessions/{shop.SESSION}")
    assert response.value.status == 204
    assert [log for log in logs if "404" in log] == []


def test_waveform_is_drawn_anew_in_the_colours_that_are_chosen(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    sound = audio_block(media.wav(4.0), "audio/wav")
    shop.written(writer, [shop.tool_result("hotline", "c", shop.content(sound))])
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    waveform = tab.page.locator(".pf-waveform")
    expect(waveform).to_be_visible()
    light = waveform.evaluate("canvas => canvas.toDataURL()")
    tab.page.get_by_label("Colours").select_option("Dark")
    tab.page.wait_for_function(
        "light => document.querySelector('.pf-waveform').toDataURL() !== light", arg=light
    )


def test_recording_has_a_waveform_that_seeks(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    sound = audio_block(media.wav(4.0), "audio/wav")
    shop.written(writer, [shop.tool_result("hotline", "c", shop.content(sound))])
    tab = add_axe(open_tab(open_service))
    tab.open(f"/sessions/{shop.SESSION}")
    waveform = tab.page.get_by_role("slider", name="Place in the recording")
    expect(waveform).to_be_visible()
    expect(waveform).to_have_attribute("aria-valuemax", "4")
    waveform.click()
    assert_played_to(tab, 2.0)
    expect(waveform).to_have_attribute("aria-valuetext", "0:02 of 0:04")
    for key, seconds in [
        ("Home", 0.0),
        ("ArrowRight", 0.4),
        ("ArrowUp", 0.8),
        ("ArrowLeft", 0.4),
        ("End", 4.0),
        ("PageDown", 3.6),
    ]:
        waveform.press(key)
        assert_played_to(tab, seconds)
    expect(waveform).to_have_attribute("aria-valuenow", "4")
    expect(waveform).to_have_css("outline-width", "2px")
    assert_accessible(tab)


def test_waveform_has_what_any_channel_has(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    # The left channel is silent, and the right one loud in its second half.
    frames = b"".join(
        struct.pack("<hh", 0, 20_000 if index % 20 < 10 and index > 8_000 else 0)
        for index in range(16_000)
    )
    written = io.BytesIO()
    with wave.open(written, "wb") as stereo:
        stereo.setparams((2, 2, 8_000, 0, "NONE", ""))
        stereo.writeframes(frames)
    sound = audio_block(written.getvalue(), "audio/wav")
    shop.written(writer, [shop.tool_result("hotline", "c", shop.content(sound))])
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.page.locator(".pf-waveform")).to_be_visible()
    # How much of each half is drawn.
    silent, loud = tab.page.locator(".pf-waveform").evaluate("""canvas => {
      const half = canvas.width / 2;
      return [0, half].map((left) => {
        const { data } = canvas.getContext("2d").getImageData(left, 0, half, canvas.height);
        return data.filter((value, index) => index % 4 === 3 && value > 0).length;
      });
    }""")
    assert loud > 5 * silent


def assert_played_to(tab: Tab, seconds: float) -> None:
    """The recording is at a place."""
    at = tab.page.locator("audio").evaluate("audio => audio.currentTime")
    assert at == pytest.approx(seconds, abs=0.1)


def test_scenes_and_transcripts_seek(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.put_pages(writer)
    words = "[00:00] Hello.\n[00:01] It says my card has expired.\nBut it has not."
    put(
        writer,
        "call",
        modality="audio",
        content=data_uri(media.wav(2.0), "audio/wav"),
        transcript=words,
    )
    tab = add_axe(open_tab(open_service))
    tab.open("/pages/click-recording")
    scenes = tab.page.get_by_label("What happens when")
    expect(scenes.get_by_role("listitem")).to_have_count(2)
    scenes.get_by_role("button", name="The pointer at the button").click()
    video = tab.page.locator("video")
    expect(video).to_have_js_property("currentTime", 1)
    expect(scenes.locator("[aria-current=time]")).to_contain_text("The pointer at the button")
    assert_accessible(tab)
    tab.open("/pages/call")
    tab.page.get_by_role("button", name="It says my card has expired. But it has not.").click()
    expect(tab.page.locator("audio")).to_have_js_property("currentTime", 1)


def test_scenes_and_transcripts_of_page_faults_seek_in_the_timeline(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.put_pages(writer)
    words = "00:00.000 --> 00:01.000\nHello.\n\n00:01.000 --> 00:02.000\nMy card has expired."
    sound = data_uri(media.wav(2.0), "audio/wav")
    put(writer, "call", modality="audio", content=sound, transcript=words)
    for page_id in ("click-recording", "call"):
        fault = {"session_id": shop.SESSION, "target_level": 0}
        assert writer.post(f"/api/pages/{page_id}/fault", json=fault).is_success
    # The history keeps the transcript of the time of the fault.
    put(writer, "call", modality="audio", content=sound, transcript="No more words.")
    tab = add_axe(open_tab(open_service))
    tab.open(f"/sessions/{shop.SESSION}")
    for kind, text, seconds in [
        ("video", "0:01 The pointer at the button", 1),
        ("audio", "0:01 My card has expired.", 1),
    ]:
        card = tab.page.locator(".call-card", has=tab.page.locator(kind))
        cues = card.get_by_label("What happens when")
        cues.get_by_role("button", name=text).click()
        expect(card.locator(kind)).to_have_js_property("currentTime", seconds)
        expect(cues.locator("[aria-current=time]")).to_have_text(text)
    assert_accessible(tab)


def test_page_fault_leads_to_its_page_and_back(tab_of_everything: Tab) -> None:
    tab = tab_of_everything
    tab.open(f"/sessions/{shop.SESSION}?kind=fault")
    expect(tab.entries).to_have_count(1)
    expect(tab.entries.first.locator("img").first).not_to_have_js_property("naturalWidth", 0)
    tab.entries.first.get_by_role("link", name=shop.CHART_PAGE).click()
    expect(tab.page.get_by_role("heading", name=shop.CHART_PAGE)).to_be_visible()
    tab.page.get_by_role("link", name="Faults in its session").click()
    expect(tab.entries).to_have_count(1)


def test_tall_screenshot_is_read_from_its_top_at_the_width_of_its_place(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    picture = image_block(media.png(640, 6_400))
    shop.written(writer, [shop.tool_result("camera", "c", shop.content(picture))])
    tab = add_axe(open_tab(open_service, viewport={"width": 1_280, "height": 800}))
    tab.open(f"/sessions/{shop.SESSION}")
    page = tab.page
    enlarge = page.get_by_role("button", name="Enlarge")
    expect(enlarge.locator("img")).to_be_visible()
    place, box = enlarge.bounding_box(), enlarge.locator("img").bounding_box()
    assert box is not None
    assert place is not None
    assert box["width"] == 640
    assert place["height"] < 500
    assert_accessible(tab)
    enlarge.click()
    await_top(page, 0)
    page.locator(".pf-zoom-field").hover()
    page.mouse.wheel(0, 500)
    await_top(page, 500)
    page.get_by_role("button", name="100%").click()
    await_top(page, 0)


def await_top(page: Page, scrolled: int) -> None:
    """Wait until an image of 640 pixels has its width, and is scrolled so far from its top."""
    page.wait_for_function(
        """scrolled => {
          const [field, image] = [".pf-zoom-field", ".pf-zoom-field img"]
            .map((name) => document.querySelector(name).getBoundingClientRect());
          return Math.abs(image.width - 640) < 2
            && Math.abs(field.top - image.top - scrolled) < 2;
        }""",
        arg=scrolled,
    )


def test_image_that_is_sent_as_it_is_has_the_whole_dialog(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    picture = image_block(media.png(600, 400, noise=True))
    shop.written(writer, [shop.tool_result("camera", "c", shop.content(picture))])
    tab = add_axe(open_tab(open_service, viewport={"width": 1_280, "height": 800}))
    tab.open(f"/sessions/{shop.SESSION}")
    tab.page.get_by_role("button", name="Enlarge").click()
    expect(tab.page.get_by_text("The same image.")).to_be_visible()
    assert field_of(tab.page)["width"] > 1_150
    assert_accessible(tab)


def test_files_have_no_figure_of_tokens_that_is_of_their_text_alone(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    clip = file_block("click.mp4", drawings.click_clip(), "video/mp4")
    report = file_block("report.pdf", drawn_pdf(1), "application/pdf")
    results = [
        shop.tool_result("record", "c1", shop.content(clip)),
        shop.tool_result("report", "c2", shop.content(report)),
        shop.tool_result("record", "c3", shop.content(shop.text("Recorded it."), clip)),
    ]
    shop.written(writer, results)
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    cards = tab.page.locator(".call-facts")
    expect(cards.last).to_contain_text("tokens of text stored")
    for card in (cards.first, cards.nth(1)):
        expect(card).to_contain_text("1 file kept")
        expect(card).not_to_contain_text("tokens")
