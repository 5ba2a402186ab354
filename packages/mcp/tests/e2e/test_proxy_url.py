"""`pagefault proxy --url`: a service that runs keeps what passes, and shows it the same."""

import json
import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from app.config.settings import Settings
from app.models.limits import Limits
from packages.mcp.tests.e2e.test_proxy_command import (
    HANDLE,
    SERVER,
    Conversation,
    history,
    proxied,
    talking,
)
from packages.mcp.tests.e2e.test_proxy_memory import (
    LARGE_BYTES,
    MIB,
    SOUND_SECONDS,
    peak_bytes,
    sound_in,
)
from tests.kit import mcp_server
from tests.kit.loaded_command import LoadedCommand
from tests.kit.media import b64, wav
from tests.kit.process import COMMAND, ROOT, PagefaultProcess, environment, program, run_command
from tests.kit.servers import LiveService, serving

Json = dict[str, Any]
# Measured: 34 MiB after a small result, 36 MiB after one of 300 MB.
MAX_BYTES = 40 * MIB
CALL_IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LiveService]:
    """Yield a service that requires no key."""
    with serving(Settings(data_dir=tmp_path / "served", auth="none", log_level="error")) as live:
        yield live


@contextmanager
def kept_by(url: str, folder: Path, *given: str, key: str | None = None) -> Iterator[Conversation]:
    """Run the scripted server behind a proxy that keeps results in a service."""
    options = ("--session", "demo", "--url", url, *given)
    env = environment({"PAGEFAULT_API_KEY": key} if key else {})
    with talking(
        *program(), "proxy", *options, "--", *SERVER, stderr=folder / "stderr", env=env
    ) as host:
        yield host


CALLS: list[tuple[str, Json]] = [
    *((name, {}) for name in mcp_server.ANSWERS if name != "later"),
    ("picture", {}),
    ("many", {"texts": 30}),
    ("for_user", {}),
    ("sound", {"seconds": 1}),
    ("sound", {"seconds": 10}),
    ("long", {"characters": 5_000}),
    ("long", {"characters": 20_000}),
    ("long", {"characters": 3_000_000}),
    ("upload", {"image": HANDLE, "note": HANDLE, "file_path": HANDLE}),
]

OWN_CALLS: list[tuple[str, Json]] = [
    ("list_media", {}),
    ("read_text", {"ref": "@entry:12", "lines": None}),
    ("view_media", {"ref": HANDLE}),
    ("page_fault", {"page_id": "none"}),
]


def answers_to(host: Conversation, calls: list[tuple[str, Json]]) -> list[str]:
    """Return all lines that a host receives for its calls."""
    lines = [host.ask(0, "initialize", protocolVersion="2025-06-18", capabilities={})]
    lines.append(host.ask(1, "tools/list"))
    lines.append(host.ask(2, "tools/list", cursor="more"))
    for number, (tool, arguments) in enumerate(calls, start=3):
        lines.append(host.call(number, tool, **arguments))
        while b'"id"' not in lines[-1]:
            lines.append(host.hear())
    assert host.leave() == 0
    return [CALL_IDS.sub("<id>", line.decode("utf-8", "backslashreplace")) for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--max-images", "0"),
        ("--max-tokens", "200"),
        ("--max-bytes", "1000", "--no-tools"),
        ("--max-text", "500", "--max-image-pixels", "32"),
        ("--max-text", "1000000", "--max-tokens", "300"),
    ],
    ids=" ".join,
)
def test_host_hears_the_same_and_the_history_is_the_same(
    service: LiveService, tmp_path: Path, options: tuple[str, ...]
) -> None:
    calls = CALLS if "--no-tools" in options else CALLS + OWN_CALLS
    with kept_by(service.base_url, tmp_path, *options) as host:
        by_service = answers_to(host, calls)
    with proxied(tmp_path, *options) as host:
        by_stores = answers_to(host, calls)
    assert by_service == by_stores
    entries = httpx.get(f"{service.base_url}/api/sessions/demo/messages").json()["items"]
    assert list(map(nameless, entries)) == list(map(nameless, history(tmp_path / "data")))


def nameless(entry: Json) -> str:
    """Return an entry without values that differ in each run."""
    for name in ("id", "created_at", "createdAt"):
        entry.pop(name, None)
    return CALL_IDS.sub("<id>", json.dumps(entry))


def stderr_of(folder: Path) -> str:
    """Return the standard error of the proxy."""
    return (folder / "stderr").read_text()


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A proxy that keeps results in a service takes less than 40 MiB",
    kept_by="packages/mcp/src/pagefault_mcp/service_client/service_store.py",
    tried="a line of 100 MiB, 8,000 texts, and a sound of 20 MB that the host is given twice",
)
def test_large_medium_is_kept_by_a_service_within_40_mib(
    service: LiveService, tmp_path: Path
) -> None:
    options = ("proxy", "--session", "demo", "--url", service.base_url)
    with talking(COMMAND, *options, "--", *SERVER, stderr=tmp_path / "stderr") as host:
        host.ask(0, "initialize", protocolVersion="2025-06-18", capabilities={})
        host.ask(1, "tools/list")
        host.call(2, "long", characters=20_000)
        before = peak_bytes(host.process.pid)
        content = json.loads(host.call(3, "large", bytes=LARGE_BYTES))["result"]["content"]
        whole = sound_in(host.call(4, "sound", seconds=SOUND_SECONDS))
        session = httpx.get(f"{service.base_url}/api/sessions/demo/messages").json()
        kept = [resource for entry in session["items"] for resource in _resources(entry)]
        many = json.loads(host.call(6, "many", texts=8_000))["result"]["content"]
        viewed = sound_in(host.call(5, "view_media", ref=f"@{kept[-1]['uri']}"))
        after = peak_bytes(host.process.pid)
        assert host.leave() == 0, stderr_of(tmp_path)
    print(f"{before // MIB} MiB, then {after // MIB} MiB")  # noqa: T201 - the measure
    assert whole == viewed == wav(SOUND_SECONDS, 100_000)
    assert [item["size"] for item in kept] == [20_000, LARGE_BYTES, len(whole)]
    assert kept[1]["uri"] in content[-1]["text"]
    assert len(many) == 8_000
    assert after < MAX_BYTES


def _resources(entry: Json) -> list[Json]:
    resources: list[Json] = entry.get("sanitized", {}).get("resources", [])
    return resources


def test_results_pass_while_the_service_is_away_and_are_kept_when_it_is_back(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    word = mcp_server.ANSWERS["word"]
    with kept_by(url, tmp_path) as host:
        assert host.call(1, "word") == word % 1
        with PagefaultProcess(tmp_path / "served", options=["--port", str(port)]) as process:
            assert host.call(2, "word") == word % 2
            with process.client() as client:
                entries = client.get("/api/sessions/demo/messages").json()["items"]
        assert host.call(3, "word") == word % 3
        assert host.leave() == 0
    assert [entry["role"] for entry in entries] == ["assistant", "tool"]
    stderr = stderr_of(tmp_path).replace("\n", " ")
    assert f"{url}/api/sessions cannot be reached: the connection was refused." in stderr
    assert "refused. Results are passed on and not stored until it takes them." in stderr
    assert stderr.count("a result of word is passed on and not stored: ") == 2


def test_handle_stays_text_while_the_service_is_away_and_that_is_told(tmp_path: Path) -> None:
    with kept_by("http://127.0.0.1:9", tmp_path) as host:
        host.ask(1, "tools/list", cursor="more")
        (block,) = json.loads(host.call(2, "upload", image=HANDLE))["result"]["content"]
        assert host.leave() == 0
    assert json.loads(block["text"]) == {"image": HANDLE}
    assert "a handle for upload is passed on as it is: http://127.0.0.1:9 cannot" in stderr_of(
        tmp_path
    )


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_memorys_tool_says_that_the_service_is_away_as_a_result_of_any_revision(
    tmp_path: Path,
    mode: Any,  # noqa: ANN401
) -> None:
    python, *forked = program()
    away = ("proxy", "--session", "demo", "--url", "http://127.0.0.1:9")
    arguments = [*forked, *away, "--", *program("mcp_sdk_server"), "stdio"]
    proxy = StdioServerParameters(command=python, args=arguments, cwd=ROOT, env=environment())
    async with Client(proxy, mode=mode) as client:
        refused = await client.call_tool("list_media")
    (words,) = refused.content
    assert isinstance(words, TextContent)
    assert (refused.is_error, words.text) == (
        True,
        "The memory did not answer: http://127.0.0.1:9 cannot be reached: the connection was "
        "refused",
    )


def test_key_is_that_of_the_environment(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "served", auth="api-key", log_level="error")
    with serving(settings) as service:
        key = service.new_key()
        with kept_by(service.base_url, tmp_path, key=key) as host:
            host.call(1, "word")
            assert host.leave() == 0
        assert stderr_of(tmp_path) == ""
        with service.client(key) as client:
            assert len(client.get("/api/sessions/demo/messages").json()["items"]) == 2
        with kept_by(service.base_url, tmp_path, key="pf_unknown") as host:
            assert host.call(1, "word") == mcp_server.ANSWERS["word"] % 1
            refused = json.loads(host.call(2, "list_media"))["result"]
            assert host.leave() == 0
        # A model can make no key.
        message = (
            "The memory did not answer: the service takes no requests without a valid API key. "
            "Whoever runs this has to give it one, in the environment variable PAGEFAULT_API_KEY."
        )
        content = [{"type": "text", "text": message}]
        assert refused == {"resultType": "complete", "content": content, "isError": True}
        assert (
            "refuses the key. Set PAGEFAULT_API_KEY; `pagefault keys create` makes one. Results "
            "are passed on and not stored until it takes them." in stderr_of(tmp_path)
        )
        assert "pf_unknown" not in stderr_of(tmp_path)


@pytest.mark.parametrize("key", ["pf_secret\tmore", "pf_secr\u00e9t", "pf_\x07"])
def test_key_that_cannot_be_one_is_refused_and_not_repeated(
    pagefault: LoadedCommand, key: str
) -> None:
    line = ("proxy", "--session", "demo", "--url", "http://127.0.0.1:9", "--", *SERVER)
    done = pagefault.run(*line, env={"PAGEFAULT_API_KEY": key})
    assert done.returncode == 2
    assert "PAGEFAULT_API_KEY: has characters that no key has" in done.stderr
    assert "pf_" not in done.stdout + done.stderr


def test_key_may_have_blanks_around_it(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "served", auth="api-key", log_level="error")
    with serving(settings) as service:
        with kept_by(service.base_url, tmp_path, key=f" {service.new_key()}\r\n") as host:
            host.call(1, "word")
            assert host.leave() == 0
        assert stderr_of(tmp_path) == ""


@contextmanager
def answering(answer: bytes, cut: Mapping[str, bytes] = MappingProxyType({})) -> Iterator[str]:
    """Serve one answer, and for some paths another, of which more is announced than comes."""

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            part = cut.get(self.path.partition("?")[0])
            self.send_response(200)
            if part is not None:
                self.send_header("Content-Length", str(len(part) + 1))
            self.end_headers()
            self.wfile.write(answer if part is None else part)

        def do_POST(self) -> None:
            if length := self.headers["content-length"]:
                self.rfile.read(int(length))
            else:
                while size := int(self.rfile.readline(), 16):
                    self.rfile.read(size + 2)
                self.rfile.readline()
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        Thread(target=other.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{other.server_port}"
        other.shutdown()


NO_LIST = b'{"messages": [{"content": {}, "more": "%s"}]}'


@pytest.mark.parametrize(
    "answer",
    [
        *(b"<html>", b"[]", b"{}", b'{"messages": []}', b'{"messages": [{"content": [}]}'),
        *(b'{"messages": [{"content": [NaN]}]}', b'{"messages": [{"content": ["\xed\xa0\x80"]}]}'),
        *(NO_LIST % b"", NO_LIST % (b"x" * MIB), NO_LIST % (b"x" * MIB + b"\xff")),
    ],
    ids=lambda answer: answer[:40],
)
def test_what_is_no_pagefault_is_told_and_results_pass(tmp_path: Path, answer: bytes) -> None:
    with answering(answer) as url, kept_by(url, tmp_path) as host:
        assert host.call(1, "word") == mcp_server.ANSWERS["word"] % 1
        result = json.loads(host.call(2, "list_media"))["result"]
        assert host.leave() == 0
    assert result["isError"]
    assert "Is it a Pagefault?" in stderr_of(tmp_path)
    assert "Is it a Pagefault?" in result["content"][0]["text"]


def test_answer_of_many_lines_is_one_line_to_the_host(tmp_path: Path) -> None:
    content = [{"type": "text", "text": "x" * MIB}]
    answer = json.dumps({"messages": [{"content": content, "isError": False}]}, indent=2).encode()
    with answering(answer) as url, kept_by(url, tmp_path) as host:
        answer_of_tool = json.loads(host.call(1, "list_media"))
        assert host.leave() == 0
    result = {"content": content, "isError": False}
    assert answer_of_tool == {"jsonrpc": "2.0", "id": 1, "result": result}


def test_result_passes_as_it_came_if_what_the_host_is_to_get_is_cut_off(tmp_path: Path) -> None:
    record = b'{"id": "a", "sanitized": {"resources": [{}], "parts": []}}'
    part = b'{"messages": [{"content": [{"type": "text", "text": "' + b"x" * MIB
    cut = {f"/api/{path}": part for path in ("tool-results/a/render", "sessions/demo/tool-calls")}
    with answering(record, cut) as url, kept_by(url, tmp_path) as host:
        whole = host.call(1, "long", characters=2 * MIB)
        result = json.loads(host.call(2, "list_media"))["result"]
        assert host.leave() == 0
    assert json.loads(whole)["result"]["content"][0]["text"] == "x" * 2 * MIB
    assert result["isError"]
    assert "cannot be reached: peer closed connection" in result["content"][0]["text"]
    assert "a result of long is stored, and passed on as it came: " in stderr_of(tmp_path)


def test_server_behind_the_proxy_does_not_get_the_key(service: LiveService, tmp_path: Path) -> None:
    tells = "import os; print(os.environ.get('PAGEFAULT_API_KEY'), os.environ['OTHER'])"
    env = environment({"PAGEFAULT_API_KEY": "pf_secret", "OTHER": "passed"})
    line = ("proxy", "--session", "demo", "--url", service.base_url, "--", sys.executable, "-c")
    with talking(*program(), *line, tells, stderr=tmp_path / "stderr", env=env) as host:
        assert host.hear() == b"None passed"


def test_tools_are_given_files_of_the_service(service: LiveService, tmp_path: Path) -> None:
    files = tmp_path / "files"
    # No entry of the session has it.
    foreign = httpx.post(f"{service.base_url}/api/resources", content=b"nobody's").json()["uri"]
    arguments = {
        "image": HANDLE,
        "images": [HANDLE, f"@{foreign}"],
        "url": HANDLE,
        "file_path": HANDLE,
    }
    with kept_by(service.base_url, tmp_path, "--files", str(files)) as host:
        host.ask(1, "tools/list", cursor="more")
        host.call(2, "picture")
        host.hear()
        echoed = json.loads(host.call(3, "upload", **arguments))["result"]["content"][0]["text"]
        path = Path(json.loads(echoed)["file_path"])
        assert (path.parent, path.read_bytes()) == (files, mcp_server.PNG)
        assert host.leave() == 0
    base64 = b64(mcp_server.PNG)
    expected = {
        "image": base64,
        "images": [base64, f"@{foreign}"],
        "url": f"data:image/png;base64,{base64}",
        "file_path": str(path),
    }
    assert echoed == mcp_server.told(expected)
    assert not files.exists()


@pytest.mark.parametrize(
    ("inline_bytes", "expected"),
    [(10_000, f"data:image/png;base64,{b64(mcp_server.PNG)}"), (1_000, HANDLE)],
)
def test_address_is_the_file_itself_or_the_handle_and_never_a_link_to_the_service(
    tmp_path: Path, inline_bytes: int, expected: str
) -> None:
    settings = Settings(
        data_dir=tmp_path / "served",
        auth="none",
        log_level="error",
        public_url="https://media.example.com",
        limits=Limits(inline_bytes=inline_bytes),
    )
    with serving(settings) as service, kept_by(service.base_url, tmp_path) as host:
        host.ask(1, "tools/list", cursor="more")
        host.call(2, "picture")
        host.hear()
        (echoed,) = json.loads(host.call(3, "upload", url=HANDLE))["result"]["content"]
        assert host.leave() == 0
    assert echoed["text"] == mcp_server.told({"url": expected})


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--data-dir", "data"), "--data-dir: cannot be combined with --url"),
        (("--project", "p"), "--project: cannot be combined with --url"),
        (("--listen", "8010"), "--listen: cannot be combined with --url"),
        (("--url", "ftp://somewhere"), "--url: has to be as in http://127.0.0.1:8000"),
        (("--session", "no/such"), "--session: is not a session id"),
    ],
    ids=lambda item: item[0] if isinstance(item, tuple) else "",
)
def test_option_that_a_service_cannot_take_is_refused(
    pagefault: LoadedCommand, options: tuple[str, ...], complaint: str
) -> None:
    line = ("proxy", "--session", "demo", "--url", "http://127.0.0.1:9", *options, "--", *SERVER)
    done = pagefault.run(*line)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_url_is_written_into_the_configuration_of_a_host(
    pagefault: LoadedCommand, tmp_path: Path
) -> None:
    config = tmp_path / "hosts.json"
    config.write_text(json.dumps({"mcpServers": {"a": {"command": "a-server", "args": ["-x"]}}}))
    url = "http://127.0.0.1:8000"
    done = pagefault.run("proxy", "--session", "demo", "--url", url, "--config", str(config))
    assert done.returncode == 0, done.stderr
    written = json.loads(config.read_text())["mcpServers"]["a"]
    assert written["args"][-7:] == ["--session", "demo", "--url", url, "--", "a-server", "-x"]


def test_change_is_told_where_the_terminal_has_not_all_characters(tmp_path: Path) -> None:
    config = tmp_path / "hosts.json"
    config.write_text('{"mcpServers": {"é": {"command": "a-server", "args": ["x y"]}}}')
    line = ("proxy", "--session", "demo", "--config", str(config), "--dry-run")
    done = run_command(*line, env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr, done.stdout.splitlines()) == (
        0,
        "",
        [
            str(config),
            '  "?"',
            '-   "command": "a-server"',
            '-   "args": ["???"]',
            f'+   "command": "{COMMAND}"',
            '+   "args": ["proxy", "--session", "demo", "--", "a-server", "???"]',
        ],
    )


def test_data_directory_of_the_environment_is_written_into_a_configuration(
    pagefault: LoadedCommand, tmp_path: Path
) -> None:
    config = tmp_path / "hosts.json"
    config.write_text(json.dumps({"mcpServers": {"a": {"command": "a-server"}}}))
    line = ("proxy", "--session", "demo", "--config", str(config))
    done = pagefault.run(*line, env={"PAGEFAULT_DATA_DIR": "data"}, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    written = json.loads(config.read_text())["mcpServers"]["a"]["args"]
    kept = ("--data-dir", str(tmp_path / "data"))
    assert written == ["proxy", "--session", "demo", *kept, "--", "a-server"]


def test_configuration_names_the_command_that_was_run_from_the_root(tmp_path: Path) -> None:
    config = tmp_path / "hosts.json"
    config.write_text(json.dumps({"mcpServers": {"a": {"command": "a-server"}}}))
    other = tmp_path / "other" / "pagefault"
    for item in (other, tmp_path / "bin" / "pagefault"):
        item.parent.mkdir()
        item.symlink_to(COMMAND)
    line = ("proxy", "--session", "demo", "--config", "hosts.json")
    path = {"PATH": f"{other.parent}:{os.environ['PATH']}"}
    done = run_command(*line, env=path, command=Path("bin/pagefault"), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    args = ["proxy", "--session", "demo", "--", "a-server"]
    assert json.loads(config.read_text()) == {
        "mcpServers": {"a": {"command": str(tmp_path / "bin" / "pagefault"), "args": args}}
    }


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--upstream", "http://127.0.0.1:9/mcp"), "--upstream: cannot be combined with --config"),
        (("--header", "X: y"), "--header: cannot be combined with --config"),
        (("--transport", "sse"), "--transport: cannot be combined with --config"),
        (("--listen", "127.0.0.1:0"), "--listen: cannot be combined with --config"),
        (("--undo", "--", "a"), "COMMAND: cannot be combined with --config"),
        (("--dry-run",), "--session: has to be named"),
    ],
    ids=lambda item: item[0] if isinstance(item, tuple) else "",
)
def test_option_that_has_no_effect_on_a_configuration_is_refused(
    pagefault: LoadedCommand, tmp_path: Path, options: tuple[str, ...], complaint: str
) -> None:
    config = tmp_path / "hosts.json"
    config.write_text('{"servers": {"a": {"command": "b"}}}')
    session = () if "--dry-run" in options else ("--session", "demo")
    done = pagefault.run("proxy", *session, "--config", str(config), *options)
    assert (done.returncode, complaint in done.stderr) == (2, True)
    assert config.read_text() == '{"servers": {"a": {"command": "b"}}}'


def test_configuration_is_given_back_without_another_option(
    pagefault: LoadedCommand, tmp_path: Path
) -> None:
    config = tmp_path / "hosts.json"
    config.write_text('{"servers": {"a": {"command": "b"}}}')
    pagefault.run("proxy", "--session", "demo", "--config", str(config))
    for option in ("--undo", "--dry-run"):
        alone = pagefault.run("proxy", option, "--session", "demo", "--", "a")
        assert (alone.returncode, f"{option}: is for --config" in alone.stderr) == (2, True)
    assert json.loads(config.read_text())["servers"]["a"]["args"][0] == "proxy"
    done = pagefault.run("proxy", "--config", str(config), "--undo")
    assert (done.returncode, done.stdout) == (0, f"{config}: restored\n")
    assert config.read_text() == '{"servers": {"a": {"command": "b"}}}'
