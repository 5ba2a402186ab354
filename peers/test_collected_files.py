"""Files that Playwright's server leaves are stored with its results, by the proxy."""

import json
from pathlib import Path

from packages.mcp.tests.e2e.test_proxy_command import history, talking
from peers.servers import CHROMIUM
from tests.kit.node import NODE, installed
from tests.kit.process import COMMAND, environment
from tests.kit.servers import with_a_database

PEERS = Path(__file__).parent
PAGE = "data:text/html,<title>Shop</title><h1>Checkout</h1>"


def test_screenshots_and_documents_by_path_are_in_the_record(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    program = installed(PEERS) / "node_modules" / "@playwright" / "mcp" / "cli.js"
    browser = ["--headless", "--isolated", "--no-sandbox", "--executable-path", CHROMIUM]
    # Files with a name are below the working directory, others in the folder of the option.
    server = [str(NODE), str(program), *browser, "--caps", "pdf", "--output-dir", "out"]
    options = ["--session", "demo", "--data-dir", str(data), "--no-tools", "--collect", "."]
    (tmp_path / "work").mkdir()
    command = ["sh", "-c", 'cd "$0" && exec "$@"', str(tmp_path / "work"), str(COMMAND), "proxy"]
    calls = [
        ("browser_navigate", {"url": PAGE}),
        ("browser_take_screenshot", {}),
        ("browser_take_screenshot", {"filename": "shots/first page.png"}),
        ("browser_pdf_save", {"filename": "page.pdf"}),
        ("browser_close", {}),
    ]
    with talking(
        *command, *options, "--", *server, stderr=tmp_path / "stderr", env=environment()
    ) as host:
        info = {"name": "peers", "version": "1"}
        host.ask(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=info)
        host.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        answers = []
        for number, (name, arguments) in enumerate(calls, 1):
            answer = json.loads(host.call(number, name, **arguments))
            while answer.get("id") != number:
                # A notification of the server.
                answer = json.loads(host.hear())
            answers.append(answer)
        assert host.leave() == 0
    lines = [answer["result"]["content"][-1]["text"].split()[0] for answer in answers]
    assert lines == ["[binary", "[image", "[image", "[binary", "###"]
    results = [entry["sanitized"] for entry in history(data) if "sanitized" in entry]
    collected = [
        part["_meta"]["pagefault/collected"]
        for result in results
        for part in result["parts"]
        if "_meta" in part
    ]
    assert [Path(path).parent.as_posix() for path in collected] == ["out", "out", "shots", "."]
    assert collected[2:] == ["shots/first page.png", "page.pdf"]
    types = [result["resources"][-1]["mimeType"] for result in results[:4]]
    assert types == ["application/yaml", "image/png", "image/png", "application/pdf"]
