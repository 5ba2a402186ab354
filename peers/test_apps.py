"""Apps of the protocol's own examples: stored by the proxy, and shown by the viewer."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from packages.mcp.tests.e2e.test_proxy_command import talking
from peers.servers import of_npm
from tests.browser.conftest import OpenTab
from tests.browser.test_content_origin import TwoOrigins, two_origins
from tests.kit.process import environment, program

__all__ = ["two_origins"]

Json = dict[str, Any]


def call_through_proxy(
    two_origins: TwoOrigins, folder: Path, package: str, tool: str, **arguments: object
) -> Json:
    """Call a tool of an example twice through the proxy; return the last result."""
    where = ["--session", package, "--url", two_origins.process.base_url, "--no-tools"]
    command = ["proxy", *where, "--", *of_npm(package, "--stdio")]
    env = environment({"PAGEFAULT_API_KEY": two_origins.key})
    with talking(*program(), *command, stderr=folder / "stderr", env=env) as host:
        info = {"name": "peers", "version": "1"}
        host.ask(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        host.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        host.ask(1, "tools/list")
        host.call(2, tool, **arguments)
        answer: Json = json.loads(host.call(3, tool, **arguments))
        assert host.leave() == 0
    assert (folder / "stderr").read_text() == ""
    result: Json = answer["result"]
    return result


def pages_of(two_origins: TwoOrigins, session: str) -> set[str]:
    """Return the resources of the pages in a session."""
    with two_origins.client() as client:
        entries = client.get(f"/api/sessions/{session}/messages").json()["items"]
    return {
        part["data"]
        for entry in entries
        for part in entry.get("sanitized", {}).get("parts", [])
        if "pagefault/app" in part.get("_meta", {})
    }


def test_app_shows_the_stored_result_before_and_after_a_reload(
    two_origins: TwoOrigins, open_tab: OpenTab, tmp_path: Path
) -> None:
    result = call_through_proxy(two_origins, tmp_path, "server-basic-vanillajs", "get-time")
    assert len(pages_of(two_origins, "server-basic-vanillajs")) == 1
    tab = open_tab(two_origins.process)
    tab.open("/sessions/server-basic-vanillajs")
    tab.give_key(two_origins.key)
    time = result["structuredContent"]["time"]
    frame = tab.page.frame_locator("iframe").last
    for is_reloaded in (False, True):
        if is_reloaded:
            tab.page.reload()
        expect(tab.page.locator("iframe")).to_have_count(2)
        expect(frame.locator("#server-time")).to_have_text(time)
    # The button of the app calls its tool, which a stored result does not.
    frame.get_by_role("button", name="Get Server Time").click()
    expect(frame.locator("#server-time")).to_have_text("[ERROR]")
    two_origins.forgive(tab)
    tab.faults.clear()


def test_app_of_many_values_draws_them(
    two_origins: TwoOrigins, open_tab: OpenTab, tmp_path: Path
) -> None:
    call_through_proxy(two_origins, tmp_path, "server-budget-allocator", "get-budget-data")
    tab = open_tab(two_origins.process)
    tab.open("/sessions/server-budget-allocator")
    tab.give_key(two_origins.key)
    frame = tab.page.frame_locator("iframe").last
    expect(frame.get_by_text("Marketing").first).to_be_visible()
    two_origins.forgive(tab)


def test_app_that_declares_hosts_waits_for_a_click(
    two_origins: TwoOrigins, open_tab: OpenTab, tmp_path: Path
) -> None:
    call_through_proxy(two_origins, tmp_path, "server-map", "show-map")
    tab = open_tab(two_origins.process)
    tab.open("/sessions/server-map")
    tab.give_key(two_origins.key)
    expect(tab.page.get_by_text("*.openstreetmap.org, cesium.com").first).to_be_visible()
    expect(tab.page.locator("iframe")).to_have_count(0)
