"""A file that is dropped on the page is read as a session; nothing is stored until one says so."""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import JSHandle, Locator, expect

from app.config.settings import Settings
from app.models.limits import MIB, Limits
from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.kit import media
from tests.kit.media import b64
from tests.kit.servers import LiveService, serving
from web.check.accessible import add_axe, assert_accessible

Json = dict[str, Any]

_DROPPED = """([name, base64]) => {
  const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  const dropped = new DataTransfer();
  dropped.items.add(new File([bytes], name));
  return dropped;
}"""
IMAGE = b64(media.png(64, 48, noise=True))
SHOT = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}}


def claude_line(number: int, message: Json) -> Json:
    return {
        "parentUuid": str(number - 1) if number > 1 else None,
        "isSidechain": False,
        "sessionId": "s",
        "type": message["role"],
        "message": message,
        "uuid": str(number),
        "timestamp": f"2026-11-28T10:00:{number:02}.000Z",
    }


def codex_line(payload: Json) -> Json:
    return {"timestamp": "2026-11-28T10:00:00.000Z", "type": "response_item", "payload": payload}


def lines(*items: Json) -> bytes:
    return "".join(json.dumps(item) + "\n" for item in items).encode()


ASKED = "Look at the page."
CLAUDE_CODE = lines(
    claude_line(1, {"role": "user", "content": ASKED}),
    claude_line(
        2,
        {
            "id": "m2",
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}],
        },
    ),
    claude_line(
        3,
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [SHOT]}],
        },
    ),
)
CODEX = lines(
    codex_line(
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": ASKED},
                {"type": "input_image", "image_url": f"data:image/png;base64,{IMAGE}"},
            ],
        }
    ),
    codex_line({"type": "function_call", "name": "look", "arguments": "{}", "call_id": "c1"}),
    codex_line({"type": "function_call_output", "call_id": "c1", "output": "A cat."}),
)
ANTHROPIC = json.dumps(
    {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [{"type": "text", "text": ASKED}, SHOT]}],
    }
).encode()
OPENAI = json.dumps(
    {
        "model": "m",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": ASKED},
                    {
                        "type": "image_url",
                        "image_url": {"url": f"data:image/png;base64,{IMAGE}"},
                    },
                ],
            }
        ],
    }
).encode()


@pytest.fixture
def tab(open_service: LiveService, open_tab: OpenTab) -> Tab:
    """A tab that shows the sessions."""
    tab = add_axe(open_tab(open_service))
    tab.open("/sessions")
    expect(tab.page.get_by_role("heading", name="Sessions")).to_be_visible()
    return tab


def dropped(tab: Tab, name: str, file: bytes) -> JSHandle:
    return tab.page.evaluate_handle(_DROPPED, [name, b64(file)])


def drop(tab: Tab, name: str, file: bytes) -> None:
    """Drop a file somewhere on the page."""
    main = tab.page.locator("main")
    data = {"dataTransfer": dropped(tab, name, file)}
    main.dispatch_event("dragover", data)
    expect(tab.page.get_by_text("Drop the file to read it as a session.")).to_be_visible()
    main.dispatch_event("drop", data)


def stored_sessions(writer: httpx.Client) -> list[str]:
    return [item["id"] for item in writer.get("/api/sessions").json()["items"]]


def not_stored(tab: Tab) -> Locator:
    return tab.page.get_by_text("Not stored", exact=True)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("claude.jsonl", CLAUDE_CODE),
        ("rollout.jsonl", CODEX),
        ("anthropic.json", ANTHROPIC),
        ("openai.json", OPENAI),
    ],
)
def test_dropped_conversation_is_shown_and_not_stored(
    tab: Tab, writer: httpx.Client, name: str, file: bytes
) -> None:
    drop(tab, name, file)
    expect(not_stored(tab)).to_be_visible()
    expect(tab.page.get_by_role("heading", name=ASKED)).to_be_visible()
    expect(tab.page.locator(".timeline img").first).to_have_js_property("naturalWidth", 64)
    expect(tab.page.get_by_role("link", name="What the model gets")).to_have_count(0)
    expect(tab.page.locator(".file-banner")).to_contain_text(
        "Store this session to see what a model gets."
    )
    assert_accessible(tab)
    tab.page.set_viewport_size({"width": 390, "height": 844})
    assert_accessible(tab)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert stored_sessions(writer) == []
    assert writer.get("/api/resources").json()["items"] == []


def test_dropped_bundle_is_shown_then_imported(tab: Tab, writer: httpx.Client) -> None:
    shop.written(writer, shop.EVERYTHING)
    [session] = stored_sessions(writer)
    bundle = writer.get(f"/api/sessions/{session}/bundle").content
    assert writer.delete(f"/api/sessions/{session}").status_code == 200
    drop(tab, "shop.zip", bundle)
    expect(not_stored(tab)).to_be_visible()
    expect(tab.page.locator(".timeline .entry").first).to_be_visible()
    expect(tab.page.get_by_text("Not examined: a bundle is when it is stored")).to_be_visible()
    tab.page.get_by_label("Search in this session").fill("customers")
    expect(tab.page.locator(".find-hit").first).to_contain_text("customers")
    tab.page.keyboard.press("Escape")
    assert stored_sessions(writer) == []
    tab.page.get_by_role("button", name="Store this session").click()
    expect(tab.page).to_have_url(f"{tab.page.url.rpartition('/file')[0]}/sessions/{session}")
    expect(not_stored(tab)).to_have_count(0)
    assert stored_sessions(writer) == [session]


def test_file_is_stored_under_a_name(tab: Tab, writer: httpx.Client) -> None:
    drop(tab, "my notes.jsonl", CLAUDE_CODE)
    field = tab.page.get_by_label("Store as")
    expect(field).to_have_value("my-notes")
    field.fill("notes")
    tab.page.get_by_role("button", name="Store this session").click()
    expect(tab.page.get_by_role("link", name="What the model gets").first).to_be_visible()
    expect(not_stored(tab)).to_have_count(0)
    assert tab.page.url.endswith("/sessions/notes")
    assert stored_sessions(writer) == ["notes"]


def test_file_that_begins_with_a_byte_order_mark_is_stored(tab: Tab, writer: httpx.Client) -> None:
    drop(tab, "claude.jsonl", codecs.BOM_UTF8 + CLAUDE_CODE)
    expect(not_stored(tab)).to_be_visible()
    tab.page.get_by_role("button", name="Store this session").click()
    expect(tab.page.get_by_role("link", name="What the model gets").first).to_be_visible()
    assert stored_sessions(writer) == ["claude"]


def test_other_conversation_of_that_name_stays(tab: Tab, writer: httpx.Client) -> None:
    message = {"role": "user", "content": "Something else."}
    path = "/api/sessions/claude/messages"
    assert writer.post(path, json=message).status_code == 201
    drop(tab, "claude.jsonl", CLAUDE_CODE)
    tab.page.get_by_role("button", name="Store this session").click()
    alert = tab.page.locator(".file-banner").get_by_role("alert").first
    expect(alert).to_contain_text("There is a session of this name that has something else")
    expect(alert.locator("details p").first).to_be_hidden()
    expect(not_stored(tab)).to_be_visible()
    assert len(writer.get(path).json()["items"]) == 1


@pytest.mark.parametrize(
    ("name", "file", "cause"),
    [
        ("notes.md", b"# Notes", "This file is not read as a session."),
        ("settings.json", b'{"theme": "dark"}', "There is no conversation in this"),
        ("archive.zip", b"PK\x03\x04 and no more", "zip"),
    ],
)
def test_unknown_file_is_refused_with_what_the_page_reads_then_another_is_chosen(
    tab: Tab, name: str, file: bytes, cause: str
) -> None:
    drop(tab, name, file)
    expect(tab.page.get_by_role("heading", name=f"{name} is not shown")).to_be_visible()
    alert = tab.page.get_by_role("alert").first
    expect(alert).to_contain_text("This page reads a .jsonl of Claude Code or Codex")
    words = alert.locator("details p").filter(has_text=cause).first
    expect(words).to_be_hidden()
    alert.get_by_text("What the service says").click()
    expect(words).to_be_visible()
    assert_accessible(tab)
    tab.page.locator("main input[type=file]").set_input_files(
        {"name": "claude.jsonl", "mimeType": "", "buffer": CLAUDE_CODE}
    )
    expect(tab.page.get_by_role("heading", name=ASKED)).to_be_visible()


BROKEN = lines(
    {"type": "summary", "summary": "The page", "leafUuid": "3"},
    claude_line(1, {"role": "user", "content": ASKED}),
    claude_line(
        2,
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "A cat."}],
        },
    ),
)


def test_file_has_the_findings_of_the_doctor_at_its_entries(tab: Tab, writer: httpx.Client) -> None:
    drop(tab, "broken.jsonl", BROKEN)
    badge = tab.page.get_by_role("link", name="Anthropic would refuse this (1)")
    expect(badge).to_be_visible()
    labels = tab.page.locator(".timeline .entry", has=tab.page.get_by_text("1 finding"))
    expect(labels).to_have_count(1)
    expect(labels).to_contain_text("A cat.")
    assert_accessible(tab)
    badge.click()
    expect(tab.page.get_by_role("heading", name="1 finding")).to_be_visible()
    expect(tab.page.get_by_text("broken.jsonl")).to_be_visible()
    expect(tab.page.get_by_role("combobox", name="For")).to_have_value("anthropic")
    tab.page.get_by_role("combobox", name="For").select_option("openai-chat")
    expect(tab.page.get_by_text("for openai-chat/")).to_be_visible()
    tab.page.go_back()
    expect(not_stored(tab)).to_be_visible()
    assert stored_sessions(writer) == []


@pytest.mark.parametrize(("name", "file"), [("claude.jsonl", CLAUDE_CODE), ("a.json", ANTHROPIC)])
def test_file_without_findings_has_no_badge_and_is_examined_once(
    tab: Tab, name: str, file: bytes
) -> None:
    sent: list[str] = []
    tab.page.on("request", lambda request: sent.append(request.url.rpartition("/api/")[2]))
    with tab.page.expect_response("**/api/doctor?target=anthropic") as response:
        drop(tab, name, file)
    assert response.value.json()["findings"] == []
    expect(tab.page.locator(".timeline .entry").first).to_be_visible()
    expect(tab.page.get_by_text("Anthropic would refuse this")).to_have_count(0)
    expect(tab.page.get_by_text("Could not be examined")).to_have_count(0)
    assert sent.count("doctor?target=anthropic") == 1
    assert not [each for each in sent if "working-set" in each]


def test_file_is_searched_in_the_tab(tab: Tab) -> None:
    found = [
        {"role": "user" if number % 2 == 0 else "assistant", "content": f"Step {number}."}
        for number in range(9)
    ]
    found[2]["content"] = "The lock was never released."
    found[7]["content"] = "Two threads wait for locks; release them."
    sent: list[str] = []
    drop(tab, "chat.jsonl", lines(*found))
    expect(not_stored(tab)).to_be_visible()
    page = tab.page
    page.on("request", lambda request: sent.append(request.url))
    field = page.get_by_label("Search in this session")
    expect(field).to_be_visible()
    page.keyboard.press("/")
    expect(field).to_be_focused()
    field.fill("lock release")
    options = page.locator(".find-hit")
    expect(options).to_have_count(2)
    expect(options.first).to_contain_text("#3")
    expect(options.first.locator("mark").first).to_have_text("lock")
    assert_accessible(tab)
    page.keyboard.press("Enter")
    expect(page.locator('[data-seq="3"]')).to_be_focused()
    page.keyboard.press("n")
    expect(page.locator('[data-seq="8"]')).to_be_focused()
    page.keyboard.press("N")
    expect(page.locator('[data-seq="3"]')).to_be_focused()
    page.keyboard.press("/")
    field.fill("nowhere")
    expect(page.get_by_text("Nothing found")).to_be_visible()
    assert not [each for each in sent if "/api/search" in each]


def test_cut_line_is_named(tab: Tab) -> None:
    drop(tab, "cut.jsonl", CLAUDE_CODE[:-40])
    expect(tab.page.get_by_role("alert")).to_contain_text("Line 3 of the file is not JSON.")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[LiveService]:
    """A service that reads files of 1 MiB."""
    limits = Limits(session_file_bytes=MIB)
    settings = Settings(data_dir=tmp_path, auth="none", log_level="error", limits=limits)
    with serving(settings) as live:
        yield live


def test_file_above_the_limit_is_refused_with_another_way(
    small: LiveService, open_tab: OpenTab
) -> None:
    tab = open_tab(small)
    tab.open("/doctor")
    tab.open("/file")
    expect(tab.page.get_by_text("No file is open")).to_be_visible()
    drop(tab, "long.jsonl", CLAUDE_CODE + b" " * 6 * MIB)
    expect(tab.page.get_by_role("alert")).to_contain_text("A file may have 1 MiB")
    expect(tab.page.get_by_role("alert")).to_contain_text("pagefault ingest FILE")


def test_view_that_takes_files_itself_keeps_a_dropped_one(tab: Tab) -> None:
    tab.open("/doctor")
    view = tab.page.locator(".doctor-view")
    data = {"dataTransfer": dropped(tab, "claude.json", ANTHROPIC)}
    view.dispatch_event("dragover", data)
    expect(tab.page.get_by_text("Drop the file to read it")).to_have_count(0)
    view.dispatch_event("drop", data)
    expect(tab.page.get_by_text("claude.json")).to_be_visible()
    assert tab.page.url.endswith("/doctor")


def test_reload_closes_the_file(tab: Tab) -> None:
    drop(tab, "claude.jsonl", CLAUDE_CODE)
    expect(not_stored(tab)).to_be_visible()
    tab.page.reload()
    expect(tab.page.get_by_text("No file is open")).to_be_visible()
