"""The doctor in the viewer: histories of SDK objects, examined and repaired."""

import json
from pathlib import Path

import httpx
import pytest
from openai.types.chat import (
    ChatCompletionMessage,
    ChatCompletionToolMessageParam,
    ChatCompletionUserMessageParam,
)
from playwright.sync_api import Locator, expect

from pagefault_dialects.messages.histories import SYSTEM_NAMES
from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.kit.servers import LiveService
from web.check.accessible import add_axe, assert_accessible

_QUESTION: ChatCompletionUserMessageParam = {"role": "user", "content": "Which orders failed?"}
_ASKED = ChatCompletionMessage.model_validate(
    {
        "role": "assistant",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "orders", "arguments": "{}"}}
        ],
    }
).model_dump(exclude_none=True)
_STRAY: ChatCompletionToolMessageParam = {
    "role": "tool",
    "tool_call_id": "call_9",
    "content": "K-20418",
}


def doctor(service: LiveService, open_tab: OpenTab) -> Tab:
    tab = add_axe(open_tab(service, accept_downloads=True))
    tab.open("/doctor")
    return tab


def examined(tab: Tab, history: str) -> Locator:
    tab.page.get_by_label("The history as JSON").fill(history)
    tab.page.get_by_role("button", name="Examine").click()
    return tab.page.get_by_role("region", name="The history, with what is wrong")


def saved(tab: Tab, path: Path) -> str:
    with tab.page.expect_download() as downloads:
        tab.page.get_by_role("button", name="Download the healed history").click()
    downloads.value.save_as(path)
    return path.read_text()


def test_history_of_openai_is_examined_as_a_request_a_list_and_lines(
    open_service: LiveService, open_tab: OpenTab
) -> None:
    messages = [_QUESTION, _ASKED, _STRAY, _QUESTION]
    tab = doctor(open_service, open_tab)
    for history in (
        json.dumps({"model": "gpt-5", "messages": messages}),
        json.dumps(messages),
        "".join(f"{json.dumps(message)}\n" for message in messages),
    ):
        report = examined(tab, history)
        expect(report.get_by_role("heading", name="Message 2")).to_be_visible()
        expect(report.get_by_text("no-answer")).to_be_visible()
        expect(report.get_by_role("heading", name="Message 3")).to_be_visible()
        expect(report.get_by_text("no-call")).to_be_visible()
        expect(report.get_by_text("Read as openai-chat")).to_be_visible()
        tab.page.get_by_label("The history as JSON").fill("")
        tab.page.get_by_role("button", name="Examine").click()
        expect(tab.page.get_by_role("alert")).to_contain_text("Paste or choose a history first")


def test_healed_history_has_every_digit_of_its_numbers(
    open_service: LiveService, open_tab: OpenTab, tmp_path: Path
) -> None:
    call = '{"type":"tool_use","id":"t1","name":"look","input":{"id":12345678901234567890,"x":1.0}}'
    history = (
        '{"system":"Be brief.","messages":[{"role":"user","content":"Go."},'
        '{"role":"assistant","content":[' + call + "]}]}"
    )
    tab = doctor(open_service, open_tab)
    expect(examined(tab, history).get_by_text("Read as anthropic")).to_be_visible()
    healed = saved(tab, tmp_path / "healed.json")
    assert '"id": 12345678901234567890' in healed
    assert '"x": 1.0' in healed
    assert json.loads(healed)["system"] == "Be brief."


def test_member_that_a_finding_points_at_is_marked(
    open_service: LiveService, open_tab: OpenTab
) -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    history = {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hear:"}, sound]}]
    }
    tab = doctor(open_service, open_tab)
    report = examined(tab, json.dumps(history))
    expect(report.get_by_role("heading", name="Message 1")).to_be_visible()
    pointer = report.locator(".doctor-finding code").last
    expect(pointer).to_contain_text("/messages/0/content/1")
    expect(report.locator("mark")).to_be_visible()
    assert_accessible(tab)


def test_system_prompt_of_any_name_is_shown_beside_its_findings(
    open_service: LiveService, open_tab: OpenTab
) -> None:
    tab = doctor(open_service, open_tab)
    for name in SYSTEM_NAMES:
        report = examined(tab, json.dumps({name: "Be \ud800 brief.", "messages": [_QUESTION]}))
        expect(report.locator(".doctor-finding code").last).to_contain_text(f"/{name}")
        expect(report.locator(".json-tree")).to_contain_text("brief")


def test_file_may_be_chosen_again_when_it_has_changed(
    open_service: LiveService, open_tab: OpenTab, tmp_path: Path
) -> None:
    tab = doctor(open_service, open_tab)
    history_file = tmp_path / "history.json"
    for words in ("first", "second"):
        history_file.write_text(json.dumps([{"role": "user", "content": words}]))
        tab.page.get_by_label("Choose a file").set_input_files(history_file)
        expect(tab.page.get_by_label("The history as JSON")).to_have_value(history_file.read_text())


def test_many_findings_are_drawn_in_pieces(open_service: LiveService, open_tab: OpenTab) -> None:
    stray = [{**_STRAY, "tool_call_id": f"c{number}"} for number in range(120)]
    report = examined(doctor(open_service, open_tab), json.dumps([_QUESTION, *stray]))
    expect(report.get_by_role("heading", level=2)).to_contain_text("120 findings")
    expect(report.get_by_role("heading", level=3)).to_have_count(50)
    report.get_by_role("button", name="50").click()
    expect(report.get_by_role("heading", level=3)).to_have_count(100)


@pytest.mark.parametrize("body", ["7", '"words"', "{}"])
def test_json_without_a_history_is_refused_with_what_to_send(
    open_service: LiveService, open_tab: OpenTab, body: str
) -> None:
    tab = doctor(open_service, open_tab)
    examined(tab, body)
    alert = tab.page.get_by_role("alert").first
    expect(alert).to_contain_text("There is no history in this that is known here.")
    service = alert.locator("details")
    expect(service.get_by_text("send a list of messages").first).to_be_hidden()
    alert.get_by_text("What the service says").click()
    expect(service.get_by_text("send a list of messages").first).to_be_visible()
    assert_accessible(tab)


def test_stored_session_is_examined_at_once_with_each_entry_beside_its_findings(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    function = {"name": "orders", "arguments": '{"a": '}
    called = {"id": "call_1", "type": "function", "function": function}
    call = shop.message("assistant", None, tool_calls=[called])
    answer = shop.message("tool", "None.", tool_call_id="call_1")
    shop.written(writer, [shop.message("user", "Which?"), call, answer])
    tab = add_axe(open_tab(open_service))
    tab.open(f"/doctor?session={shop.SESSION}")
    report = tab.page.get_by_role("region", name="The history, with what is wrong")
    expect(report.get_by_text("bad-arguments")).to_be_visible()
    expect(report.get_by_text("Problem: this breaks the rule")).to_be_visible()
    # The member that the finding points at is marked in the entry.
    expect(report.locator("mark.json-marked")).to_have_text("arguments: ")
    assert_accessible(tab)
    report.get_by_role("link", name="Entry #2").click()
    expect(tab.page).to_have_url(f"{open_service.base_url}/sessions/{shop.SESSION}#2")


def test_text_that_is_no_json_is_refused_in_the_colour_of_failures(
    open_service: LiveService, open_tab: OpenTab
) -> None:
    tab = doctor(open_service, open_tab)
    tab.page.get_by_label("The history as JSON").fill("{messages")
    tab.page.get_by_role("button", name="Examine").click()
    alert = tab.page.get_by_role("alert")
    expect(alert).to_contain_text("That is no JSON")
    expect(alert).to_have_css("color", "rgb(168, 30, 34)")
