"""The key of a tab, and what becomes of it; and a stream that outlives its service."""

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
from playwright.sync_api import Page, expect

from app.wiring.stores import open_access
from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.contract.render_cases import image_block
from tests.kit import media
from tests.kit.process import PagefaultProcess
from tests.kit.servers import LiveService

PICTURE = shop.tool_result("camera", "call_1", shop.content(image_block(media.png(noise=True))))


def assert_open(page: Page) -> None:
    expect(page.locator("dialog[open]")).to_have_count(0)
    expect(page.locator("[data-seq] img")).to_have_js_property("naturalWidth", 64)


def test_key_is_asked_for_once_and_stays_in_the_tab(
    keyed_service: LiveService, open_tab: OpenTab, new_key: Callable[[LiveService], str]
) -> None:
    key = new_key(keyed_service)
    with keyed_service.client(key) as agent:
        shop.written(agent, [PICTURE])
    tab = open_tab(keyed_service)
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    expect(page.locator("dialog[open]")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(1)
    tab.give_key(key)
    assert_open(page)
    page.reload()
    assert_open(page)
    tab.await_live()

    addresses = [request.url for request in tab.requests]
    assert [address for address in addresses if key in address] == []
    assert [
        address for address in addresses if "/content" in address and "token=" not in address
    ] == []
    assert [
        address for address in addresses if "/events?" in address and "ticket=" not in address
    ] == []
    assert [address for address in addresses if "/events" in address and "ticket=" in address]
    assert page.evaluate("localStorage.length") == 0
    assert page.evaluate("document.cookie") == ""

    other = page.context.new_page()
    other.goto(f"{keyed_service.base_url}/sessions/{shop.SESSION}")
    expect(other.locator("dialog[open]")).to_have_count(1)
    page.get_by_role("button", name="Forget key").click()
    expect(page.locator("dialog[open]")).to_have_count(1)
    expect(page.locator("[data-seq]")).to_have_count(0)


def test_wrong_key_is_refused_and_a_revoked_one_is_asked_for_again(
    keyed_service: LiveService, open_tab: OpenTab, new_key: Callable[[LiveService], str]
) -> None:
    key = new_key(keyed_service)
    with keyed_service.client(key) as agent:
        shop.written(agent, [PICTURE])
    tab = open_tab(keyed_service)
    tab.open(f"/sessions/{shop.SESSION}")
    tab.give_key("pf_unknown")
    refusal = tab.page.get_by_role("alert").filter(has_text="does not know that key")
    expect(refusal).to_be_visible()
    tab.give_key(key)
    assert_open(tab.page)
    revoke(keyed_service, key)
    tab.page.get_by_role("link", name="Pages").click()
    expect(refusal).to_be_visible()
    tab.give_key(new_key(keyed_service))
    expect(tab.page.get_by_text("There are no pages yet")).to_be_visible()


def test_key_is_remembered_on_the_device_if_that_is_asked_for(
    keyed_service: LiveService, open_tab: OpenTab, new_key: Callable[[LiveService], str]
) -> None:
    key = new_key(keyed_service)
    with keyed_service.client(key) as agent:
        shop.written(agent, [PICTURE])
    tab = open_tab(keyed_service)
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    dialog = page.locator("dialog[open]")
    expect(dialog.get_by_text("pagefault keys create --project NAME")).to_be_visible()
    expect(dialog.get_by_label("Key", exact=True)).to_have_attribute(
        "autocomplete", "current-password"
    )
    # Nothing has failed before there is a key.
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator("main")).not_to_be_visible()
    dialog.get_by_label("Remember it on this device").check()
    tab.give_key(key)
    assert_open(page)
    other = page.context.new_page()
    other.goto(f"{keyed_service.base_url}/sessions/{shop.SESSION}")
    assert_open(other)
    other.get_by_role("button", name="Forget key").click()
    assert page.evaluate("localStorage.length") == 0


def revoke(service: LiveService, key: str) -> None:
    """Take a key back, as the command does."""

    async def revoked() -> bool:
        async with open_access(service.settings) as access:
            ids = [item.key_id for item in await access.list_keys() if item.key_id in key]
            return await access.revoke_key(ids[0])

    with ThreadPoolExecutor(1) as beside:
        assert beside.submit(anyio.run, revoked).result()


def test_nothing_is_missed_while_the_service_is_started_again(
    open_tab: OpenTab, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = PagefaultProcess(tmp_path / "data", options=("--port", str(port)))
    with process:
        with process.client() as agent:
            shop.written(agent, [shop.message("user", "Before.")])
        tab = open_tab(process)
        tab.open(f"/sessions/{shop.SESSION}")
        expect(tab.entries).to_have_count(1)
        tab.await_live()
        process.stop()
        expect(tab.page.locator("[data-state]")).to_have_attribute("data-state", "reconnecting")
        process.start()
        with process.client() as agent:
            shop.written(agent, [shop.message("user", "While nobody listened."), PICTURE])
        expect(tab.entries).to_have_count(3)
        tab.await_live()
        with process.client() as agent:
            shop.written(agent, [shop.message("user", "After.")])
        expect(tab.entries.last).to_contain_text("After.")
        expect(tab.entries).to_have_count(4)
