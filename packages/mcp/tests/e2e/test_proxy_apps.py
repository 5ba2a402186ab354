"""Pages of MCP Apps behind the proxy: read once, and stored with the results of their tools."""

import json
import sys
from typing import Any

import pytest

from app.config.settings import Settings
from packages.mcp.tests.e2e.test_proxy_command import talking
from tests.kit.process import environment, program
from tests.kit.servers import serving, with_a_database

Json = dict[str, Any]
URI = "ui://clock/mcp-app.html"
HTML = "<!doctype html><title>Clock</title>" + "<p>tick</p>" * 1_000
POLICY = {"csp": {"connectDomains": ["https://time.example"]}, "prefersBorder": True}
# A server of two tools with a page each, which counts how often each is read.
SERVER = """
import json, sys
uri, html, policy = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
tool = {"inputSchema": {"type": "object"}}
reads = 0
for line in sys.stdin:
    request = json.loads(line)
    method, params = request["method"], request["params"]
    if method == "tools/list":
        new = {**tool, "name": "time", "_meta": {"ui": {"resourceUri": uri}}}
        old = {**tool, "name": "date", "_meta": {"ui/resourceUri": "ui://none"}}
        result = {"tools": [new, old, {**tool, "name": "plain"}]}
    elif method == "resources/read":
        reads += 1
        page = {"uri": uri, "mimeType": "text/html;profile=mcp-app", "text": html}
        result = {"contents": [{**page, "_meta": {"ui": policy}}]}
    else:
        text = {"type": "text", "text": f"{reads} reads"}
        result = {"content": [text], "structuredContent": {"reads": reads}}
    answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
    if method == "resources/read" and params["uri"] == "ui://none":
        answer = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32002, "message": ""}}
    if method == "resources/list_changed":
        answer = {"jsonrpc": "2.0", "method": "notifications/" + method}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Json], Json]:
    """Call the tools, some twice; return the results for the host, and the session."""
    folder = tmp_path_factory.mktemp("apps")
    data = with_a_database(folder / "data")
    server = [sys.executable, "-c", SERVER, URI, HTML, json.dumps(POLICY)]
    command = ["proxy", "--session", "demo", "--data-dir", str(data), "--no-tools", "--", *server]
    with talking(*program(), *command, stderr=folder / "stderr", env=environment()) as host:
        host.ask(1, "tools/list")
        results = [
            json.loads(host.call(number, name))["result"]
            for number, name in enumerate(("plain", "time", "time", "date", "date"), 2)
        ]
        assert b"list_changed" in host.ask(8, "resources/list_changed")
        results.append(json.loads(host.call(9, "time"))["result"])
        assert host.leave() == 0
    assert (folder / "stderr").read_text() == ""
    with serving(Settings(data_dir=data, log_level="error")) as service, service.client() as client:
        entries = client.get("/api/sessions/demo/messages").json()["items"]
        rendered = client.get("/api/sessions/demo/render?target=anthropic").json()
        (resource,) = client.get("/api/resources").json()["items"]
        content = client.get(f"/api/resources/{resource['uri']}/content").text
    session = {"entries": entries, "rendered": rendered, "uri": resource["uri"], "html": content}
    return results, session


def test_page_is_in_the_record_and_stored_once(stored: tuple[list[Json], Json]) -> None:
    _, session = stored
    records = [entry["sanitized"] for entry in session["entries"] if "sanitized" in entry]
    page = {
        "type": "file",
        "data": f"@{session['uri']}",
        "mimeType": "text/html",
        "mediaKind": "binary",
        "filename": "mcp-app.html",
        "uri": URI,
        "_meta": {"pagefault/app": POLICY},
    }
    assert [record["parts"][1:] for record in records] == [[], [page], [page], [], [], [page]]
    assert session["html"] == HTML


def test_page_is_read_once_until_the_pages_change(stored: tuple[list[Json], Json]) -> None:
    results, _ = stored
    reads = [result["structuredContent"]["reads"] for result in results]
    assert reads == [0, 1, 1, 2, 2, 3]


def test_host_gets_the_answer_of_the_server(stored: tuple[list[Json], Json]) -> None:
    results, _ = stored
    reads = {"reads": 1}
    text = {"type": "text", "text": "1 reads"}
    assert results[1] == {"content": [text], "structuredContent": reads}


def test_model_gets_no_page_and_the_loss_names_it(stored: tuple[list[Json], Json]) -> None:
    _, session = stored
    assert "tick" not in json.dumps(session["rendered"])
    lost = [entry for entry in session["rendered"]["loss"] if entry["code"] == "app"]
    restore = f"GET /api/resources/{session['uri'].removeprefix('blob:')}/content"
    assert [(entry["to"], entry["restore"]) for entry in lost] == [("nothing", restore)] * 3
