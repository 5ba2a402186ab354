"""The view of the messages for a model, and the doctor for histories that a provider refuses."""

import json
import re
from pathlib import Path

import httpx
import pytest
from anthropic.types import MessageParam, TextBlockParam, ToolResultBlockParam, ToolUseBlockParam
from playwright.sync_api import Locator, Route, expect

from tests.browser import drawings, shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.contract.render_cases import image_block
from tests.kit.servers import LiveService
from web.check.accessible import add_axe, assert_accessible


def opened(service: LiveService, open_tab: OpenTab, query: str = "") -> Tab:
    tab = add_axe(open_tab(service))
    tab.open(f"/sessions/{shop.SESSION}/model{query}")
    # A session of 10,000 entries is read at once.
    expect(tab.page.get_by_text("tokens sent in")).to_be_visible(timeout=60_000)
    return tab


def entry(tab: Tab, seq: int) -> Locator:
    return tab.page.locator(
        ".model-entry", has=tab.page.get_by_role("link", name=f"#{seq}", exact=True)
    ).last


def test_each_entry_is_shown_as_a_model_has_it_with_its_loss(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = opened(open_service, open_tab)
    expect(entry(tab, 4)).to_contain_text("original → placeholder")
    expect(entry(tab, 4)).to_contain_text("takes no video/mp4")
    expect(entry(tab, 3)).to_contain_text("full")
    assert_accessible(tab)
    tab.page.locator(".model-options select").first.select_option("text")
    expect(entry(tab, 3)).to_contain_text("original →")
    tab.page.locator(".model-options select").first.select_option("anthropic")
    entry(tab, 3).get_by_text("Sent as").click()
    expect(entry(tab, 3).locator("img")).not_to_have_js_property("naturalWidth", 0)
    expect(entry(tab, 3).get_by_text("Nothing was dropped.")).to_be_visible()
    tab.page.get_by_role("heading", name="Messages, as they are sent").click()
    tab.page.get_by_text("Message 1", exact=True).click()
    assert_accessible(tab)
    entry(tab, 3).get_by_role("link", name="#3").click()
    expect(tab.page.locator('[data-seq="3"]')).to_have_attribute("aria-current", "location")
    tab.page.locator('[data-seq="3"]').get_by_role("link", name="What the model gets").click()
    expect(entry(tab, 3)).to_have_attribute("aria-current", "location")


def test_heading_has_the_title_of_the_session_and_an_unknown_one_is_said(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Mend the build. " * 30)])
    tab = opened(open_service, open_tab)
    heading = tab.page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("What the model gets of “Mend the build.")
    box = heading.bounding_box()
    assert box is not None
    assert box["height"] < 40
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(tab.page.locator(".model-view > header")).to_contain_text(shop.SESSION)
    tab.open("/sessions/nope/model")
    expect(tab.page.get_by_text("There is no session nope")).to_be_visible()
    assert_accessible(tab)


def test_a_smaller_budget_evicts_and_draws_the_frontier(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = opened(open_service, open_tab)
    expect(tab.page.get_by_role("separator")).to_have_count(0)
    tab.page.get_by_label("Budget, tokens", exact=True).fill("2600")
    expect(entry(tab, 3)).to_contain_text("media as lines")
    expect(entry(tab, 3)).to_contain_text("the oldest media make room first")
    expect(tab.page.locator(".model-unseen > p").first).to_have_text(
        re.compile(r"The model no longer sees \d+ of \d+ entries in full:")
    )
    address = tab.page.url
    assert "maxTokens=" in address
    tab.page.reload()
    expect(entry(tab, 3)).to_contain_text("media as lines")
    tab.page.get_by_label("Budget, tokens", exact=True).fill("1")
    alert = tab.page.get_by_role("alert")
    expect(alert).to_contain_text("tokens are needed")
    assert_accessible(tab)
    # The service names the floor, at which the slider ends as well.
    alert.get_by_role("button").click()
    expect(tab.page.get_by_text("The model no longer sees")).to_be_visible()
    floor = tab.page.get_by_label("Budget, tokens", exact=True).input_value()
    assert int(floor) > 500
    tab.page.get_by_role("slider", name="Budget on a scale").fill("0")
    expect(tab.page.get_by_label("Budget, tokens", exact=True)).to_have_value(floor)
    expect(tab.page.get_by_role("slider")).to_have_attribute("aria-valuetext", f"{int(floor):,}")
    expect(tab.page.get_by_role("alert")).to_have_count(0)


def test_steps_say_at_which_level_a_model_has_them(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Begin.")])
    for number in range(40):
        function = {"name": "bash", "arguments": json.dumps({"q": "look " * 30})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        result = {"toolName": "bash", "toolCallId": f"c{number}", "result": "A line. " * 100}
        stored = writer.post(
            f"/api/sessions/{shop.SESSION}/turns",
            json={"entries": [{"message": message}, {"toolResult": result}]},
        )
        assert stored.status_code == 200, stored.text
    tab = opened(open_service, open_tab, "?maxTokens=2000")
    fold = tab.page.locator(".model-entry", has_text="one line for").first
    expect(fold).to_contain_text("folded")
    expect(fold).to_contain_text(re.compile(r"one line for \d+ entries"))
    fold.get_by_text("Sent as").click()
    expect(fold.locator(".entry-rendering")).to_contain_text(
        re.compile(r"bash \d+.*@entries:2-\d+")
    )
    expect(fold).to_contain_text("original → line")
    expect(tab.page.locator(".window-key").last).to_contain_text("Folded steps")
    expect(fold.get_by_role("link", name="#2", exact=True)).to_be_visible()
    expect(tab.page.locator(".model-entry", has_text="results as lines").first).to_be_visible()
    assert_accessible(tab)


def test_two_turns_are_compared_by_what_a_cache_loses(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Look at these.")])
    for number in range(4):
        picture = image_block(drawings.checkout_page())
        shop.written(writer, [shop.tool_result("camera", f"c{number}", shop.content(picture))])
    tab = opened(open_service, open_tab, "?target=openai-chat&maxImages=2")
    tab.page.get_by_role("heading", name="Compare two turns").click()
    tab.page.get_by_label("Earlier turn, up to entry").fill("3")
    tab.page.get_by_label("Later turn, up to entry").fill("5")
    tab.page.get_by_role("button", name="Compare").click()
    expect(tab.page.get_by_text("are the same and stay cached.")).to_be_visible()
    address = tab.page.url
    tab.page.reload()
    expect(tab.page.get_by_text("The first message that differs is number")).to_be_visible()
    expect(tab.page.locator(".hljs-deletion").first).to_be_visible()
    assert_accessible(tab)
    assert tab.page.url == address
    tab.page.get_by_label("Images at most").fill("")
    expect(tab.page.get_by_text("The later turn only appends")).to_be_visible()


def test_turns_in_either_order_say_exactly_what_was_appended(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    picture = image_block(drawings.checkout_page())
    shop.written(
        writer,
        [
            shop.message("user", "Look at this."),
            shop.tool_result("camera", "c1", shop.content(picture)),
            shop.message("assistant", "word " * 2_000),
            shop.message("user", "And now?"),
        ],
    )
    path = f"/api/sessions/{shop.SESSION}/render"
    whole = writer.get(path, params={"target": "anthropic"}).json()["tokensEst"]
    before = writer.get(path, params={"target": "anthropic", "upTo": 2}).json()["tokensEst"]
    tab = add_axe(open_tab(open_service))
    tab.open(f"/sessions/{shop.SESSION}/model?from=4&to=2")
    expect(tab.page.get_by_text("are read anew")).to_contain_text(f"≈ {whole - before:,} tokens")
    expect(tab.page.get_by_text("stay cached")).to_contain_text(f"≈ {before:,} tokens")
    tab.page.get_by_label("Earlier turn, up to entry").fill("")
    tab.page.get_by_label("Later turn, up to entry").fill("")
    tab.page.get_by_label("Budget of the later turn").fill(f"{whole - 100}")
    tab.page.get_by_role("button", name="Compare").click()
    expect(tab.page.get_by_text("The first message that differs is number")).to_be_visible()


def test_slider_that_is_drawn_asks_for_the_budget_at_which_it_rests(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Look at these.")])
    tab = opened(open_service, open_tab)
    render_count = len([request for request in tab.requests if "/render" in request.url])
    box = tab.page.get_by_role("slider", name="Budget on a scale").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    tab.page.mouse.move(box["x"] + box["width"] - 4, middle)
    tab.page.mouse.down()
    with tab.page.expect_response(lambda answer: "maxTokens=" in answer.url):
        tab.page.mouse.move(box["x"] + box["width"] / 2, middle, steps=60)
        tab.page.mouse.up()
    expect(tab.page).to_have_url(re.compile("maxTokens="))
    rendered = [request for request in tab.requests if "/render" in request.url]
    assert len(rendered) - render_count < 10


def test_every_kind_of_entry_says_what_it_becomes(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    path = f"/api/sessions/{shop.SESSION}/working-set"
    listed = writer.get(path, params={"target": "text"}).json()["entries"]
    tab = opened(open_service, open_tab)
    for seq in sorted({item["seq"] for item in listed if "seq" in item}):
        tab.page.goto(f"{tab.page.url.split('#')[0]}#entry-{seq}")
        expect(entry(tab, seq)).to_have_attribute("aria-current", "location")
        entry(tab, seq).get_by_text("Sent as").click()
        rendering = entry(tab, seq).locator(".entry-rendering")
        nothing = rendering.get_by_text("no message is sent for it")
        expect(rendering.locator(".json-tree").or_(nothing).first).to_be_visible()


def test_ten_thousand_entries_are_few_elements(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    role = ("user", "assistant")
    for start in range(0, 10_000, 100):
        entries = [
            {"message": {"role": role[number % 2], "content": f"Entry {number + 1}."}}
            for number in range(start, start + 100)
        ]
        sent = writer.post(f"/api/sessions/{shop.SESSION}/turns", json={"entries": entries})
        assert sent.is_success, sent.text[:500]
    tab = opened(open_service, open_tab, "#entry-7000")
    expect(entry(tab, 7000)).to_be_in_viewport()
    expect(entry(tab, 7000)).to_have_attribute("aria-current", "location")
    assert tab.page.evaluate("() => document.querySelectorAll('*').length") < 3_000
    tab.page.get_by_role("region", name="Entries, as the model has them").focus()
    tab.page.keyboard.press("End")
    expect(entry(tab, 10_000)).to_be_in_viewport()


def test_working_set_that_cannot_be_read_is_said_and_read_again(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Look at these.")])
    tab = open_tab(open_service)
    tab.page.route("**/working-set?*", lambda route: route.fulfill(status=400, body="{}"))
    tab.open(f"/sessions/{shop.SESSION}/model")
    expect(tab.page.get_by_role("alert")).to_be_visible()
    tab.page.unroute("**/working-set?*")
    tab.page.get_by_role("button", name="Try again").click()
    expect(tab.page.get_by_text("tokens sent in")).to_be_visible()


BROKEN: list[MessageParam] = [
    {"role": "user", "content": "What is on the page?"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}],
    },
    {"role": "user", "content": "Never mind."},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_9", "content": "A page."}],
    },
]


def test_broken_history_is_examined_and_its_healed_one_is_sound(
    open_service: LiveService, open_tab: OpenTab, tmp_path: Path
) -> None:
    tab = add_axe(open_tab(open_service, accept_downloads=True))
    tab.open("/doctor")
    tab.page.get_by_role("button", name="Examine").click()
    expect(tab.page.get_by_role("alert")).to_contain_text("Paste or choose a history first")
    tab.page.get_by_label("The history as JSON").fill("{")
    tab.page.get_by_role("button", name="Examine").click()
    expect(tab.page.get_by_role("alert")).to_contain_text("That is no JSON")
    assert_accessible(tab)

    history_file = tmp_path / "request.json"
    history_file.write_text(json.dumps({"messages": BROKEN}))
    tab.page.get_by_label("Choose a file").set_input_files(history_file)
    expect(tab.page.get_by_label("The history as JSON")).to_have_value(history_file.read_text())
    tab.page.get_by_role("button", name="Examine").click()
    findings = tab.page.get_by_role("region", name="The history, with what is wrong")
    expect(findings.get_by_text("no-answer")).to_be_visible()
    expect(findings.get_by_text("no-call")).to_be_visible()
    expect(findings.get_by_role("heading", name="Message 4")).to_be_visible()
    expect(findings.get_by_text("“user”").first).to_be_visible()
    assert_accessible(tab)
    with tab.page.expect_download() as downloads:
        tab.page.get_by_role("button", name="Download the healed history").click()
    healed = tmp_path / "healed.json"
    downloads.value.save_as(healed)
    assert downloads.value.suggested_filename == "request.healed.json"
    with open_service.client("none") as client:
        again = client.post(
            "/api/doctor",
            params={"target": "anthropic"},
            content=healed.read_bytes(),
            headers={"Content-Type": "application/json"},
        ).json()
        assert again["findings"] == []
        assert client.get("/api/sessions").json()["items"] == []


def test_stored_session_is_examined(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = opened(open_service, open_tab)
    tab.page.get_by_role("link", name="Examine this session").click()
    tab.page.get_by_role("button", name="Examine").click()
    expect(tab.page.get_by_role("heading", name="Entry #4")).to_be_visible()
    assert_accessible(tab)


def test_entry_that_made_room_is_shown_as_the_model_got_it_beside_the_original(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = opened(open_service, open_tab, "?maxTokens=2600")
    evicted = entry(tab, 3)
    expect(evicted).to_contain_text("media as lines")
    evicted.get_by_text("Sent as, beside the original").click()
    got = evicted.get_by_role("region", name="What the model got")
    original = evicted.get_by_role("region", name="Original")
    expect(got).to_contain_text("left out to make room")
    expect(got).not_to_contain_text("Clicked")
    expect(evicted.get_by_text("the oldest media make room first")).to_be_visible()
    expect(got.locator("img")).to_have_count(0)
    expect(original.locator("img")).not_to_have_js_property("naturalWidth", 0)
    expect(evicted.get_by_text("Nothing was dropped.")).to_have_count(0)
    assert_accessible(tab)
    for width in (390, 1_440):
        tab.page.set_viewport_size({"width": width, "height": 900})
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width


def test_of_a_message_of_several_entries_only_what_is_the_entrys_is_shown(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    calls = [
        {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}}
        for name in ("first", "second", "third")
    ]
    shop.written(
        writer, [shop.message("user", "Try."), shop.message("assistant", None, tool_calls=calls)]
    )
    for name in ("first", "second", "third"):
        words = f"The {name} says. " * 2_000
        shop.written(writer, [shop.tool_result(name, name, words)])
    shop.written(writer, [shop.message("user", "And?")])
    tab = opened(open_service, open_tab, "?maxTokens=2000")
    row = entry(tab, 4)
    row.get_by_text("Sent as, beside the original").click()
    got = row.get_by_role("region", name="What the model got")
    expect(got).to_contain_text("The second says.")
    expect(got).not_to_contain_text("The first says.")
    expect(got).not_to_contain_text("The third says.")


def test_key_leads_from_an_entry_to_what_the_model_gets_and_back(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}#3")
    expect(tab.page.locator('[data-seq="3"]')).to_have_attribute("aria-current", "location")
    tab.page.keyboard.press("m")
    expect(entry(tab, 3)).to_have_attribute("aria-current", "location")
    tab.page.keyboard.press("m")
    expect(tab.page.locator('[data-seq="3"]')).to_have_attribute("aria-current", "location")
    header = tab.page.locator(".timeline-header")
    header.get_by_role("link", name="What the model gets", exact=True).click()
    expect(tab.page.get_by_role("img", name="What fills the window")).to_be_visible()
    expect(entry(tab, 3)).to_have_attribute("aria-current", "location")


def test_bar_has_what_fills_the_window_within_a_preset(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    path = f"/api/sessions/{shop.SESSION}/working-set"
    listed = writer.get(path, params={"target": "anthropic"}).json()["entries"]
    media = sum(item.get("mediaTokens", 0) for item in listed)
    tab = opened(open_service, open_tab)
    bar = tab.page.locator(".window-bar")
    expect(bar.locator(".window-key.part-images")).to_contain_text(f"{media:,}")
    tab.page.get_by_role("button", name="32k").click()
    expect(tab.page.get_by_label("Budget, tokens", exact=True)).to_have_value("32000")
    expect(tab.page).to_have_url(re.compile("maxTokens=32000"))
    expect(bar).to_contain_text("free")
    picture, images = (
        one.bounding_box()
        for one in (bar.get_by_role("img"), bar.locator(".window-part.part-images"))
    )
    assert picture is not None
    assert images is not None
    assert images["width"] / picture["width"] == pytest.approx(media / 32_000, abs=0.01)
    assert_accessible(tab)


def test_bar_has_a_part_for_each_source_of_tokens(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    system = shop.message("system", "Answer briefly.")
    shop.written(writer, [system, *shop.EVERYTHING, shop.message("assistant", "Done.")])
    tab = opened(open_service, open_tab)
    parts = tab.page.locator(".window-key")
    expect(parts).to_have_text(
        [
            re.compile(f"^{name} [\\d,]+ \\d+%$")
            for name in ("System", "People", "Assistant", "Tools", "Images, recordings", "Pages")
        ]
    )
    colours = parts.evaluate_all(
        "all => all.map((one) => getComputedStyle(one, '::before').backgroundColor)"
    )
    assert len(set(colours)) == 6


def test_budget_of_the_address_is_the_one_that_is_shown(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = opened(open_service, open_tab, "?maxTokens=6000")
    expect(tab.page.get_by_label("Budget, tokens", exact=True)).to_have_value("6000")
    slider = tab.page.get_by_role("slider", name="Budget on a scale")
    expect(slider).to_have_attribute("aria-valuetext", "6,000")
    tab.page.get_by_role("button", name="no limit").click()
    expect(slider).to_have_value("200")
    # Its thumb reaches the end of its line.
    expect(slider).to_have_css("padding-inline-end", "0px")


def test_two_targets_stand_side_by_side(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = add_axe(open_tab(open_service, viewport={"width": 1_600, "height": 900}))
    tab.open(f"/sessions/{shop.SESSION}/model")
    tab.page.get_by_label("Beside it").select_option("text")
    one, other = (
        tab.page.get_by_role("region", name=name, exact=True) for name in ("anthropic", "text")
    )
    expect(one.locator(".model-entry").first).to_be_visible()
    expect(other.locator(".model-entry").first).to_be_visible()
    left, right = one.bounding_box(), other.bounding_box()
    assert left is not None
    assert right is not None
    assert left["x"] + left["width"] <= right["x"]
    assert left["y"] == right["y"]
    assert_accessible(tab)


def test_what_the_model_no_longer_saw_at_an_earlier_entry_is_said(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    path = f"/api/sessions/{shop.SESSION}/render"
    shop.written(writer, [shop.message("user", "Look at these.")])
    turn = {"target": "anthropic", "maxTokens": 2_000, "frontier": "main", "media": "reference"}
    for number in range(10):
        shop.written(writer, [shop.tool_result("look", f"c{number}", f"Look {number}. " * 100)])
        assert writer.post(path, json=turn).is_success
    shown = []
    for at in (3, 11):
        query = {"target": "anthropic", "frontier": "main", "at": at}
        working = writer.get(f"/api/sessions/{shop.SESSION}/working-set", params=query).json()
        shown.append(sum(item.get("evicted", False) for item in working["entries"]))
    assert shown[0] < shown[1]
    tab = opened(open_service, open_tab)
    unseen = tab.page.locator(".model-unseen")
    expect(unseen).to_contain_text("The model no longer sees")
    expect(tab.page.get_by_label("Frontier")).to_have_value("main")
    tab.page.get_by_label("Frontier").fill("")
    # Results without a call are repaired, which is no eviction.
    expect(unseen).to_contain_text("No entry was evicted.")
    expect(unseen).to_contain_text("a repair: #2#3#4")
    tab = opened(open_service, open_tab, "?at=11")
    unseen = tab.page.locator(".model-unseen")
    expect(unseen).to_contain_text("At entry 11 the model no longer saw ")
    expect(unseen).to_contain_text(f"saw {shown[1]} of 11 entries in full:")
    tab.page.get_by_label("As of entry").fill("3")
    expect(unseen).to_contain_text("At entry 3")
    assert shown[0] == 0
    expect(unseen).to_contain_text("At entry 3 no entry was evicted.")
    expect(tab.page).to_have_url(re.compile("at=3"))
    expect(tab.page.get_by_label("Budget on a scale")).to_be_disabled()


def test_key_m_leads_to_what_the_model_saw_at_the_entry(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", f"Step {step}.") for step in range(5)])
    tab = opened(open_service, open_tab, "#entry-3")
    tab.page.get_by_role("button", name="What did it see at entry 3?").click()
    expect(tab.page.locator(".model-unseen")).to_have_text(
        "At entry 3 the model saw every entry in full."
    )
    expect(tab.page.get_by_label("As of entry")).to_have_value("3")
    expect(tab.page.get_by_role("status")).to_contain_text("in 3 messages")


def write_evicted_session(writer: httpx.Client) -> None:
    """Write 40 steps whose turns have moved the frontier `main`."""
    path = f"/api/sessions/{shop.SESSION}/history"
    query = {"render": "anthropic", "maxTokens": "3000", "frontier": "main"}
    messages: list[MessageParam] = [{"role": "user", "content": "Mend the build."}]
    for number in range(40):
        call: ToolUseBlockParam = {
            "type": "tool_use",
            "id": f"c{number}",
            "name": "bash",
            "input": {"n": number},
        }
        result: ToolResultBlockParam = {
            "type": "tool_result",
            "tool_use_id": f"c{number}",
            "content": f"Look {number}. " * 100,
        }
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [result]})
        body = {"messages": messages}
        assert writer.put(path, params=query, json=body).is_success


def test_evicted_entry_of_an_earlier_rendering_is_shown_as_it_was_sent_then(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    write_evicted_session(writer)
    tab = opened(open_service, open_tab, "?at=40")
    line = tab.page.locator(".model-unseen li", has_text="Left as one line").get_by_role("link")
    seq = int((line.first.text_content() or "")[1:])
    line.first.click()
    row = entry(tab, seq)
    expect(row).to_have_attribute("aria-current", "location")
    expect(row).to_be_in_viewport()
    row.get_by_text("Sent as, beside the original").click()
    number = seq // 2 - 1
    expect(row.get_by_role("region", name="What the model got")).to_contain_text(
        f'The result of "bash" was left out: read_text("@entry:{seq}") shows it'
    )
    expect(row.get_by_role("region", name="Original")).to_contain_text(f"Look {number}. Look")
    expect(row.get_by_text("Nothing was dropped.")).to_have_count(0)
    assert_accessible(tab)
    # What the frontier has moved on to is not what was sent then.
    tab.page.get_by_label("As of entry").fill("9")
    expect(tab.page.locator(".model-unseen")).to_contain_text("At entry 9 the model")
    expect(tab.page.locator(".model-entry.evicted", has_text="folded")).to_have_count(0)


@pytest.mark.parametrize("width", [1_280, 1_700])
@pytest.mark.parametrize("seq", [40, 41])
def test_an_entry_leads_to_what_the_model_no_longer_saw_then(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client, seq: int, width: int
) -> None:
    write_evicted_session(writer)
    tab = open_tab(open_service, viewport={"width": width, "height": 900})
    tab.open(f"/sessions/{shop.SESSION}#{seq}")
    line = tab.page.locator(f'article.line[data-seq="{seq}"]')
    link = tab.page.get_by_role("link", name=f"What the model no longer saw at #{seq}")
    if width < 1_600:
        line.get_by_role("button").click()
        link = tab.page.locator(f'[data-seq="{seq}"] footer').locator(link).last
    link.click()
    unseen = tab.page.locator(".model-unseen")
    expect(unseen).to_contain_text(
        re.compile(rf"At entry {seq} the model no longer saw \d+ of {seq}")
    )


def test_number_in_the_search_leads_to_what_the_model_no_longer_saw_then(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    write_evicted_session(writer)
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    field = tab.page.get_by_role("combobox", name="Search in this session")
    options = tab.page.locator(".find-hits").get_by_role("option")
    field.fill("40")
    expect(options.nth(1)).to_have_text("What the model no longer saw at #40")
    field.fill("0")
    # There is no such entry.
    expect(options.filter(has_text="#0")).to_have_count(0)
    field.fill("40")
    expect(options.nth(1)).to_have_text("What the model no longer saw at #40")
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator(".model-unseen")).to_contain_text("At entry 40 the model no longer saw")
    # The budget of then is not known to the page, and cannot be another.
    expect(tab.page.get_by_role("button", name="32k")).to_be_disabled()


def test_view_that_loads_slowly_is_reached_although_the_search_goes_into_the_address(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    write_evicted_session(writer)
    tab = open_tab(open_service)
    page = tab.page
    page.clock.install()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/assets/ModelView-*.js", hold)
    tab.open(f"/sessions/{shop.SESSION}")
    field = page.get_by_role("combobox", name="Search in this session")
    field.fill("4")
    expect(page.get_by_role("option", name="no longer saw at #4")).to_be_visible()
    field.fill("40")
    option = page.get_by_role("option", name="no longer saw at #40")
    with page.expect_request("**/assets/ModelView-*.js"):
        option.click()
    # Longer than the pause after which what is typed goes into the address.
    page.clock.run_for(1_000)
    for route in held:
        route.continue_()
    expect(page.locator(".model-unseen")).to_contain_text("At entry 40 the model no longer saw")


@pytest.mark.parametrize(("typed", "seq"), [("40", 40), ("", 81)])
def test_strip_leads_to_what_the_model_no_longer_saw_at_an_entry(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client, typed: str, seq: int
) -> None:
    write_evicted_session(writer)
    tab = add_axe(open_tab(open_service))
    tab.open(f"/sessions/{shop.SESSION}")
    field = tab.page.get_by_label("No longer seen at #")
    # The entry in view, if no other is named.
    expect(field).to_have_attribute("placeholder", "here")
    assert_accessible(tab)
    field.fill("82")
    field.press("Enter")
    expect(field).to_have_js_property("validity.rangeOverflow", value=True)
    expect(tab.page).to_have_url(re.compile(f"/sessions/{shop.SESSION}$"))
    field.fill(typed)
    field.press("Enter")
    expect(tab.page.locator(".model-unseen")).to_contain_text(
        f"At entry {seq} the model no longer saw"
    )


def call(*ids: str) -> MessageParam:
    blocks = [ToolUseBlockParam(type="tool_use", id=each, name="look", input={}) for each in ids]
    return {"role": "assistant", "content": blocks}


def result(call_id: str, *words: str) -> MessageParam:
    answer = ToolResultBlockParam(type="tool_result", tool_use_id=call_id, content="A page.")
    texts = [TextBlockParam(type="text", text=text) for text in words]
    return {
        "role": "user",
        "content": [answer, *texts],
    }


GO: MessageParam = {"role": "user", "content": "Look."}
NEVER_MIND: MessageParam = {"role": "user", "content": "Never mind."}


@pytest.mark.parametrize(
    ("history", "heads"),
    [
        (
            [GO, call("a", "b"), NEVER_MIND],
            ["#1userfull", "#2assistantfull", *["insertedfor #2toollook"] * 2, "#3userfull"],
        ),
        (
            [GO, call("a", "b"), result("a"), NEVER_MIND],
            [
                "#1userfull",
                "#2assistantfull",
                "#3toollookfull",
                "insertedfor #2toollook",
                "#4userfull",
            ],
        ),
        ([GO, result("a")], ["#1userfull", "insertedfor #2assistant", "#2toolunknown_toolfull"]),
        # Both have the number of the message, and either could be the stored one.
        (
            [GO, call("a", "b"), result("a", "Never mind.")],
            ["#1userfull", "#2assistantfull", *["#3toollookfull"] * 2, "#3userfull"],
        ),
    ],
)
def test_inserted_call_or_result_has_no_number_and_names_the_entry_that_it_is_for(
    open_service: LiveService,
    open_tab: OpenTab,
    writer: httpx.Client,
    history: list[MessageParam],
    heads: list[str],
) -> None:
    path = f"/api/sessions/{shop.SESSION}/history"
    assert writer.put(path, json={"messages": history}).is_success
    tab = opened(open_service, open_tab)
    shown = tab.page.locator(".model-entry-head")
    expect(shown).to_have_text([re.compile(rf"^{re.escape(head)}.*tokens sent$") for head in heads])
    assert_accessible(tab)
    inserted = tab.page.locator(".model-entry", has_text="inserted")
    if any(head.startswith("inserted") for head in heads):
        # Nothing of it is stored.
        expect(inserted.first).to_contain_text("Added, and not stored: it cannot be restored.")
        expect(inserted.first).not_to_contain_text("GET")
        inserted.first.get_by_text("Sent as").click()
        expect(inserted.first.locator(".entry-rendering")).to_contain_text(
            "No result" if "toollook" in "".join(heads) else "unknown_tool"
        )


def test_wheel_at_the_end_of_the_list_leads_to_the_messages(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    write_evicted_session(writer)
    tab = opened(open_service, open_tab)
    entries = tab.page.get_by_role("region", name="Entries, as the model has them")
    entries.hover()
    entries.press("End")
    messages = tab.page.get_by_role("heading", name="Messages, as they are sent")
    expect(messages).not_to_be_in_viewport()
    for _ in range(20):
        tab.page.mouse.wheel(0, 400)
    expect(messages).to_be_in_viewport()


@pytest.mark.parametrize(
    "target",
    ["openai-chat", "openai-responses", "bedrock", "text"],
)
def test_what_was_sent_of_an_evicted_result_is_found_for_each_target(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client, target: str
) -> None:
    write_evicted_session(writer)
    tab = opened(open_service, open_tab, f"?at=40&target={target}&evicted=1")
    row = tab.page.locator(".model-entry", has_text="results as lines").first
    seq = re.search(r"#(\d+)", row.text_content() or "")
    assert seq is not None
    row.get_by_text("Sent as, beside the original").click()
    got = row.get_by_role("region", name="What the model got")
    expect(got).to_contain_text(f"@entry:{seq[1]}")
    expect(got).not_to_contain_text("Look")


def test_lines_name_what_was_evicted_and_the_list_can_have_it_alone(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    write_evicted_session(writer)
    tab = opened(open_service, open_tab)
    path = f"/api/sessions/{shop.SESSION}/working-set"
    query = {"target": "anthropic", "frontier": "main"}
    listed = writer.get(path, params=query).json()["entries"]
    fold = next(item for item in listed if item.get("stepLevel") == "folded")
    lines = [item["seq"] for item in listed if item.get("stepLevel") == "line"]
    unseen = tab.page.locator(".model-unseen")
    folded = unseen.locator("li", has_text="Folded into one line")
    expect(folded).to_have_text(f"Folded into one line: #{fold['fromSeq']} to #{fold['seq']}")
    left = unseen.locator("li", has_text="Left as one line")
    first = 12
    assert len(lines) > first
    expect(left.get_by_role("link")).to_have_text([f"#{seq}" for seq in lines[:first]])
    left.get_by_role("button", name=f"and {len(lines) - first} more").click()
    expect(left.get_by_role("link")).to_have_text([f"#{seq}" for seq in lines])
    tab.page.get_by_label("Only what was evicted").check()
    expect(tab.page).to_have_url(re.compile("evicted=1"))
    cut = tab.page.locator(".model-entry")
    expect(cut.filter(has_text="full")).to_have_count(0)
    tab.page.reload()
    expect(tab.page.get_by_label("Only what was evicted")).to_be_checked()
    expect(cut.first).to_contain_text("folded")
    left.get_by_role("link").last.click()
    expect(entry(tab, lines[first - 1])).to_be_in_viewport()
    assert_accessible(tab)
    tab.page.set_viewport_size({"width": 390, "height": 844})
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_frontier_says_that_a_budget_brings_nothing_back_and_can_be_left_out(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    write_evicted_session(writer)
    tab = opened(open_service, open_tab, "?maxTokens=1000000")
    unseen = tab.page.locator(".model-unseen")
    expect(unseen).to_contain_text(
        "What the frontier main has evicted stays evicted, whatever the budget."
    )
    unseen.get_by_role("button", name="Show it without the frontier").click()
    expect(unseen).to_have_text("The model sees every entry in full.")
    expect(tab.page.get_by_label("Frontier")).to_have_value("")
    expect(tab.page.get_by_label("Budget, tokens", exact=True)).to_have_value("1000000")


def test_budget_without_turns_says_nothing_of_a_frontier(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = opened(open_service, open_tab, "?maxTokens=2600")
    expect(tab.page.locator(".model-unseen")).to_contain_text("The model no longer sees")
    expect(tab.page.locator(".model-unseen")).not_to_contain_text("stays evicted")


def test_option_that_is_not_possible_is_named_in_the_words_of_the_page(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.OPENING)
    tab = add_axe(open_tab(open_service))
    tab.open(f"/sessions/{shop.SESSION}/model?frontier=a%20b")
    alert = tab.page.get_by_role("alert").first
    expect(alert).to_contain_text("An option above is not possible here.")
    expect(alert.locator("details p").first).to_be_hidden()
    assert_accessible(tab)
    tab.page.get_by_label("Frontier").fill("main")
    tab.page.keyboard.press("Tab")
    expect(tab.page.get_by_text("tokens sent in")).to_be_visible()
    expect(tab.page.get_by_role("alert")).to_have_count(0)
