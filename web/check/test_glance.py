"""A session at a glance: its totals, its calls over time, and the colours of its tools."""

import json
import re

import httpx
from playwright.sync_api import Locator, expect

from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.contract.render_cases import image_block
from tests.kit import media
from tests.kit.servers import LiveService
from web.check.accessible import add_axe, assert_accessible

_FILL = "one => getComputedStyle(one).fill"


def step(number: int, *tools: str, failed: str = "", said: str = "I try.") -> list[shop.Write]:
    """A message that calls tools, and their answers."""
    calls = [
        {
            "id": f"{tool}-{number}",
            "type": "function",
            "function": {
                "name": tool,
                "arguments": json.dumps({"command": f"{tool} --step {number}"}),
            },
        }
        for tool in tools
    ]
    message = shop.message("assistant", said, tool_calls=calls, model="claude-sonnet-4-5")
    answers = [
        shop.tool_result(tool, f"{tool}-{number}", f"{tool} says {number}.", success=tool != failed)
        for tool in tools
    ]
    return [message, *answers]


def bar(tab: Tab, tool: str) -> Locator:
    """Return the bars of a tool in the strip, by the colour of its chip."""
    chip = tab.page.get_by_role("list", name="Tools").get_by_role("button", name=tool)
    style = chip.get_attribute("style") or ""
    colour = re.search(r"--tool-(\d)", style)
    assert colour is not None, style
    return tab.page.locator(f'.strip-picture path[data-colour="{colour[1]}"]')


def test_header_has_the_title_the_id_and_the_totals(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Mend the build.")])
    shop.written(writer, [*step(1, "bash", failed="bash"), *step(2, "bash", "grep")])
    tab = add_axe(open_tab(open_service, permissions=["clipboard-read", "clipboard-write"]))
    tab.open(f"/sessions/{shop.SESSION}")
    header = tab.page.locator(".timeline-header")
    expect(header.get_by_role("heading", level=1)).to_have_text("Mend the build.")
    totals = tab.page.locator(".timeline-totals")
    for fact in (
        shop.SESSION,
        "took",
        "6 entries",
        "tokens stored",
        "1 error",
        "claude-sonnet-4-5",
    ):
        expect(totals).to_contain_text(fact)
    expect(totals.get_by_text("2 tools")).to_have_attribute("title", "bash 2, grep 1")
    tab.page.get_by_role("button", name="Copy id").click()
    assert tab.page.evaluate("() => navigator.clipboard.readText()") == shop.SESSION
    tab.await_live()
    expect(header.locator(".live-dot")).to_have_attribute("title", "Live")
    assert_accessible(tab)


def test_tool_has_one_colour_in_the_strip_its_chip_the_map_and_its_cards(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    for number in range(8):
        shop.written(writer, step(number, "bash", "read_file", "grep"))
    tab = add_axe(open_tab(open_service))
    tab.open(f"/sessions/{shop.SESSION}#2")
    colours = set()
    for tool in ("bash", "read_file", "grep"):
        colour = bar(tab, tool).evaluate(_FILL)
        card = tab.page.locator(".call-card", has=tab.page.get_by_text(tool, exact=True)).first
        expect(card).to_have_css("border-top-color", colour)
        place = bar(tab, tool).get_attribute("data-colour")
        lines = tab.page.locator(f'.minimap path[data-colour="{place}"]')
        assert lines.evaluate(_FILL) == colour
        chip = tab.page.locator(".chip", has_text=tool)
        assert chip.evaluate("one => getComputedStyle(one, '::before').backgroundColor") == colour
        colours.add(colour)
    assert len(colours) == 3
    assert_accessible(tab)


def test_calls_of_one_step_are_bars_below_each_other_and_a_click_goes_there(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Begin.")])
    picture = shop.content(image_block(media.png(20, 20)))
    shop.written(writer, [*step(1, "bash", "grep"), shop.tool_result("camera", "c", picture)])
    shop.written(writer, step(2, "bash", failed="bash"))
    tab = open_tab(open_service)
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    strip = page.get_by_role("slider", name="Calls over time")
    boxes = [bar(tab, tool).bounding_box() for tool in ("bash", "grep", "camera")]
    assert all(box is not None and box["width"] >= 2 for box in boxes)
    tops = [box["y"] for box in boxes if box is not None]
    assert tops[0] < tops[1]
    for name in (".mark-failed", ".mark-image", ".mark-said"):
        box = strip.locator(name).bounding_box()
        assert box is not None
        assert box["width"] >= 2, name
    mark = strip.locator(".mark-said").bounding_box()
    assert mark is not None
    page.mouse.click(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    expect(strip).to_have_attribute("aria-valuetext", "Entry 1 of 7")
    strip.press("End")
    expect(strip).to_have_attribute("aria-valuetext", "Entry 7 of 7")
    page.get_by_role("list", name="Tools").get_by_role("button", name="grep").click()
    expect(page.locator(".call-card")).to_have_count(2)
    expect(page).to_have_url(re.compile("tool=grep"))


def test_more_than_50_entries_are_lines_of_at_most_44_pixels(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    picture = shop.content(shop.text("The page."), image_block(media.png(20, 20)))
    shop.written(writer, [shop.message("user", "Mend the build.")])
    for number in range(17):
        failed = "bash" if number == 15 else ""
        shop.written(writer, step(number, "bash", "grep", failed=failed))
    shop.written(writer, [shop.tool_result("camera", "c", picture)])
    tab = add_axe(open_tab(open_service))
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    lines = page.locator("article.line")
    expect(lines.last).to_be_in_viewport()
    heights = lines.evaluate_all("all => all.map((one) => one.getBoundingClientRect().height)")
    assert len(heights) >= 10
    assert max(heights) <= 44
    call = page.locator('article.line[data-seq="51"]')
    for fact in ("bash", "bash --step 16", "bash says 16.", "ms", "tok", "#51"):
        expect(call).to_contain_text(fact)
    thumbnail = page.locator('article.line[data-seq="53"] img')
    expect(thumbnail).to_have_js_property("naturalWidth", 20)
    expect(page.locator("article.line.line-failed")).to_contain_text("Failed")
    assert_accessible(tab)

    # A line opens as a card by a click or a key, and becomes a line again.
    call.get_by_role("button").click()
    card = page.locator('.call-card[data-seq="51"]')
    expect(card).to_be_focused()
    page.keyboard.press("Enter")
    expect(call).to_be_focused()
    expect(card).to_have_count(0)
    page.keyboard.press("Enter")
    expect(card).to_be_focused()
    assert_accessible(tab)
    page.keyboard.press("c")
    expect(lines).to_have_count(0)
    page.reload()
    expect(page.locator('.call-card[data-seq="53"]')).to_be_visible()
    page.keyboard.press("c")
    expect(lines.last).to_be_visible()


def test_few_entries_are_cards(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, step(1, "bash"))
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.page.locator(".call-card")).to_be_visible()
    tab.page.keyboard.press("c")
    expect(tab.page.locator("article.line")).to_have_count(2)


def test_images_stand_in_one_line_and_each_leads_to_its_entry(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    for number in range(40):
        picture = shop.content(image_block(media.png(60, 40 + number, noise=True)))
        shop.written(writer, [shop.tool_result("camera", f"c{number}", picture)])
    tab = add_axe(open_tab(open_service))
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}#20")
    page.get_by_role("button", name="40 images").click()
    film = page.get_by_role("region", name="Images in their order")
    current = film.locator('[aria-current="location"]')
    expect(current).to_have_accessible_name("1 image of entry 20")
    expect(current).to_be_in_viewport()
    expect(current.locator("img")).to_have_js_property("naturalHeight", 59)
    assert film.locator(".frame").count() < 30
    assert_accessible(tab)
    film.get_by_role("button", name="1 image of entry 22").click()
    expect(page.locator('article[data-seq="22"]')).to_have_attribute("aria-current", "location")
    expect(current).to_have_accessible_name("1 image of entry 22")
    film.evaluate("film => { film.scrollLeft = film.scrollWidth }")
    expect(film.get_by_role("button", name="1 image of entry 40").locator("img")).to_be_visible()
    page.keyboard.press("f")
    expect(film).to_have_count(0)


def test_wide_screen_has_a_third_pane_with_the_chosen_entry(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = add_axe(open_tab(open_service, viewport={"width": 1_600, "height": 900}))
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}#3")
    pane = page.get_by_role("complementary", name="The chosen entry")
    expect(pane.get_by_role("heading", level=2)).to_contain_text("browser.open #3")
    expect(pane).to_contain_text("https://shop.example/checkout")
    image = pane.locator(".picture img")
    expect(image).not_to_have_js_property("naturalWidth", 0)
    box, pane_box = image.bounding_box(), pane.bounding_box()
    assert box is not None
    assert pane_box is not None
    assert box["width"] > 0.85 * pane_box["width"]
    for earlier in (".session-list", ".timeline-window"):
        other = page.locator(earlier).bounding_box()
        assert other is not None
        assert other["x"] + other["width"] <= pane_box["x"]
    assert_accessible(tab)
    pane.get_by_role("button", name="JSON", exact=True).click()
    expect(pane).to_contain_text("toolCallId: “call_open”")
    pane.get_by_role("button", name="What the model gets").click()
    expect(pane.get_by_text("tool_use_id")).to_be_visible()
    page.keyboard.press("c")
    page.locator('article.line[data-seq="5"]').get_by_role("button").click()
    expect(pane.get_by_role("heading", level=2)).to_contain_text("browser.screenshot #5")
    page.keyboard.press("j")
    expect(pane.get_by_role("heading", level=2)).to_contain_text("#6")
    page.set_viewport_size({"width": 1_599, "height": 900})
    expect(pane).to_have_count(0)


def test_what_a_provider_would_refuse_is_said_in_the_header_and_at_its_entry(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
    shop.written(
        writer,
        [
            shop.message("user", "Pay it."),
            shop.message("assistant", "I pay.", tool_calls=[call]),
            shop.message("user", "Never mind."),
            shop.tool_result("basket", "c9", "Paid."),
        ],
    )
    shop.written(writer, [shop.message("user", "Hello.", session_id="healthy")])
    request = {"sessionId": shop.SESSION}
    report = writer.post("/api/doctor", params={"target": "anthropic"}, json=request).json()
    found = report["findings"]
    assert len(found) >= 2
    tab = add_axe(open_tab(open_service, accept_downloads=True))
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    badge = page.get_by_role("link", name=f"Anthropic would refuse this ({len(found)})")
    expect(badge).to_be_visible()
    for seq in {finding["seq"] for finding in found}:
        label = page.locator(f'[data-seq="{seq}"]').get_by_role("link", name="finding")
        expect(label).to_have_attribute("title", re.compile("Fix:"))
    # The session went on, so nobody waits for the answer of this call.
    expect(page.locator(".call-card", has_text="pay")).to_contain_text("Never answered")
    assert_accessible(tab)
    page.keyboard.press("c")
    expect(page.locator("article.line").get_by_role("link", name="finding").first).to_be_visible()
    expect(page.locator("article.line", has_text="pay").last).to_contain_text("Never answered")
    badge.click()
    expect(page).to_have_url(re.compile("/doctor.*target=anthropic"))
    # Nothing else has to be pressed for the healed history.
    with page.expect_download() as downloads:
        page.get_by_role("button", name="Download the healed history").click()
    healed = json.loads(downloads.value.path().read_text())
    again = writer.post("/api/doctor", params={"target": "anthropic"}, json=healed).json()
    assert again["findings"] == []
    with page.expect_response(re.compile("/api/doctor")):
        tab.open("/sessions/healthy")
    expect(page.get_by_text("would refuse")).to_have_count(0)


def test_phone_gives_48_pixels_to_the_chrome(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = add_axe(open_tab(open_service, viewport={"width": 390, "height": 844}))
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    entries = page.get_by_role("region", name="Entries")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Checkout fails")
    box = entries.bounding_box()
    assert box is not None
    assert box["y"] <= 48
    assert_accessible(tab)
    find = page.get_by_role("button", name="Find", exact=True)
    inner = find.bounding_box()
    assert inner is not None
    assert inner["y"] + inner["height"] <= 48
    find.click()
    expect(page.get_by_label("Search in this session")).to_be_in_viewport()
    expect(page.locator(".timeline-totals")).to_contain_text("15 entries")
    assert_accessible(tab)
    page.get_by_role("link", name="All sessions").click()
    page.wait_for_function("document.querySelector('.shell-header')?.offsetHeight <= 48")
    page.get_by_text("Menu", exact=True).click()
    assert_accessible(tab)
    page.get_by_role("link", name="Pages", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Pages")).to_be_visible()
    expect(page.get_by_role("link", name="Doctor")).to_be_hidden()


def test_what_a_sub_agent_wrote_is_indented(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Ask another.")])
    call = {"id": "task-1", "type": "function", "function": {"name": "task", "arguments": "{}"}}
    shop.written(writer, [shop.message("assistant", "I ask.", tool_calls=[call])])
    for number, parent in ((1, "task-1"), (2, "inner-1")):
        inner = {
            "id": f"inner-{number}",
            "type": "function",
            "function": {"name": "look", "arguments": "{}"},
        }
        said = shop.message("assistant", "Below.", tool_calls=[inner], parent_tool_use_id=parent)
        shop.written(writer, [said])
    shop.written(writer, [shop.message("assistant", "Done.")])
    tab = add_axe(open_tab(open_service))
    tab.open(f"/sessions/{shop.SESSION}")
    for form in ("cards", "lines"):
        if form == "lines":
            tab.page.keyboard.press("c")
            expect(tab.page.locator("article.line")).not_to_have_count(0)
        entries = tab.page.locator("article[data-seq]:not([aria-busy])")
        expect(entries).to_have_count(5)
        lefts = entries.evaluate_all("all => all.map((one) => one.getBoundingClientRect().x)")[1:]
        assert lefts[0] == lefts[3]
        assert lefts[0] < lefts[1] < lefts[2]
        assert_accessible(tab)


def test_what_a_sub_agent_of_ag_ui_wrote_is_indented(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "ask", "arguments": "{}"}}
    said = {"role": "assistant", "content": "Words."}
    messages = (
        {"id": "1", "role": "user", "content": "Ask another.", "encryptedValue": "x"},
        {**said, "id": "2", "toolCalls": [call]},
        {**said, "id": "3", "subagentRunId": "run-1"},
        {**said, "id": "4", "subagentRunId": "run-2"},
        {"id": "5", "role": "tool", "toolCallId": "c", "content": "Done."},
        {**said, "id": "6", "encryptedValue": "x"},
    )
    shop.written(writer, [shop.any_message(message) for message in messages])
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")

    def left(number: int) -> float:
        place = tab.page.locator(f'article[data-seq="{number}"]:not([aria-busy])').bounding_box()
        assert place is not None
        return place["x"]

    expect(tab.page.locator('article[data-seq="6"]:not([aria-busy])')).to_be_visible()
    assert left(3) == left(4) > left(2) == left(6)


def test_what_another_author_of_adk_wrote_is_indented(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    def event(author: str, words: str) -> shop.Write:
        role = "user" if author == "user" else "model"
        content = {"role": role, "parts": [{"text": words}]}
        return shop.any_message({"invocationId": "i", "author": author, "content": content})

    authors = ("user", "root_agent", "weather_agent", "weather_agent", "root_agent")
    shop.written(writer, [event(author, f"{author} says.") for author in authors])
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    entries = tab.page.locator("article[data-seq]:not([aria-busy])")
    expect(entries).to_have_count(5)
    lefts = entries.evaluate_all("all => all.map((one) => one.getBoundingClientRect().x)")
    assert lefts[2] == lefts[3] > lefts[0] == lefts[1] == lefts[4]


def test_strip_has_what_a_model_no_longer_gets_in_full(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    path = f"/api/sessions/{shop.SESSION}/render"
    shop.written(writer, [shop.message("user", "Look at these.")])
    turn = {"target": "anthropic", "maxTokens": 2_000, "frontier": "main", "media": "reference"}
    for number in range(10):
        shop.written(writer, [shop.tool_result("look", f"c{number}", f"Look {number}. " * 100)])
        assert writer.post(path, json=turn).is_success
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    evicted = tab.page.locator(".mark-evicted")
    expect(evicted).to_have_attribute("d", re.compile("M"))
    mark, strip = evicted.bounding_box(), tab.page.locator(".strip-picture").bounding_box()
    assert mark is not None
    assert strip is not None
    # The oldest are evicted, the newest are not.
    assert mark["x"] < strip["x"] + strip["width"] / 3
    assert mark["x"] + mark["width"] < strip["x"] + strip["width"] - 4
    tab.page.locator(".strip").get_by_role("link", name=re.compile(r"^\d+ evicted$")).click()
    expect(tab.page.get_by_label("Only what was evicted or changed")).to_be_checked()


def test_long_session_has_its_badge_and_its_evictions(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
    said = [{"role": "user", "content": f"Step {number}. " * 20} for number in range(2_200)]
    history = [*said, {"role": "assistant", "content": "I pay.", "tool_calls": [call]}, said[0]]
    path = f"/api/sessions/{shop.SESSION}"
    assert writer.put(f"{path}/history", json=history).is_success
    turn = {"target": "anthropic", "maxTokens": 20_000, "frontier": "main", "media": "reference"}
    assert writer.post(f"{path}/render", json=turn).is_success
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.page.get_by_role("link", name="Anthropic would refuse this (1)")).to_be_visible()
    expect(tab.page.locator(".mark-evicted")).to_have_attribute("d", re.compile("M"))


def test_what_is_not_found_out_is_said(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Hello."), shop.message("assistant", "Hello.")])
    said = [{"role": "user", "content": "Hello."}] * 10_000
    assert writer.put("/api/sessions/very-long/history", json=said, timeout=120).is_success
    shop.written(writer, [shop.message("user", "Hello.", session_id="very-long")])
    tab = add_axe(open_tab(open_service))
    tab.page.route(re.compile("/api/doctor|/working-set"), lambda route: route.abort())
    tab.open(f"/sessions/{shop.SESSION}")
    for said_so in ("Could not be examined for Anthropic", "Evictions could not be read"):
        expect(tab.page.get_by_role("link", name=said_so)).to_be_visible()
    assert_accessible(tab)
    tab.open("/sessions/very-long")
    link = tab.page.get_by_role("link", name="evictions not marked: above 10,000 entries")
    expect(link).to_be_visible()
    expect(link).to_have_attribute("href", re.compile("^/doctor.*very-long"))


def test_cost_is_shown_once_prices_are_switched_on(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Mend the build. " * 10_000)])
    shop.written(writer, [*step(1, "bash"), *step(2, "bash")])
    shop.written(writer, [shop.message("assistant", "Done.", model="house-model")])
    tab = add_axe(open_tab(open_service))
    tab.open(f"/sessions/{shop.SESSION}")
    totals = tab.page.locator(".timeline-totals")
    expect(totals).to_contain_text("6 entries")
    expect(totals).not_to_contain_text("$")
    tab.page.get_by_text("Actions", exact=True).click()
    tab.page.get_by_role("button", name="Cost and prices …").click()
    dialog = tab.page.get_by_role("dialog", name="Cost of a session")
    dialog.get_by_label("Show the cost in the header").check()
    assert_accessible(tab)
    dialog.get_by_role("button", name="Save").click()
    # 40,000 tokens at 3 dollars for a million, read from the cache once more, and a few others.
    expect(totals).to_contain_text("≈ $0.13, no price for house-model")
    tab.page.get_by_text("Actions", exact=True).click()
    tab.page.get_by_role("button", name="Cost and prices …").click()
    dialog.get_by_role("button", name="Add a model").click()
    dialog.get_by_label("Model starts with, row 6").fill("house-")
    dialog.get_by_label("Cached, row 6").fill("100")
    dialog.get_by_role("button", name="Save").click()
    expect(totals).to_contain_text("≈ $4.1")
    tab.page.reload()
    expect(totals).to_contain_text("≈ $4.1")
    expect(totals).not_to_contain_text("no price")


def test_model_is_named_for_a_session_whose_messages_name_none(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Mend the build. " * 10_000)])
    shop.written(writer, [shop.message("assistant", "Done.")])
    shop.written(writer, [shop.message("assistant", "Done.", session_id="other")])
    tab = add_axe(open_tab(open_service))
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    totals = page.locator(".timeline-totals")
    expect(totals).to_contain_text("2 entries")
    dialog = page.get_by_role("dialog", name="Cost of a session")
    page.get_by_text("Actions", exact=True).click()
    page.get_by_role("button", name="Cost and prices …").click()
    dialog.get_by_label("Show the cost in the header").check()
    dialog.get_by_role("button", name="Save").click()
    expect(totals).to_contain_text("cost unknown, no price for messages that name no model")
    page.get_by_text("Actions", exact=True).click()
    page.get_by_role("button", name="Cost and prices …").click()
    field = dialog.get_by_label("Model of the messages of this session that name none")
    options = dialog.locator("datalist option")
    models = options.evaluate_all("all => all.map((one) => one.value)")
    assert "claude-sonnet-4" in models
    assert_accessible(tab)
    field.fill("claude-sonnet-4")
    dialog.get_by_role("button", name="Save").click()
    # 40,000 tokens at 3 dollars for a million, and a few others.
    for _ in range(2):
        expect(totals).to_contain_text("≈ $0.12")
        expect(totals).not_to_contain_text("no price")
        page.reload()
    tab.open("/sessions/other")
    expect(totals).to_contain_text("no price for messages that name no model")


def test_dialog_of_prices_asks_for_no_model_where_each_message_names_one(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, step(1, "bash"))
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.page.locator(".timeline-totals")).to_contain_text("2 entries")
    tab.page.get_by_text("Actions", exact=True).click()
    tab.page.get_by_role("button", name="Cost and prices …").click()
    expect(tab.page.get_by_label("Show the cost in the header")).to_be_visible()
    expect(tab.page.get_by_label("that name none")).to_have_count(0)


def test_errors_of_the_header_lead_to_the_lines_that_say_why(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "make"}}
    words = "==== FAILURES ====\nE   MakeError: no rule to make target 'all'\n1 failed in 3.2 s"
    result = {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": words}
    messages = [shop.message("user", f"Step {number}.") for number in range(60)]
    messages.append(shop.message("assistant", [call]))
    messages.append(shop.message("user", [result]))
    shop.written(writer, messages)
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}#3")
    tab.page.get_by_role("link", name="1 error").click()
    expect(tab.page.locator(".line-failed")).to_contain_text("no rule to make target 'all'")
    expect(tab.page.locator(".line-failed")).not_to_contain_text("FAILURES")
    expect(tab.page.locator(".line-failed")).not_to_contain_text("1 failed in")
    # The arguments stand below the cause, in a line of the same height.
    line = tab.page.locator(".line-failed")
    cause, argument = line.locator(".line-text > span").all()
    expect(argument).to_have_text("make")
    upper, lower, whole = cause.bounding_box(), argument.bounding_box(), line.bounding_box()
    assert upper is not None
    assert lower is not None
    assert whole is not None
    assert upper["y"] + upper["height"] <= lower["y"]
    assert whole["y"] <= upper["y"]
    assert lower["y"] + lower["height"] <= whole["y"] + whole["height"]
    other = tab.page.locator(".line:not(.line-failed)").first
    expect(other).to_have_js_property("offsetHeight", line.evaluate("line => line.offsetHeight"))
    # Its card says once that it failed, and not that a result is one.
    tab.page.locator(".line-failed .line-open").click()
    card = tab.page.locator(".call-card.failed")
    expect(card).to_contain_text("no rule to make target")
    expect(card.get_by_text("Failed", exact=True)).to_have_count(1)
    expect(card).not_to_contain_text("Result of a tool")
    expect(tab.page).to_have_url(re.compile("failed=1"))


def test_wide_screen_has_two_lines_for_the_title(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    title = "Find why each second order fails since Monday, and prove that one goes through. " * 9
    shop.written(writer, [shop.message("user", title)])
    lines = {}
    for width in (390, 1_023, 1_024, 1_440):
        tab = add_axe(open_tab(open_service, viewport={"width": width, "height": 900}))
        tab.open(f"/sessions/{shop.SESSION}")
        heading = tab.page.locator(".timeline-header h1")
        expect(heading).to_contain_text("prove that one goes through.")
        expect(tab.page.get_by_role("button", name="Whole title")).to_be_visible()
        line = heading.evaluate("box => parseFloat(getComputedStyle(box).lineHeight)")
        lines[width] = round(heading.evaluate("box => box.clientHeight") / line)
        assert_accessible(tab)
    assert lines == {390: 1, 1_023: 1, 1_024: 2, 1_440: 2}
