"""The `pagefault` command as a user meets it: real processes, real output, real exit statuses."""

import base64
import hashlib
import json
import re
import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.config.settings import Settings
from app.version import VERSION
from tests.e2e.stored_state import EmbeddedState
from tests.kit import media
from tests.kit.loaded_command import LoadedCommand
from tests.kit.process import WAIT_SECONDS, PagefaultProcess, run_command
from tests.kit.schemas import load_dump

ESCAPE = "\x1b[2J\x1b[31m"

OPTIONS = {
    "serve": ("--host", "--port", "--data-dir", "--env-file", "--workers"),
    "migrate": ("--data-dir", "--env-file", "--plan"),
    "ingest": (
        "--session",
        "--tool-name",
        "--tool-call-id",
        "--fork",
        "--project",
        "--data-dir",
        "--env-file",
    ),
    "doctor": ("--target", "--dialect", "--max-tokens", "--output", "--json", "--in-place"),
    "export": (
        *("--as", "--output", "--folder", "--max-tokens"),
        *("--project", "--data-dir", "--env-file"),
    ),
    "mcp": ("--session", "--url", "--header", "--project", "--data-dir", "--env-file"),
    "proxy": (
        *("--session", "--upstream", "--header", "--transport", "--listen"),
        *("--config", "--undo", "--dry-run", "--max-bytes", "--max-images", "--max-tokens"),
        *("--max-text", "--max-image-pixels", "--tools", "--no-tools"),
        *("--prefix", "--files", "--collect", "--url"),
        *("--project", "--data-dir", "--env-file"),
    ),
    "page show": (
        *("--download", "--level", "--output", "--url"),
        *("--project", "--data-dir", "--env-file"),
    ),
    "page list": (
        *("--session", "--modality", "--limit", "--json"),
        *("--project", "--data-dir", "--env-file"),
    ),
    "search": ("--session", "--limit", "--json", "--project", "--data-dir", "--env-file"),
    "stats": ("--json", "--project", "--data-dir", "--env-file"),
    "status": ("--json", "--data-dir", "--env-file"),
    "page download": ("--level", "--output", "--project", "--data-dir", "--env-file"),
    "tail": ("--session", "--after", "--json", "--project", "--data-dir", "--env-file"),
    "gc": ("--grace", "--dry-run", "--data-dir", "--env-file"),
    "fsck": ("--repair", "--data-dir", "--env-file"),
    "keys create": ("--project", "--label", "--data-dir", "--env-file"),
    "keys list": ("--data-dir", "--env-file"),
    "keys revoke": ("--data-dir", "--env-file"),
}
_STORES = ["PAGEFAULT_DATA_DIR or ./data", ".env in --data-dir"]
DEFAULTS = {
    "serve": ["127.0.0.1", "8000", *_STORES, "1"],
    "migrate": _STORES,
    "proxy": [
        "auto",
        "one host, over pipes",
        "runs a proxy",
        "256 MiB",
        "all",
        "no limit",
        "8000",
        "any",
        "tools",
        "nothing",
        "tools get no files by their paths",
        "only files inside results are stored",
        "one that your proxies share",
        "PAGEFAULT_DEFAULT_PROJECT",
        "PAGEFAULT_DATA_DIR or ~/.pagefault/data",
        _STORES[1],
    ],
    "doctor": ["the dialect of the history", "that of most messages", "no limit"],
    "ingest": ["cli", "derived from the content", "PAGEFAULT_DEFAULT_PROJECT", *_STORES],
}


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@dataclass(frozen=True)
class Locked:
    """A service that wants keys, and one that was made before it was served for the first time."""

    process: PagefaultProcess
    data_dir: Path
    key: str

    def status_of(self, key: str) -> int:
        """Return the answer to a request with a key."""
        with self.process.client(key) as client:
            return client.get("/api/resources").status_code


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    data_dir = tmp_path_factory.mktemp("locked") / "data"
    options = ("--project", "demo", "--label", f"[red]CI{ESCAPE}", "--data-dir", str(data_dir))
    made = run_command("keys", "create", *options)
    assert (made.returncode, made.stderr) == (0, "")
    with PagefaultProcess(data_dir, env={"PAGEFAULT_AUTH": "api-key"}) as process:
        yield Locked(process, data_dir, made.stdout.removesuffix("\n"))


def sentence(text: str) -> str:
    """The one line of text that a user gets."""
    assert len(text.strip().splitlines()) == 1, text
    return text.strip()


def ingest(pagefault: LoadedCommand, data_dir: Path, value: object, *options: str) -> str:
    """Return the output of `ingest -` for a JSON value."""
    done = pagefault.run(
        *("ingest", "-", "--session", "s-1", "--data-dir", str(data_dir), *options),
        given=json.dumps(value),
    )
    assert (done.returncode, done.stderr.strip()) == (0, "")
    return done.stdout


def test_help_lists_every_option(pagefault: LoadedCommand) -> None:
    helped = {name: pagefault.run(*name.split(), "--help") for name in OPTIONS}
    listed = {
        name: re.findall(r"(--[a-z-]+) ", shown.stdout.partition("─ Options ─")[2])
        for name, shown in helped.items()
    }
    assert {shown.returncode for shown in helped.values()} == {0}
    assert listed == {name: [*options, "--help"] for name, options in OPTIONS.items()}


def test_help_says_what_is_the_default(pagefault: LoadedCommand) -> None:
    env = {"TERMINAL_WIDTH": "200"}
    shown = {name: pagefault.run(name, "--help", env=env).stdout for name in DEFAULTS}
    said = {name: re.findall(r"\[default: \(?([^])]*)\)?\]", text) for name, text in shown.items()}
    assert said == DEFAULTS


@pytest.mark.parametrize("command", ["", "keys"])
def test_help_names_every_command(pagefault: LoadedCommand, command: str) -> None:
    shown = pagefault.run(*command.split(), "--help").stdout.partition("─ Commands ─")[2]
    listed = set(re.findall(r"^│ ([a-z]+) ", shown, re.MULTILINE))
    below = {name.removeprefix(command).split()[0] for name in OPTIONS if name.startswith(command)}
    assert listed == below


def test_two_workers_serve_and_both_end_when_asked(data_dir: Path) -> None:
    with PagefaultProcess(data_dir, options=["--workers", "2"], is_installed=True) as process:
        process.wait_for_log(re.compile("Application startup complete"), times=2)
        with process.client() as client:
            made = client.post("/api/resources", content=b"to be kept")
            read = client.get(f"{made.headers['location']}/content")
            assert (made.status_code, read.content) == (201, b"to be kept")
        # `stop` returns when the last process has let go of the common standard error.
        assert process.stop() in (0, -signal.SIGTERM)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", process.port), timeout=WAIT_SECONDS)


def test_serve_says_where_it_is_and_finishes_what_is_in_flight_before_it_ends(
    data_dir: Path,
) -> None:
    body = media.noise_bytes(300_000)
    head = (
        "POST /api/resources HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    process = PagefaultProcess(data_dir, is_installed=True)
    with process:
        assert process.logs.splitlines()[0] == (
            f"Pagefault is at http://127.0.0.1:{process.port}  (docs: /docs)"
        )
        with process.client() as client:
            assert client.get("/readyz").json()["status"] == "ready"
        address = ("127.0.0.1", process.port)
        with socket.create_connection(address, timeout=WAIT_SECONDS) as connection:
            connection.sendall(head.encode())
            assert connection.recv(1_024).startswith(b"HTTP/1.1 100 ")
            connection.sendall(body[:100_000])
            process.terminate()
            process.wait_for_log(re.compile("Shutting down"))
            connection.sendall(body[100_000:])
            answer = b"".join(iter(lambda: connection.recv(65_536), b""))
        assert process.stop() in (0, -signal.SIGTERM)
    assert not re.search("Traceback|exc_info|exception", process.logs)
    assert answer.startswith(b"HTTP/1.1 201 ")
    state = EmbeddedState(data_dir)
    (row,) = state.rows()
    location = f"/api/resources/{row.resource_id}".encode()
    assert re.search(rb"(?i)\r\nlocation: (\S+)", answer)[1] == location  # type: ignore[index]
    assert b"".join(state.chunks(row)) == body


def test_listening_on_every_address_without_authentication_is_refused(
    pagefault: LoadedCommand, data_dir: Path
) -> None:
    refused = pagefault.run("serve", "--host", "0.0.0.0", "--data-dir", str(data_dir))  # noqa: S104
    assert (refused.returncode, refused.stdout) == (2, "")
    assert sentence(refused.stderr) == (
        "pagefault: listening on 0.0.0.0 without authentication is refused: set "
        "PAGEFAULT_AUTH=api-key and make a key with `pagefault keys create --project NAME`, "
        "or listen on 127.0.0.1"
    )
    assert not data_dir.exists()


@pytest.mark.parametrize(
    ("is_option", "started_by", "told"),
    [
        (True, None, "Name another one, such as `--port {0}`; `--port 0` takes a free one."),
        (
            *(False, None),
            "Name another one: `--port {0}`, or PAGEFAULT_PORT={0}; `--port 0` takes a free one.",
        ),
        (False, "make run", "Name another one: `make run PORT={0}`."),
        (True, "make run", "Name another one: `make run PORT={0}`."),
    ],
)
def test_a_taken_port_is_refused_with_how_to_name_another(
    pagefault: LoadedCommand, data_dir: Path, is_option: bool, started_by: str | None, told: str
) -> None:
    env = {"PAGEFAULT_STARTED_BY": started_by} if started_by else {}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = ("--port", str(port)) if is_option else ()
        refused = pagefault.run(
            *("serve", *options, "--data-dir", str(data_dir)),
            env=env if is_option else {**env, "PAGEFAULT_PORT": str(port)},
        )
    told = told.format(port + 1)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert sentence(refused.stderr) == (
        f"pagefault: cannot listen on 127.0.0.1:{port}: Address already in use. {told}"
    )
    assert not data_dir.exists()


def test_a_host_that_is_not_here_is_not_told_as_a_taken_port(
    pagefault: LoadedCommand, data_dir: Path
) -> None:
    hosts = ("a..b", "192.0.2.1")
    # With a way to sign in, it would listen on any address.
    env = {"PAGEFAULT_AUTH": "api-key"}
    for host in hosts:
        options = ("--host", host, "--port", "8213", "--data-dir", str(data_dir))
        refused = pagefault.run("serve", *options, env=env)
        assert (refused.returncode, refused.stdout) == (1, "")
        told = sentence(refused.stderr)
        assert told.startswith(f"pagefault: cannot listen on {host}:8213: ")
        assert told.endswith(
            ". Name another host: `--host 127.0.0.1`, or PAGEFAULT_HOST=127.0.0.1."
        )
        assert "Unknown error" not in told
    assert not data_dir.exists()


def test_version_is_told_and_nothing_else(pagefault: LoadedCommand) -> None:
    told = pagefault.run("--version")
    assert (told.returncode, told.stdout, told.stderr) == (0, f"pagefault {VERSION}\n", "")


def test_a_data_directory_that_cannot_be_made_is_one_sentence(
    pagefault: LoadedCommand, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    data_dir = str(tmp_path / "file" / "data")
    commands = (
        "serve --port 0",
        "migrate",
        "keys list",
        "keys create --project p",
        "keys revoke x",
    )
    refused = [pagefault.run(*command.split(), "--data-dir", data_dir) for command in commands]
    assert [(item.returncode, data_dir in sentence(item.stderr)) for item in refused] == [
        (1, True)
    ] * len(commands)


def test_a_setting_that_makes_no_sense_is_named(pagefault: LoadedCommand, data_dir: Path) -> None:
    refused = pagefault.run(
        "serve", "--data-dir", str(data_dir), env={"PAGEFAULT_LIMITS__BODY_BYTES": "much"}
    )
    assert refused.returncode == 2
    assert sentence(refused.stderr).startswith("pagefault: PAGEFAULT_LIMITS__BODY_BYTES: ")


def test_a_key_made_before_the_first_serve_opens_the_service(locked: Locked) -> None:
    assert re.fullmatch(r"pf_[0-9a-z]{12}_[0-9A-Za-z]{32}_[0-9a-f]{8}", locked.key)
    assert (locked.status_of(locked.key), locked.status_of("pf_wrong")) == (200, 401)


def test_a_revoked_key_is_refused_at_once(locked: Locked, pagefault: LoadedCommand) -> None:
    where = ("--data-dir", str(locked.data_dir))
    revoked = pagefault.run("keys", "create", "--project", "demo", *where).stdout.strip()
    before = locked.status_of(revoked)
    key_id = revoked.split("_")[1]
    done = pagefault.run("keys", "revoke", key_id, *where)
    after = (locked.status_of(revoked), locked.status_of(locked.key))
    assert (before, done.returncode, done.stdout, after) == (
        *(200, 0, f"Revoked {key_id}.\n"),
        (401, 200),
    )


def test_revoking_an_unknown_key_fails(locked: Locked, pagefault: LoadedCommand) -> None:
    where = ("--data-dir", str(locked.data_dir))
    refused = pagefault.run("keys", "revoke", "nosuchkey", *where)
    assert (refused.returncode, refused.stdout, sentence(refused.stderr)) == (
        *(1, ""),
        "pagefault: there is no valid key nosuchkey",
    )


def test_the_list_of_keys_shows_no_secret_and_no_label_commands_the_terminal(
    locked: Locked, pagefault: LoadedCommand
) -> None:
    _, key_id, secret, checksum = locked.key.split("_")
    listed = pagefault.run("keys", "list", "--data-dir", str(locked.data_dir)).stdout
    sought = (key_id, "demo", "[red]CI", secret, checksum, "\x1b")
    assert {text: text in listed for text in sought} == {
        **dict.fromkeys((key_id, "demo", "[red]CI"), True),
        **dict.fromkeys((secret, checksum, "\x1b"), False),
    }


def test_a_name_that_no_project_can_have_is_refused(
    pagefault: LoadedCommand, data_dir: Path
) -> None:
    project = ("--project", "../demo", "--data-dir", str(data_dir))
    key = pagefault.run("keys", "create", *project)
    result = pagefault.run("ingest", "-", "--session", "s-1", *project, given="1")
    assert (key.returncode, key.stdout, result.returncode, result.stdout) == (2, "", 2, "")


def test_migrating_twice_changes_nothing_the_second_time(
    pagefault: LoadedCommand, data_dir: Path
) -> None:
    first = run_command("migrate", "--data-dir", str(data_dir))
    second = pagefault.run("migrate", "--data-dir", str(data_dir))
    revision = first.stdout.rpartition(" ")[2].strip().rstrip(".")
    assert (first.returncode, first.stdout, second.returncode, second.stdout) == (
        *(0, f"Migrated the database from nothing to revision {revision}.\n"),
        *(0, f"The database is up to date (revision {revision}).\n"),
    )


def test_plan_of_a_migration_shows_statements_and_changes_nothing(
    pagefault: LoadedCommand, data_dir: Path
) -> None:
    data_dir.mkdir(exist_ok=True)
    load_dump(Settings(data_dir=data_dir), "0001")
    plan = pagefault.run("migrate", "--plan", "--data-dir", str(data_dir))
    again = pagefault.run("migrate", "--plan", "--data-dir", str(data_dir))
    line = "\n0003a\n  CREATE INDEX sessions, about 4 rows [writer]: writers wait while the rows"
    assert line in plan.stdout
    assert (plan.returncode, again.stdout) == (0, plan.stdout)
    migrated = pagefault.run("migrate", "--data-dir", str(data_dir))
    assert migrated.stdout.startswith("Migrated the database from 0001 to revision ")
    current = pagefault.run("migrate", "--plan", "--data-dir", str(data_dir))
    assert (current.returncode, current.stdout) == (0, "The database is up to date.\n")


def test_ingesting_a_file_shows_its_parts_and_stores_it_once(
    pagefault: LoadedCommand, data_dir: Path, tmp_path: Path
) -> None:
    file = tmp_path / "result.json"
    image = {"type": "image", "data": base64.b64encode(media.png(noise=True)).decode()}
    content = [{"type": "text", "text": "Seen:"}, {**image, "mimeType": "image/png"}]
    file.write_text(json.dumps({"content": content}))
    line = ("ingest", str(file), "--session", "s-1", "--data-dir", str(data_dir))
    first = run_command(*line, env={"COLUMNS": "200"}).stdout
    second = pagefault.run(*line).stdout
    rows = [re.split(r"\s*│\s*", row.strip("│ ")) for row in first.splitlines() if "│" in row]
    assert [row[:3] for row in rows] == [["0", "text", ""], ["1", "image", "image/png"]]
    assert re.fullmatch(r"@blob:[0-9a-f]{32}", rows[1][-1])
    identity, told = first.splitlines()[-1].split(" ", 1)
    assert told == "stored as seq 1 of session s-1; 1 resource"
    assert second.splitlines()[-1] == f"{identity} was {told.replace('stored', 'stored before')}"


_ASKED = {"type": "user", "message": {"role": "user", "content": "look"}}
_SAID = {"type": "assistant", "message": {"id": "m", "role": "assistant", "content": "A cat."}}
_ITEM = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]}


@pytest.mark.parametrize(
    ("lines", "more"),
    [
        (
            [
                {"type": "file-history-snapshot", "messageId": "1", "snapshot": {}},
                {"uuid": "1", "parentUuid": None, **_ASKED},
            ],
            {"uuid": "2", "parentUuid": "1", **_SAID},
        ),
        (
            [
                {"type": "session_meta", "payload": {"id": "s"}},
                {"type": "response_item", "payload": _ITEM},
            ],
            {"type": "response_item", "payload": {**_ITEM, "role": "assistant"}},
        ),
    ],
)
def test_transcript_becomes_a_session_that_grows_with_it(
    pagefault: LoadedCommand, data_dir: Path, tmp_path: Path, lines: list[object], more: object
) -> None:
    file = tmp_path / "s.jsonl"
    command = ("ingest", str(file), "--session", "s-1", "--data-dir", str(data_dir))
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    first = pagefault.run(*command)
    last_seq = "session s-1 has the conversation up to seq"
    assert first.stdout == f"{last_seq} 1: 1 message appended; 1 line of other kinds\n", (
        first.stderr
    )
    assert pagefault.run(*command).stdout == first.stdout
    with file.open("a") as source:
        source.write(f"{json.dumps(more)}\n")
    grown = pagefault.run(*command).stdout
    assert grown == f"{last_seq} 2: 1 message appended; 1 line of other kinds\n"


def test_transcript_with_a_cut_line_is_refused_by_one_sentence(
    pagefault: LoadedCommand, data_dir: Path, tmp_path: Path
) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(f'{json.dumps({"uuid": "1", "parentUuid": None, **_ASKED})}\n{{"ty')
    done = pagefault.run("ingest", str(file), "--session", "s-1", "--data-dir", str(data_dir))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{file} is not JSON (line 2, " in done.stderr
    assert f"`pagefault doctor {file}` examines it." in done.stderr


def test_result_in_another_spelling_is_the_same_call(
    pagefault: LoadedCommand, data_dir: Path
) -> None:
    line = ("ingest", "-", "--session", "s-1", "--data-dir", str(data_dir))
    spellings = ('{"a": "x", "b": [1]}', '{"b":[1.0],"a":"\\u0078"}\n', '{"a": "y", "b": [1]}')
    told = [pagefault.run(*line, given=spelling).stdout.splitlines()[-1] for spelling in spellings]
    identities, ends = zip(*(name.split(" ", 1) for name in told), strict=True)
    assert (identities[0] == identities[1], identities[0] == identities[2]) == (True, False)
    assert ends == (
        "stored as seq 1 of session s-1; 0 resources",
        "was stored before as seq 1 of session s-1; 0 resources",
        "stored as seq 2 of session s-1; 0 resources",
    )


def test_request_in_a_file_has_its_call_and_result_in_any_dialect(
    pagefault: LoadedCommand, data_dir: Path
) -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "It is ten."}
    body = {"toolName": "f", "toolCallId": "c", "callMessage": call, "result": output}
    line = ("ingest", "-", "--session", "s-1", "--data-dir", str(data_dir))
    told = pagefault.run(*line, given=json.dumps(body)).stdout
    assert "It is ten." in told
    assert told.splitlines()[-1].endswith(" stored as seq 2 of session s-1; 0 resources")


def test_result_under_another_tool_name_is_refused_with_what_differs(
    pagefault: LoadedCommand, data_dir: Path
) -> None:
    line = ("ingest", "-", "--session", "s-1", "--data-dir", str(data_dir))
    stored = pagefault.run(*line, given='"one"').stdout.splitlines()[-1].split(" ")[0]
    refused = pagefault.run(*line, "--tool-name", "other", given='"one"')
    assert (refused.returncode, refused.stdout) == (1, "")
    assert sentence(refused.stderr) == (
        "pagefault: This tool call of the session was already answered with another result "
        f"({stored}). Requests are compared by their JSON: key order, white space and escapes make "
        "no difference. Of the first one only a digest is kept: `toolName` differs, and whether "
        "other members do as well cannot be said. Read the record, and compare. A call has "
        "one result. Where another call has the same id, append the message that makes it first, "
        "send it as callMessage, or say newCall=true. (/toolName is not what it is in the record)"
    )


def test_result_that_an_earlier_version_named_by_its_bytes_keeps_that_name(
    pagefault: LoadedCommand, data_dir: Path
) -> None:
    content = '{"b": 1, "a": 2}'
    old_name = f"cli-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    line = ("ingest", "-", "--session", "s-1", "--data-dir", str(data_dir))
    pagefault.run(*line, "--tool-call-id", old_name, given=content)
    again = pagefault.run(*line, given=content)
    assert again.stdout.splitlines()[-1].endswith(
        " was stored before as seq 1 of session s-1; 0 resources"
    )


def test_what_was_piped_in_is_served_afterwards_with_the_names_of_the_call(
    pagefault: LoadedCommand, data_dir: Path
) -> None:
    options = ("--tool-name", "greet", "--tool-call-id", "call-1")
    ingest(pagefault, data_dir, "hello", *options)
    whole_request = {"toolName": "greet", "toolCallId": "call-2", "result": "hello"}
    ingest(pagefault, data_dir, whole_request)
    with PagefaultProcess(data_dir) as process, process.client() as client:
        messages = client.get("/api/sessions/s-1/messages").json()["items"]
    kept = ("seq", "toolCallId", "name", "sanitized")
    assert [{key: message[key] for key in kept} for message in messages] == [
        greeting(1, "call-1"),
        greeting(2, "call-2"),
    ]


def test_whole_request_that_is_piped_in_has_the_message_of_its_call(
    pagefault: LoadedCommand, data_dir: Path
) -> None:
    call = '{"role":"assistant","content":"I greet.","weights":[1.10]}'
    request = f'{{"toolName":"greet","toolCallId":"call-1","callMessage":{call},"result":"hello"}}'
    told = pagefault.run(
        "ingest", "-", "--session", "s-1", "--data-dir", str(data_dir), given=request
    )
    assert " stored as seq 2 of session s-1" in told.stdout
    with PagefaultProcess(data_dir) as process, process.client() as client:
        assert call[1:-1] in client.get("/api/sessions/s-1/messages").text


def greeting(seq: int, call_id: str) -> dict[str, object]:
    meta = {"toolName": "greet", "toolCallId": call_id, "success": True}
    sanitized = {"parts": [{"type": "text", "text": "hello"}], "resources": [], "meta": meta}
    return {"seq": seq, "toolCallId": call_id, "name": "greet", "sanitized": sanitized}


@pytest.mark.parametrize("content", ["", "nope", '{"a":', "\udcff", "NaN"])
def test_ingesting_what_is_not_json_is_one_sentence(
    pagefault: LoadedCommand, content: str, data_dir: Path
) -> None:
    options = ("--session", "s-1", "--data-dir", str(data_dir))
    refused = pagefault.run("ingest", "-", *options, given=content)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert sentence(refused.stderr).startswith("pagefault: the file is not a tool result: ")


def test_ingesting_a_file_that_is_not_there_is_one_sentence(
    pagefault: LoadedCommand, data_dir: Path
) -> None:
    missing = str(data_dir / "missing.json")
    refused = pagefault.run("ingest", missing, "--session", "s-1", "--data-dir", str(data_dir))
    assert (refused.returncode, refused.stdout, sentence(refused.stderr)) == (
        *(1, ""),
        f"pagefault: cannot read {missing}: No such file or directory",
    )


@pytest.mark.promise(
    "security.md#logs",
    "Names and texts cannot send commands to a terminal",
    kept_by="app/cli/terminal.py",
    tried="0 escape sequences",
)
def test_hostile_names_and_texts_cannot_command_the_terminal(
    pagefault: LoadedCommand, data_dir: Path
) -> None:
    name = f"[red]{ESCAPE}\u202egnp.mp4"
    video = base64.b64encode(media.mp4()).decode()
    block = {"type": "resource", "resource": {"uri": f"file:///{name}", "blob": video}}
    named = {"data": video, "mimeType": "video/mp4", "filename": name}
    shown = ingest(
        pagefault,
        data_dir,
        {"content": [block, {"type": "text", "text": name}, named]},
        *("--tool-name", name, "--tool-call-id", name),
    )
    assert [character for character in "\x1b\u202e\r\x07" if character in shown] == []
    assert "[red]" in shown
