"""Configurations of hosts, with every server behind the proxy and back again."""

import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from app.cli.error_output import EXIT_CANNOT_START, print_error
from pagefault_mcp.hosts.host_configs import ProxyCommand, rewrite
from pagefault_mcp.hosts.host_servers import ConfigError, read_servers

PROXY_COMMAND = ProxyCommand("/opt/bin/pagefault", ["--session", "demo"])
CLAUDE = """{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"],
      "env": {"API_KEY": "sk-secret-1"}
    },
    "time": {"command": "uvx"}
  },
  "theme": "dark"
}
"""
VS_CODE = """// My servers.
{
\t"inputs": [{"id": "key", "type": "promptString", "password": true}],
\t"servers": {
\t\t/* the browser */
\t\t"playwright": {
\t\t\t"type": "stdio",
\t\t\t"command": "npx", // as its README says
\t\t\t"args": ["browser-mcp", "--token=${input:key}",],
\t\t},
\t\t"far": {
\t\t\t"type": "http",
\t\t\t"url": "https://example.com/mcp",
\t\t\t// mine
\t\t\t"env": {"A": "\\u00e9", "n": 1.10}, // as before
\t\t\t"headers": {
\t\t\t\t"Authorization": "Bearer ${input:key}",
\t\t\t\t"X-Token": "very-secret" // of mine
\t\t\t}
\t\t},
\t},
}
"""
WRAPPED_VS_CODE = """// My servers.
{
\t"inputs": [{"id": "key", "type": "promptString", "password": true}],
\t"servers": {
\t\t/* the browser */
\t\t"playwright": {
\t\t\t"type": "stdio",
\t\t\t"command": "/opt/bin/pagefault", // as its README says
\t\t\t"args": ["proxy", "--session", "demo", "--", "npx", "browser-mcp", "--token=${input:key}"],
\t\t},
\t\t"far": {
\t\t\t"type": "stdio",
\t\t\t"command": "/opt/bin/pagefault", "args": ["proxy", "--session", "demo", "--no-tools", \
"--upstream", "https://example.com/mcp", "--header", "Authorization: Bearer ${input:key}", \
"--header", "X-Token: very-secret"],
\t\t\t// mine
\t\t\t"env": {"A": "\\u00e9", "n": 1.10} // as before
\t\t},
\t},
}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "hosts.json"
    path.write_text(CLAUDE)
    path.chmod(0o600)
    return path


def run(path: Path, *, undo: bool = False, dry_run: bool = False) -> int:
    """As the command does it: the status."""
    try:
        rewrite(path, PROXY_COMMAND, undo=undo, dry_run=dry_run)
    except ConfigError as exc:
        print_error(str(exc))
        return EXIT_CANNOT_START
    return 0


def test_every_server_runs_behind_the_proxy_and_nothing_else_changes(config: Path) -> None:
    assert run(config) == 0
    args = ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"]
    proxy = ["proxy", "--session", "demo", "--"]
    other = ["proxy", "--session", "demo", "--no-tools", "--"]
    assert json.loads(config.read_text()) == {
        "mcpServers": {
            "files": {
                "command": "/opt/bin/pagefault",
                "args": [*proxy, "npx", *args],
                "env": {"API_KEY": "sk-secret-1"},
            },
            "time": {"command": "/opt/bin/pagefault", "args": [*other, "uvx"]},
        },
        "theme": "dark",
    }
    assert config.stat().st_mode & 0o777 == 0o600


def test_comments_inputs_and_variables_stay() -> None:
    assert PROXY_COMMAND.wrap(VS_CODE.encode()).decode() == WRAPPED_VS_CODE
    settings = '{"editor.fontSize": 12, "mcp": {"servers": {"a": {"command": "b"}}}}'
    wrapped = json.loads(PROXY_COMMAND.wrap(settings.encode()))
    assert wrapped["mcp"]["servers"]["a"]["args"][-2:] == ["--", "b"]
    both = '{"mcpServers": {}, "servers": {"a": {"command": "b"}}}'
    wrapped = json.loads(PROXY_COMMAND.wrap(both.encode()))
    assert wrapped["servers"]["a"]["args"][-2:] == ["--", "b"]


ODD = [
    '{"servers": {"a": {"headers": {"X": "y"}, "n": 1, "url": "https://e/mcp"}}}',
    '{"servers": {"a": {"url": "https://e/mcp", "headers": {"X": "y"}, "headers": {"X": "y"}}}}',
    '{"servers": {"a": {"n": 1, "url": "https://e/mcp" // a, }\r\n, "headers": {"X": "y",},\r\n}}}',
    '{"servers": {"a": {"url": "https://e/mcp", /* , */ "n": 1, "headers": {"X": "y"} /**/}}}',
]


@pytest.mark.parametrize("text", ODD)
def test_server_at_a_url_is_put_behind_the_proxy_wherever_its_members_are(
    config: Path, text: str
) -> None:
    config.write_bytes(text.encode())
    assert run(config) == 0
    (server,) = read_servers(config.read_bytes())
    args = ["proxy", "--session", "demo", "--upstream", "https://e/mcp", "--header", "X: y"]
    number = {"n": 1} if '"n"' in text else {}
    assert server.values == {"command": "/opt/bin/pagefault", "args": args, **number}
    assert run(config, undo=True) == 0
    assert config.read_bytes() == text.encode()


HOSTILE = {
    "comments between": '{"servers": {"a": {"command": "b"},' + "/* , */\n" * 20_000 + "}}",
    "an open comment": '{"servers": {' + "/*" * 100_000,
    "an open string": '{"servers": {"' + '\\"' * 100_000,
    "open strings": '"' * 200_001,
    "commas": '{"servers": {' + ", " * 100_000,
    "commas and comments": '{"servers": [' + ",/*x*/" * 40_000,
    "lines of comments": '{"servers": {},' + ",//\n" * 40_000,
    "depth": '{"servers": ' + "[" * 200_000,
}


@pytest.mark.parametrize("shape", HOSTILE)
def test_hostile_text_is_read_in_time(config: Path, shape: str) -> None:
    config.write_text(HOSTILE[shape])
    assert run(config) == (0 if shape == "comments between" else 2)


def test_second_time_changes_nothing_and_undo_gives_the_bytes_back(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [run(config), run(config)] == [0, 0]
    assert "nothing to change" in capsys.readouterr().out
    assert config.with_name("hosts.json.before-pagefault").read_text() == CLAUDE
    assert run(config, undo=True) == 0
    assert config.read_text() == CLAUDE
    assert [path.name for path in config.parent.iterdir()] == ["hosts.json"]
    assert run(config, undo=True) == 2


def test_files_are_on_the_disk_before_they_have_their_names(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, bytes]] = []
    fsync, rename = os.fsync, os.replace

    def recorded_fsync(descriptor: int) -> None:
        done.append(("synced", Path(f"/proc/self/fd/{descriptor}").read_bytes()))
        fsync(descriptor)

    def recorded_rename(source: Path, target: Path) -> None:
        done.append((target.name, source.read_bytes()))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "replace", recorded_rename)
    run(config)
    before, after = CLAUDE.encode(), config.read_bytes()
    kept, changed = (
        [("synced", before), (BACKUP, before)],
        [("synced", after), (config.name, after)],
    )
    assert done == [*kept, *changed]


def test_file_that_was_changed_since_is_not_undone(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(config)
    changed = config.read_text().replace("dark", "light")
    config.write_text(changed)
    assert run(config, undo=True) == 2
    assert "the file was edited after" in capsys.readouterr().err
    assert config.read_text() == changed


def test_servers_that_differ_in_their_options_are_given_back(config: Path) -> None:
    run(config)
    text = config.read_text().replace('"--no-tools", "--"', '"--max-text", "900", "--"')
    config.write_text(text)
    assert run(config, undo=True) == 0
    assert config.read_text() == CLAUDE


def test_server_that_is_no_longer_put_behind_the_proxy_is_given_back(config: Path) -> None:
    config.write_text(f'{{"servers": {{"a": {json.dumps(LEFT_ALONE["oauth"][0])}}}}}')
    before = config.read_bytes()
    config.with_name(BACKUP).write_bytes(before)
    args = ["proxy", "--session", "demo", "--upstream", "https://mcp.example.com/mcp"]
    after = json.dumps({"command": "pagefault", "args": args}, indent=2)
    config.write_text(f'{{"servers": {{"a": {after}}}}}')
    assert run(config, undo=True) == 0
    assert config.read_bytes() == before


BACKUP = "hosts.json.before-pagefault"


def test_file_that_was_given_back_by_hand_and_edited_is_kept_as_it_is_then(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(config)
    edited = CLAUDE.replace("dark", "light")
    config.write_text(edited)
    assert run(config) == 0
    assert f"changed; the original is in {BACKUP}\n" in capsys.readouterr().out
    assert config.with_name(BACKUP).read_text() == edited
    assert run(config, undo=True) == 0
    assert config.read_text() == edited


def test_backup_is_replaced_if_none_of_its_servers_is_behind_the_proxy(config: Path) -> None:
    run(config)
    ours = {"command": "pagefault", "args": ["proxy", "--session", "demo", "--", "more"]}
    edited = json.dumps({"mcpServers": {"by hand": ours, "time": {"command": "uvx"}}})
    config.write_text(edited)
    assert run(config) == 0
    assert config.with_name(BACKUP).read_text() == edited


def test_backup_of_the_first_time_stays_when_servers_are_added(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(config)
    added = config.read_text().replace('"time"', '"more": {"command": "more"}, "time"')
    config.write_text(added)
    capsys.readouterr()
    assert run(config) == 0
    output = capsys.readouterr().out
    saved = "the file from before the first change"
    assert output == f"{config}: changed; {saved} is in {BACKUP}\n"
    assert config.with_name(BACKUP).read_text() == CLAUDE


def test_file_behind_a_link_is_changed_and_kept_where_it_is(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "mcp.json").symlink_to(config)
    assert run(folder / "mcp.json") == 0
    assert [path.name for path in folder.iterdir()] == ["mcp.json"]
    assert config.with_name(BACKUP).stat().st_mode & 0o777 == 0o600
    assert run(config, undo=True) == 0
    assert (folder / "mcp.json").is_symlink()
    assert config.read_text() == CLAUDE


def test_file_that_cannot_be_written_stays_and_nothing_is_left_beside_it(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, usual[1]))
    try:
        assert run(config) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert capsys.readouterr().err == f"pagefault: cannot change {config}: File too large\n"
    assert [(path.name, path.read_text()) for path in config.parent.iterdir()] == [
        ("hosts.json", CLAUDE)
    ]


@pytest.mark.parametrize("words", [[], ["--no-tools"], ["--max-text", "2000", "--prefix", "m_"]])
def test_options_are_those_of_every_server_and_are_not_needed_to_undo(
    config: Path, words: list[str]
) -> None:
    proxy_command = ProxyCommand("/opt/bin/pagefault", ["--session", "demo", *words])
    rewrite(config, proxy_command, undo=False, dry_run=False)
    servers = json.loads(config.read_text())["mcpServers"].values()
    assert all({"--session", *words}.issubset(server["args"]) for server in servers)
    assert run(config, undo=True) == 0
    assert config.read_text() == CLAUDE


SECRETIVE = r"""{
  // "old": {"command": "npx", "env": {"API_KEY": "sk-SECRET"}},
  "mcpServers": {
    "db": {
      "command": "npx",
      "args": ["-y", "@mcp/server-postgres", "postgresql://bob:SECRET@db/x", "--api-key=SECRET"],
      "env": {"KEY": "SECRET\/\u00e9"} /* KEY was SECRET */
    },
    "git": {"command": "docker", "args": ["run", "--rm", "-e", "PAT=SECRET", "-eB=SECRET"]},
    "line": {"command": "npx server --token SECRET"},
    "local": {
      "command": "/usr/bin/npx",
      "args": ["-H", "Authorization: SECRET", "--header=X: SECRET", "--pass", "secret"]
    },
    "zap": {
      "url": "https://bob:SECRET@example.com/SECRET/mcp?a=1&api_key=SECRET",
      "headers": {"Authorization": "Bearer SECRET", "SECRET1": "x"}
    }
  },
  "theme": "SECRET"
}
"""
PROXY = '"proxy", "--session", "demo",'
OTHER = f'{PROXY} "--no-tools",'
LAST = '"--header", "•••: •••"'
SHOWN = f"""
  "db"
-   "command": "npx"
-   "args": ["-y", "@mcp/server-postgres", "•••", "--api-key=•••"]
+   "command": "/opt/bin/pagefault"
+   "args": [{PROXY} "--", "npx", "-y", "@mcp/server-postgres", "•••", "--api-key=•••"]
  "git"
-   "command": "docker"
-   "args": ["•••", "--rm", "-e", "•••", "•••"]
+   "command": "/opt/bin/pagefault"
+   "args": [{OTHER} "--", "docker", "•••", "--rm", "-e", "•••", "•••"]
  "line"
-   "command": "•••"
-   "args": []
+   "command": "/opt/bin/pagefault"
+   "args": [{OTHER} "--", "•••"]
  "local"
-   "command": "/usr/bin/npx"
-   "args": ["-H", "•••", "--header=•••", "--pass", "•••"]
+   "command": "/opt/bin/pagefault"
+   "args": [{OTHER} "--", "/usr/bin/npx", "-H", "•••", "--header=•••", "--pass", "•••"]
  "zap"
-   "url": "https://•••"
-   "headers": {{"Authorization": "•••", "•••": "•••"}}
+   "command": "/opt/bin/pagefault"
+   "args": [{OTHER} "--upstream", "https://•••", "--header", "Authorization: •••", {LAST}]
"""


def test_difference_shows_nothing_that_may_be_secret(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(SECRETIVE)
    assert run(config, dry_run=True) == 0
    assert capsys.readouterr().out == f"{config}{SHOWN}"
    assert config.read_text() == SECRETIVE


def test_difference_of_undo_is_the_same_backwards(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(SECRETIVE)
    run(config)
    wrapped = config.read_bytes()
    capsys.readouterr()
    assert run(config, undo=True, dry_run=True) == 0
    output = capsys.readouterr().out.splitlines()
    swapped = {"+": "-", "-": "+"}
    backwards = [swapped.get(line[0], line[0]) + line[1:] for line in SHOWN[1:].splitlines()]
    assert sorted(output[1:]) == sorted(backwards)
    assert config.read_bytes() == wrapped


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("{}", "no mcpServers"),
        ("[]", "no mcpServers"),
        ('{"servers": "\udcff"}', "is not in UTF-8: save it in that encoding"),
        ('{"servers": 1}', "no servers were found"),
        ('{"mcpServers": {}}', "no servers were found"),
        ('{"mcpServers": {"a": {"command": 1}, "b": 2}}', "nothing to change"),
    ],
)
def test_file_that_is_no_configuration_is_not_changed(
    config: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    content = text.encode("utf-8", "surrogateescape")
    config.write_bytes(content)
    assert run(config) == (0 if message in ("nothing to change", "no servers were found") else 2)
    captured = capsys.readouterr()
    assert message in captured.out + captured.err
    assert config.read_bytes() == content


def test_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "absent.json") == 2
    assert "absent.json: No such file" in capsys.readouterr().err


def wrap(servers: dict[str, object]) -> dict[str, Any]:
    """Return wrapped servers, after a check that a second wrapping changes nothing."""
    text = PROXY_COMMAND.wrap(json.dumps({"mcpServers": servers}).encode())
    assert PROXY_COMMAND.wrap(text) == text
    return dict(json.loads(text)["mcpServers"])


@pytest.mark.parametrize(
    ("first", "brought"),
    [
        ({"command": "/opt/bin/pagefault", "args": ["mcp"]}, False),
        ({"command": "uvx", "args": ["--from", "pagefault", "pagefault", "mcp"]}, False),
        ({"url": "http://127.0.0.1:8000/mcp?session=a", "headers": {"Authorization": "b"}}, False),
        ({"url": "http://127.0.0.1:8000/mcp?session=a"}, False),
        ({"url": "http://127.0.0.1:8000/mcp/?session=a"}, False),
        ({"url": "https://m.example/mcp", "headers": {"Authorization": "Bearer pf_a"}}, False),
        ({"url": "https://m.example/mcp", "headers": {"A": "${env:PAGEFAULT_API_KEY}"}}, False),
        ({"command": "pagefault", "args": ["proxy", "--session", "demo", "--", "a"]}, False),
        ({"command": "pagefault", "args": ["proxy", "--", "a", "--no-tools"]}, False),
        ({"command": "pagefault", "args": ["proxy", "--no-tools", "--", "a"]}, True),
        ({"command": "pagefault", "args": ["mcp"], "disabled": True}, True),
        ({"url": "https://example.com/mcp"}, True),
    ],
)
def test_tools_of_the_memory_come_with_one_server_only(
    first: dict[str, object], *, brought: bool
) -> None:
    after = wrap({"memory": first, "b": {"command": "b"}, "c": {"command": "c"}})
    append_tools = ["--no-tools" not in after[name]["args"] for name in "bc"]
    assert append_tools == [brought, False]
    assert after["memory"] == first


def test_server_that_is_disabled_brings_no_tools() -> None:
    after = wrap({"a": {"command": "a", "disabled": True}, "b": {"command": "b"}})
    assert ["--no-tools" in item["args"] for item in after.values()] == [True, False]


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("C:\\Tools\\Pagefault.exe", []),
        ("uvx", ["pagefault@latest"]),
        ("uvx", ["--python", "3.12", "pagefault[video]==1.0"]),
        ("/usr/bin/uv", ["tool", "run", "pagefault"]),
        ("pipx", ["run", "pagefault"]),
        ("python3.12", ["-m", "app.cli.main"]),
        ("cmd", ["/c", "pagefault"]),
    ],
)
def test_proxy_is_recognised_however_it_is_started(command: str, args: list[str]) -> None:
    servers = {"a": {"command": command, "args": [*args, "proxy", "--session", "s", "--", "x"]}}
    assert wrap({**servers}) == servers


@pytest.mark.parametrize("name", ["url", "serverUrl", "httpUrl"])
def test_server_at_a_url_with_headers_is_put_behind_the_proxy_in_every_spelling(name: str) -> None:
    server = {name: "https://example.com/mcp", "headers": {"X": "y"}, "args": [], "timeout": 5}
    args = ["proxy", "--session", "demo", "--upstream", server[name], "--header", "X: y"]
    after = {"command": "/opt/bin/pagefault", "args": args, "timeout": 5}
    assert wrap({"a": server}) == {"a": after}


LOGIN = "it has a URL at which the host logs in by itself, if it has to"
ASCII = "its headers are not all in printable ASCII"
LEFT_ALONE = {
    "oauth": ({"url": "https://mcp.example.com/mcp"}, LOGIN),
    "client": ({"url": "https://a.example", "headers": {"X": "y"}, "auth": {}}, LOGIN),
    "ws": ({"url": "ws://a.example", "headers": {"X": "y"}}, "its URL is not one of HTTP"),
    "five": ({"command": "a", "args": 5}, "its args are not a list of strings"),
    "line": ({"command": "a", "args": "foo bar"}, "its args are not a list of strings"),
    "items": ({"command": "a", "args": [True, None]}, "its args are not a list of strings"),
    "list": ({"command": ["npx"]}, "its command is not a string"),
    "header": (
        {"url": "https://a", "headers": {"X": 5}},
        "its headers are not an object of strings",
    ),
    "accent": ({"url": "https://a", "headers": {"X": "é"}}, ASCII),
    "lines": ({"url": "https://a", "headers": {"X": "a\nb"}}, ASCII),
    "colon": ({"url": "https://a", "headers": {"X:Y": "a"}}, ASCII),
    "port": ({"url": "https://a:99999", "headers": {"X": "y"}}, "its URL is not one of HTTP"),
    "label": ({"url": "https://xn--.a", "headers": {"X": "y"}}, "its URL is not one of HTTP"),
    "module": (
        {"command": "python", "env": {"PYTHONPATH": "/a"}},
        "its env has PYTHONPATH, by which the proxy might not start",
    ),
    "boxed": (
        {"command": "a", "sandboxEnabled": True},
        "it is in a sandbox of the host, from which the proxy could not store",
    ),
    "none": ("x", "it has no command and no URL"),
    "memory": ({"command": "pagefault", "args": ["mcp"]}, "it is the memory itself"),
}


def test_server_that_would_not_work_behind_the_proxy_is_left_alone_with_a_reason(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = json.dumps({"servers": {name: server for name, (server, _) in LEFT_ALONE.items()}})
    config.write_text(content)
    assert run(config) == 0
    lines = [f'"{name}" is left alone: {why}' for name, (_, why) in LEFT_ALONE.items()]
    assert capsys.readouterr().out.splitlines() == [f"{config}: nothing to change", *lines]
    assert config.read_text() == content


def test_half_a_pair_of_surrogates_stays() -> None:
    text = PROXY_COMMAND.wrap(
        rb'{"servers": {"a": {"command": "b", "args": ["\ud83d", "\u00e9"]}}}'
    )
    assert text.endswith(b'"b", "\\ud83d", "\xc3\xa9"]}}}')


def test_mark_at_the_beginning_of_the_file_stays(config: Path) -> None:
    content = b"\xef\xbb\xbf" + CLAUDE.encode()
    config.write_bytes(content)
    assert run(config) == 0
    assert config.read_bytes().startswith(b"\xef\xbb\xbf{")
    assert run(config, undo=True) == 0
    assert config.read_bytes() == content
