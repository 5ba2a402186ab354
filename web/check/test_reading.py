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
