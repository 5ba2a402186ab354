"""Search in a session, and the keys that move in it."""

from collections.abc import Sequence

import httpx
from playwright.sync_api import Locator, Page, expect

from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.kit.servers import LiveService
from web.check.accessible import add_axe, assert_accessible

_MARKED = "() => [...(CSS.highlights.get('found') ?? [])].map((range) => range.toString())"

# Both keys in one task, before the dialog's `close` event.
_CHOOSE_AND_OPEN_AGAIN = """() => {
  const press = (target, init) =>
    target.dispatchEvent(
      new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...init }));
  press(document.activeElement, { key: 'Enter' });
  press(window, { key: 'k', ctrlKey: true });
}"""


def opened(service: LiveService, open_tab: OpenTab, path: str = f"/sessions/{shop.SESSION}") -> Tab:
    tab = add_axe(open_tab(service, permissions=["clipboard-read", "clipboard-write"]))
    tab.open(path)
    expect(tab.page.locator("[data-seq], .search-hit").first).to_be_attached()
    return tab


def entry(page: Page, seq: int) -> Locator:
    return page.locator(f'[data-seq="{seq}"]')


def steps(numbers: Sequence[int]) -> list[str]:
    return [f"This is step {number}." for number in numbers]


def test_hits_stand_in_the_order_of_the_session_and_are_chosen_by_keys(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = opened(open_service, open_tab)
    page = tab.page
    page.keyboard.press("/")
    page.keyboard.type("declined")
    page.keyboard.press("Enter")
    # The first hit is an entry, and the page of the same word comes behind it.
    expect(page.locator("[data-seq]:focus")).to_contain_text("declined")
    expect(page.get_by_label("Search in this session")).not_to_be_focused()
    assert f"/sessions/{shop.SESSION}" in page.url
    page.get_by_label("Search in this session").focus()
    options = page.locator(".find-hits").get_by_role("option")
    numbers = [text.split()[0] for text in options.all_inner_texts() if text.startswith("#")]
    assert numbers == sorted(numbers, key=lambda text: int(text[1:]))
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    expect(options.last).to_contain_text("Leads to its page")
    expect(page.locator(".find-hits mark").first).to_have_text("declined")
    assert_accessible(tab)


def test_words_of_a_search_are_marked_and_keys_lead_from_hit_to_hit(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    words = ["A lock.", "Reading the store.", "Locked out.", "Nothing.", "Another lock."]
    shop.written_turn(writer, words)
    tab = opened(open_service, open_tab, f"/sessions/{shop.SESSION}?find=lock#1")
    page = tab.page
    page.get_by_label("Search in this session").focus()
    expect(page.locator(".find-hits").get_by_role("option")).to_have_count(3)
    page.keyboard.press("Escape")
    for key, seq in [("n", 3), ("n", 5), ("n", 1), ("N", 5), ("N", 3)]:
        page.keyboard.press(key)
        expect(entry(page, seq)).to_be_focused()
    assert page.evaluate(_MARKED) == ["lock", "Locked", "lock"]


def test_hits_have_each_word_of_the_search(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written_turn(writer, steps(range(60)))
    tab = opened(open_service, open_tab)
    tab.page.get_by_label("Search in this session").fill("step 40")
    options = tab.page.get_by_role("option", name="This is")
    expect(options).to_have_count(1)
    expect(options).to_contain_text("step 40")
    expect(
        tab.page.get_by_text("1 hit with all words, and 59 with some or similar ones")
    ).to_be_visible()


def test_search_takes_a_number_and_a_time(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written_turn(writer, steps(range(200)))
    tab = opened(open_service, open_tab)
    page = tab.page
    field = page.get_by_label("Search in this session")
    field.fill("140")
    expect(page.locator(".find-hits").get_by_role("option").first).to_have_text("Go to entry #140")
    field.press("Enter")
    expect(entry(page, 140)).to_be_focused()
    field.fill("00:00")
    expect(page.locator(".find-hits").get_by_role("option").first).to_have_text("Go to entry #1")


def test_keys_lead_to_the_words_of_the_user_and_copy_the_address(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    roles = ["user", "assistant", "assistant", "user", "assistant"]
    shop.written(writer, [shop.message(role, f"{role}.") for role in roles])
    tab = opened(open_service, open_tab, f"/sessions/{shop.SESSION}#1")
    page = tab.page
    page.keyboard.press("u")
    expect(entry(page, 4)).to_be_focused()
    page.keyboard.press("y")
    expect(page.get_by_text("The address of #4 was copied")).to_be_attached()
    address = page.evaluate("navigator.clipboard.readText()")
    assert address == f"{open_service.base_url}/sessions/{shop.SESSION}#4"
    page.keyboard.press("U")
    expect(entry(page, 1)).to_be_focused()


def test_keys_lead_to_the_sessions_beside_the_open_one(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    names = ["one", "two", "three"]
    shop.written(writer, [shop.message("user", "Hello.", session_id=name) for name in names])
    tab = opened(open_service, open_tab, "/sessions/two")
    expect(tab.page.locator(".session-row")).to_have_count(3)
    tab.page.keyboard.press("]")
    expect(tab.page).to_have_url(f"{open_service.base_url}/sessions/one")
    for name in ("two", "three"):
        tab.page.keyboard.press("[")
        expect(tab.page).to_have_url(f"{open_service.base_url}/sessions/{name}")


def test_commands_are_found_by_their_names(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Hello.", session_id=name) for name in ("a", "bee")])
    tab = opened(open_service, open_tab, "/sessions/a")
    page = tab.page
    page.keyboard.press("Control+k")
    dialog = page.get_by_role("dialog", name="Commands and sessions")
    expect(dialog.get_by_role("option", name="Upload")).to_be_visible()
    assert_accessible(tab)
    page.keyboard.type("bee")
    expect(dialog.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{open_service.base_url}/sessions/bee")
    page.keyboard.press("Control+k")
    page.keyboard.type("doct")
    expect(dialog.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Doctor")).to_be_visible()


def test_commands_are_there_when_they_are_opened_while_they_close(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Hello.", session_id=name) for name in ("a", "bee")])
    tab = opened(open_service, open_tab, "/sessions/a")
    page = tab.page
    page.keyboard.press("Control+k")
    page.keyboard.type("bee")
    dialog = page.get_by_role("dialog", name="Commands and sessions")
    expect(dialog.get_by_role("option")).to_have_count(1)
    page.evaluate(_CHOOSE_AND_OPEN_AGAIN)
    expect(page).to_have_url(f"{open_service.base_url}/sessions/bee")
    page.keyboard.type("doct")
    expect(dialog.get_by_role("option")).to_have_text(["Doctor"])


def test_actions_of_the_session_are_commands(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Hello.", session_id="a")])
    tab = opened(open_service, open_tab, "/sessions/a")
    page = tab.page
    dialog = page.get_by_role("dialog", name="Commands and sessions")

    def choose(typed: str, name: str) -> None:
        page.keyboard.press("Control+k")
        page.keyboard.type(typed)
        expect(dialog.get_by_role("option")).to_have_text([name])
        page.keyboard.press("Enter")

    for typed, name, ending in (
        ("bundle", "Export as a bundle", "zip"),
        ("html", "Export as HTML", "html"),
    ):
        with page.expect_download() as downloads:
            choose(typed, name)
        assert downloads.value.suggested_filename == f"a.{ending}"
        expect(page.get_by_text("Exported, ")).to_be_visible()
    choose("delete", "Delete this session …")
    expect(page.get_by_role("heading", name="Delete a?")).to_be_visible()
    assert_accessible(tab)
    page.get_by_role("button", name="Cancel").click()
    choose("prices", "Cost and prices …")
    page.get_by_role("button", name="Cancel").click()
    # A command without a key is no key.
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard")
    expect(keys.get_by_text("Images in one line")).to_be_visible()
    expect(keys.get_by_text("Export as a bundle")).to_have_count(0)
    page.keyboard.press("Escape")
    choose("compare with", "Compare with another session")
    expect(page).to_have_url(f"{open_service.base_url}/compare?a=a")


def test_filter_by_kind_says_what_is_shown_beside_it(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    function = {"name": "clock", "arguments": "{}"}
    calls = [{"id": "c", "type": "function", "function": function}]
    shop.written(
        writer,
        [
            shop.message("user", "What time is it?"),
            shop.message("assistant", None, tool_calls=calls),
            shop.tool_result("clock", "c", "It is ten."),
        ],
    )
    tab = opened(open_service, open_tab, f"/sessions/{shop.SESSION}?kind=assistant")
    for kind, words in (
        ("assistant", "Assistant, with results of its calls"),
        ("tool", "Tool results, with their calls"),
    ):
        tab.open(f"/sessions/{shop.SESSION}?kind={kind}")
        expect(tab.page.get_by_role("button", name=f"Take away: {words}")).to_be_visible()
        expect(tab.page.get_by_text("2 of 3 entries shown")).to_be_visible()
        expect(tab.page.get_by_text("It is ten.")).to_be_visible()


def test_names_of_views_stay_where_they_are(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.OPENING)
    tab = opened(open_service, open_tab)
    upload = tab.page.get_by_role("navigation", name="Views").get_by_role("link", name="Upload")
    before = upload.bounding_box()
    tab.page.get_by_role("navigation", name="Views").get_by_role("link", name="Search").click()
    expect(tab.page.get_by_role("heading", name="Search")).to_be_visible()
    assert upload.bounding_box() == before


def test_marks_of_a_search_begin_at_words_and_passages_have_no_markup(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    text = (
        "## What happened\n\n| what | when |\n|---|---|\n| reading a **re-entrant** lock | 10 |\n"
    )
    shop.written(writer, [shop.message("user", text)])
    tab = opened(open_service, open_tab, "/search?q=lock+re-entrant")
    hit = tab.page.locator(".search-hit p").first
    expect(hit.locator("mark")).to_have_text(["re", "entrant", "lock"])
    assert not {"#", "|", "*"} & set(hit.inner_text())
