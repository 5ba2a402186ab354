"""Texts as they are best read: Markdown, JSON, code, differences, and long ones in pieces."""

import json

import httpx
import pytest
from playwright.sync_api import Locator, expect

from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.kit.servers import LiveService
from web.check.accessible import add_axe, assert_accessible

MARKDOWN = """# Report

The **checkout** fails; see [the log](https://shop.example/log), [not](javascript:alert(1)).
<img src=x onerror=alert(1)>

- [x] renewed
- told

| order | paid |
|---|---|
| K-1 | no |

```python
def charge() -> bool: ...
```

![till](https://shop.example/till.png)
"""
DIFF = "--- a/shop.py\n+++ b/shop.py\n@@ -1 +1 @@\n-return False\n+return True\n"
DATA = (
    '{"rows": [{"id": 12345678901234567890.10, "name": "Zo\\u00eb \\u202e"}], '
    '"a/b": {"c~d": 1e400}, "many": ' + json.dumps(list(range(1_000))) + "}"
)


def opened(service: LiveService, open_tab: OpenTab, writer: httpx.Client, text: str) -> Tab:
    shop.written(writer, [shop.message("assistant", text)])
    tab = add_axe(open_tab(service, permissions=["clipboard-read", "clipboard-write"]))
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.entries).to_have_count(1)
    return tab


def test_markdown_is_laid_out_without_html_and_loads_nothing(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    tab = opened(open_service, open_tab, writer, MARKDOWN)
    entry = tab.entries.first
    expect(entry.get_by_role("heading", name="Report")).to_be_visible()
    expect(entry.locator("strong")).to_have_text("checkout")
    links = [link.get_attribute("href") for link in entry.locator(".markdown a").all()]
    assert links == ["https://shop.example/log", "https://shop.example/till.png"]
    expect(entry.get_by_text("[not](javascript:alert(1))")).to_be_visible()
    expect(entry.get_by_text("<img src=x onerror=alert(1)>")).to_be_visible()
    expect(entry.get_by_role("cell", name="K-1")).to_be_visible()
    expect(entry.get_by_role("checkbox")).to_be_checked()
    expect(entry.locator("pre.code .hljs-keyword").first).to_have_text("def")
    assert_accessible(tab)
    entry.get_by_role("button", name="As written").click()
    expect(entry.locator("pre.text")).to_have_text(MARKDOWN)
    # Every test fails if a tab sends a request to another host.


def test_json_is_a_tree_with_every_digit_whose_values_and_pointers_are_copied(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    tab = opened(open_service, open_tab, writer, DATA)
    entry = tab.entries.first
    branch(entry, "0:").click()
    expect(entry.get_by_text("12345678901234567890.10")).to_be_visible()
    expect(entry.get_by_text("Zoë ⟨U+202E⟩")).to_be_visible()
    leaf = entry.locator(".json-leaf", has_text="c~d")
    expect(leaf).to_contain_text("1e400")
    leaf.get_by_role("button", name="Copy pointer").click()
    expect(leaf.get_by_text("Copied")).to_be_visible()
    assert tab.page.evaluate("navigator.clipboard.readText()") == "/a~1b/c~0d"
    name = entry.locator(".json-leaf", has_text="Zo")
    name.get_by_role("button", name="Copy value").click()
    expect(name.get_by_text("Copied")).to_be_visible()
    assert tab.page.evaluate("navigator.clipboard.readText()") == "Zoë \u202e"
    branch(entry, "many:").click()
    expect(entry.locator(".json-leaf", has_text="99: 99")).to_be_visible()
    expect(entry.locator(".json-leaf", has_text="100: 100")).to_have_count(0)
    entry.get_by_role("button", name="Show 500 more").click()
    expect(entry.locator(".json-leaf", has_text="599: 599")).to_be_visible()
    assert_accessible(tab)


def test_members_of_a_tree_are_lines_without_holes(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(
        writer, [shop.message("assistant", json.dumps({"order": "K-20418", "paid": True}))]
    )
    tab = open_tab(open_service, viewport={"width": 390, "height": 844})
    tab.open(f"/sessions/{shop.SESSION}")
    leaves = tab.page.locator(".json-leaf")
    expect(leaves).to_have_count(2)
    heights = leaves.evaluate_all("all => all.map((one) => one.getBoundingClientRect().height)")
    assert max(heights) <= 24


def test_difference_has_its_lines_coloured(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    tab = opened(open_service, open_tab, writer, DIFF)
    expect(tab.entries.first.locator(".hljs-deletion")).to_have_text("-return False")
    expect(tab.entries.first.locator(".hljs-addition")).to_have_text("+return True")
    assert_accessible(tab)


def test_long_text_is_searched_by_the_service(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    log = "\n".join(f"{line} {'ERROR' if line % 1_000 == 0 else 'ok'}" for line in range(1, 40_001))
    shop.written(writer, [shop.tool_result("logs", "c", shop.content(shop.text(log)))])
    tab = add_axe(open_tab(open_service))
    tab.open(f"/sessions/{shop.SESSION}")
    tab.page.get_by_role("button", name="Load all").click()
    field = tab.page.get_by_label("Find in the text")
    field.fill("error")
    field.press("Enter")
    expect(tab.page.get_by_text("40 lines have it.")).to_be_visible()
    tab.page.get_by_role("button", name="Line 2,000", exact=True).click()
    expect(tab.page.locator(".matches pre")).to_contain_text("1999 ok")
    assert_accessible(tab)


@pytest.mark.parametrize("text", ["5 * 3 is 15", "a_b_c and x-y", "Dear [you] (all)", "1.5 and 2"])
def test_plain_text_stays_as_it_was_written(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client, text: str
) -> None:
    tab = opened(open_service, open_tab, writer, text)
    expect(tab.entries.first.locator("pre.text")).to_have_text(text)


def test_deeply_nested_markdown_is_shown(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    tab = opened(open_service, open_tab, writer, "> " * 3_000 + "deep **words**")
    expect(tab.entries.first.get_by_text("words").first).to_be_attached()


def branch(entry: Locator, name: str) -> Locator:
    return entry.locator("summary", has_text=name).last


def test_message_of_any_dialect_is_shown_as_its_role_says_it(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    item = {"id": "fc_1", "call_id": "call_1"}
    question = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "Hm?"}],
    }
    called = {"type": "function_call", "name": "clock", "arguments": '{"zone":"UTC"}', **item}
    output = {"type": "function_call_output", **item, "output": "It is ten."}
    answer = {"role": "model", "parts": [{"text": "Ten."}], "usage": None}
    thanks = {"type": "human", "data": {"content": "Thanks.", "type": "human", "id": "lc_1"}}
    shop.written(
        writer, [shop.any_message(value) for value in (question, called, output, answer, thanks)]
    )
    tab = add_axe(open_tab(open_service))
    tab.open(f"/sessions/{shop.SESSION}")
    for words in ("Hm?", "clock", "It is ten.", "Ten.", "Thanks."):
        expect(tab.page.locator("main").get_by_text(words, exact=True).first).to_be_visible()
    expect(tab.page.locator("main").get_by_text('"call_id"')).to_have_count(0)
    assert_accessible(tab)


def call(name: str, call_id: str, **arguments: object) -> shop.Write:
    """A message that calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return shop.message("assistant", None, tool_calls=calls)


def answered(
    service: LiveService, open_tab: OpenTab, writer: httpx.Client, *writes: shop.Write
) -> Tab:
    shop.written(writer, writes)
    tab = add_axe(open_tab(service, permissions=["clipboard-read", "clipboard-write"]))
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.page.locator(".call-body").last).to_be_visible()
    return tab


def test_json_above_the_limit_of_previews_is_a_tree(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    issues = [{"number": number, "title": f"Issue {number}"} for number in range(600)]
    answer = json.dumps({"total": 12345678901234567890, "items": issues}, indent=1)
    assert len(answer) > 20_000
    result = shop.tool_result("issues.list", "c", shop.content(shop.text(answer)))
    tab = answered(open_service, open_tab, writer, result)
    card = tab.page.locator(".call-card")
    expect(card.locator(".json-leaf", has_text="total:")).to_contain_text("12345678901234567890")
    branch(card, "items:").click()
    branch(card, "99:").click()
    expect(card.get_by_text("“Issue 99”")).to_be_visible()
    assert_accessible(tab)


def test_long_log_that_begins_with_a_bracket_is_not_loaded_unasked(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    log = "\n".join(f"[2026-11-28 10:{n % 60:02}] [INFO] step {n}" for n in range(2_000))
    result = shop.tool_result("logs", "c", shop.content(shop.text(log)))
    tab = answered(open_service, open_tab, writer, result)
    expect(tab.page.get_by_role("button", name="Load all")).to_be_visible()
    expect(tab.page.locator(".json-tree")).to_have_count(0)
    assert tab.content_ids() == []


def test_json_in_a_text_and_in_a_string_is_a_tree(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    inner = json.dumps({"order": "K-20418", "lines": [{"sku": "A-1", "count": 2}]})
    outer = json.dumps({"body": inner, "status": 200}, indent=1)
    tab = opened(open_service, open_tab, writer, f"The shop answered:\n{outer}\nThat is all.")
    entry = tab.entries.first
    expect(entry.get_by_text("The shop answered:")).to_be_visible()
    expect(entry.get_by_text("That is all.")).to_be_visible()
    expect(entry.locator(".json-leaf", has_text="status:").last).to_contain_text("200")
    expect(entry.get_by_text("JSON in a text")).to_be_visible()
    expect(entry.locator(".json-leaf", has_text="order:").last).to_contain_text("K-20418")
    assert_accessible(tab)


def test_colours_of_a_terminal_are_shown_and_other_escapes_stay_visible(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    text = (
        "\x1b[1;31mFAILED\x1b[0m tests/test_shop.py \x1b[38;5;2mok\x1b[39m"
        "\x1b[41mboom\x1b[m \x1b[38;2;1;2;3mtrue\x1b[0m\x1b[2Kline"
    )
    tab = opened(open_service, open_tab, writer, text)
    entry = tab.entries.first
    expect(entry.locator("pre.text")).to_have_text(
        "FAILED tests/test_shop.py okboom true⟨U+001B⟩[2Kline"
    )
    expect(entry.locator(".ansi-red")).to_have_class("ansi-bold ansi-red")
    expect(entry.locator(".ansi-green")).to_have_text("ok")
    expect(entry.locator(".ansi-on-red")).to_have_text("boom")
    assert_accessible(tab)
    entry.get_by_role("button", name="As written").click()
    expect(entry.locator("pre.text")).to_contain_text("⟨U+001B⟩[1;31mFAILED")


def test_output_of_a_failed_command_is_folded_to_its_last_lines(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    log = "\n".join([*(f"step {number} ok" for number in range(200)), "Error: no space left"])
    coloured = log.replace("Error", "\x1b[31mError\x1b[0m")
    failed = [
        shop.tool_result("make", name, shop.content(shop.text(text)), success=False)
        for name, text in (("plain", log), ("coloured", coloured))
    ]
    tab = answered(open_service, open_tab, writer, *failed)
    for card in tab.page.locator(".call-card").all():
        card.scroll_into_view_if_needed()
        expect(card.get_by_role("button", name="Unfold", exact=True)).to_be_visible()
        box = card.locator(".folded").bounding_box()
        assert box is not None
        # Lines above the upper edge are hidden, and none below the lower one.
        content = card.locator("pre.text").evaluate(
            "pre => { const all = document.createRange(); all.selectNodeContents(pre);"
            " const { top, bottom } = all.getBoundingClientRect(); return [top, bottom]; }"
        )
        assert content[0] < box["y"]
        assert content[1] <= box["y"] + box["height"] + 1


def test_table_of_values_and_code_are_shown_as_such(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    code = "import os\n\n\ndef store() -> None:\n    return None\n"
    values = 'name;"net; EUR"\nK-1;"1;50"\nK-2;"say ""hi"""\n'
    table = {"type": "resource", "resource": {"uri": "file:///o.csv", "mimeType": "text/csv"}}
    table["resource"]["text"] = values  # type: ignore[index]
    tab = answered(
        open_service,
        open_tab,
        writer,
        call("read_file", "c1", file_path="app/store.py"),
        shop.tool_result("read_file", "c1", shop.content(shop.text(code))),
        shop.tool_result("orders.export", "c2", shop.content(table)),
    )
    card = tab.page.locator(".call-card").first
    expect(card.locator(".hljs-keyword").first).to_have_text("import")
    rows = tab.page.locator(".call-card").last.locator("tr")
    expect(rows.nth(0).get_by_role("columnheader")).to_have_text(["name", "net; EUR"])
    expect(rows.nth(1).get_by_role("cell")).to_have_text(["K-1", "1;50"])
    expect(rows.nth(2).get_by_role("cell")).to_have_text(["K-2", 'say "hi"'])
    assert_accessible(tab)


def test_link_to_a_resource_is_shown_once(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    link = {"type": "resource_link", "uri": "https://shop.example/r.txt", "name": "The report"}
    link |= {"mimeType": "text/plain", "description": "What was found."}
    result = shop.tool_result("report", "c", shop.content(link))
    tab = answered(open_service, open_tab, writer, result)
    body = tab.page.locator(".call-body")
    expect(body.get_by_role("link")).to_have_attribute("href", "https://shop.example/r.txt")
    expect(body.get_by_text("https://shop.example/r.txt")).to_have_count(1)
    expect(body.get_by_text("The report")).to_have_count(1)
    expect(body.locator("pre")).to_have_text("text/plain\nWhat was found.")


def test_title_of_a_folded_failure_has_no_codes_of_colours(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    text = shop.text("\x1b[31mFAILED\x1b[0m tests/test_shop.py")
    result = shop.tool_result("pytest", "c", shop.content(text), success=False)
    tab = answered(open_service, open_tab, writer, result)
    tab.page.get_by_role("button", name="Fold pytest").click()
    expect(tab.page.locator(".call-error")).to_have_text("FAILED tests/test_shop.py")


def test_each_card_is_copied_as_a_whole(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    long = "\n".join(f"line {number} of the log" for number in range(2_000))
    result = shop.tool_result("logs", "c", shop.content(shop.text(long)))
    tab = answered(open_service, open_tab, writer, shop.message("user", "**Read** it."), result)
    for entry, text in ((tab.entries.first, "**Read** it."), (tab.entries.last, long)):
        entry.get_by_role("button", name="Copy", exact=True).click()
        expect(entry.get_by_text("Copied")).to_be_visible()
        assert tab.page.evaluate("navigator.clipboard.readText()") == text


def test_arguments_of_an_edit_are_a_difference(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    edit = call(
        "edit", "c1", file_path="a.py", old_string="a = 1\nb = 2", new_string="a = 1\nb = 3"
    )
    result = shop.tool_result("edit", "c1", "Done.")
    tab = answered(open_service, open_tab, writer, edit, result)
    tab.page.locator(".call-arguments summary").first.click()
    arguments = tab.page.locator(".call-arguments")
    expect(arguments.locator(".hljs-deletion").last).to_have_text("-b = 2")
    expect(arguments.locator(".hljs-addition").last).to_have_text("+b = 3")
    assert_accessible(tab)
