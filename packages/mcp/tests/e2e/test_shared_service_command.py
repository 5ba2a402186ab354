"""The service that stores for all proxies of a user: who starts it, who shares it, when it ends."""

import fcntl
import json
import os
import select
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from app.version import VERSION
from packages.mcp.tests.e2e.test_proxy_command import (
    SERVER,
    Conversation,
    history,
    proxied,
    talking,
)
from packages.mcp.tests.e2e.test_proxy_listen import call, listening
from pagefault_mcp.service_client.shared_folder import SharedSetup, find_socket, make_folder
from tests.kit import mcp_server
from tests.kit.process import (
    COMMAND,
    ROOT,
    WAIT_SECONDS,
    environment,
    program,
    run_until_answer,
    workspace,
)
from tests.kit.servers import with_a_database

WORD = mcp_server.ANSWERS["word"]


def folders(data: Path) -> list[Path]:
    """The folders of the setups that have a service, or had one."""
    return sorted((data / "proxies").iterdir())


def folder_of(data: Path) -> Path:
    """The folder of the only setup."""
    (folder,) = folders(data)
    return folder


def pid_in(folder: Path) -> int:
    """The process of a setup's service."""
    return int((folder / "serving").read_text())


def address_in(folder: Path) -> Path:
    """The socket of a setup's service."""
    return Path((folder / "address").read_text())


def wait_for_end(pid: int) -> None:
    """Wait until a process has ended."""
    try:
        ended = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([ended], [], [], WAIT_SECONDS)[0], f"process {pid} goes on"
    finally:
        os.close(ended)


def stored_words(data: Path) -> list[str]:
    """The texts of the results that are stored."""
    entries = [entry for entry in history(data) if entry["role"] == "tool"]
    return [part["text"] for entry in entries for part in entry["sanitized"]["parts"]]


@contextmanager
def started_with(data: Path, stderr: Path, **env: str) -> Iterator[Conversation]:
    """Run the scripted server behind a proxy with variables of its own."""
    options = ("--session", "demo", "--data-dir", str(data))
    with talking(
        *program(), "proxy", *options, "--", *SERVER, stderr=stderr, env=environment(env)
    ) as host:
        yield host


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Proxies with the same settings share one service, which ends when the last of them has",
    kept_by="packages/mcp/src/pagefault_mcp/service_client/shared_service.py",
    tried="three proxies that start at once, of which one is killed and the others leave",
)
def test_proxies_share_a_service_that_ends_after_the_last(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    with ExitStack() as stack:
        hosts = []
        for number in range(3):
            (tmp_path / f"{number}").mkdir()
            hosts.append(stack.enter_context(proxied(tmp_path / f"{number}", data=data)))
        for host in hosts:
            host.call(1, "word")
        service = pid_in(folder_of(data))
        address = Path((folder_of(data) / "address").read_text())
        hosts[0].process.kill()
        assert hosts[1].leave() == 0
        hosts[2].call(2, "word")
        assert pid_in(folder_of(data)) == service
        assert hosts[2].leave() == 0
    wait_for_end(service)
    assert not address.exists()
    assert address.parent == folder_of(data) or not address.parent.exists()
    assert not (folder_of(data) / "address").exists()
    assert (folder_of(data) / "serving").read_text() == ""
    assert (folder_of(data) / "log").read_text() == ""
    assert len(stored_words(data)) == 4


def test_killed_service_is_started_again_by_the_next_result(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    with proxied(tmp_path, data=data) as host:
        host.call(1, "word")
        first = pid_in(folder_of(data))
        os.kill(first, signal.SIGKILL)
        wait_for_end(first)
        host.call(2, "word")
        second = pid_in(folder_of(data))
        assert host.leave() == 0
    assert second != first
    assert (tmp_path / "stderr").read_text() == ""
    assert len(stored_words(data)) == 2
    wait_for_end(second)


def test_service_that_was_told_to_end_is_started_again(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    with proxied(tmp_path, data=data) as host:
        for number in range(3):
            host.call(number, "word")
            os.kill(pid_in(folder_of(data)), signal.SIGTERM)
        host.call(3, "word")
        address = address_in(folder_of(data))
        service = pid_in(folder_of(data))
        os.kill(service, signal.SIGTERM)
        wait_for_end(service)
        assert not address.exists()
        assert host.leave() == 0
    assert (tmp_path / "stderr").read_text() == ""
    assert len(stored_words(data)) == 4


def test_service_whose_socket_was_removed_ends_and_another_is_started(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    with proxied(tmp_path, data=data) as host:
        host.call(1, "word")
        first = pid_in(folder_of(data))
        address_in(folder_of(data)).unlink()
        wait_for_end(first)
        host.call(2, "word")
        assert pid_in(folder_of(data)) != first
        assert host.leave() == 0
    assert (tmp_path / "stderr").read_text() == ""
    assert len(stored_words(data)) == 2


def test_service_goes_on_without_the_proxy_that_started_it(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    folder = SharedSetup(data, project=None, env_file=None, version=VERSION).find_folder()
    make_folder(folder)
    options = ("--folder", str(folder), "--data-dir", str(data))
    with (folder / "log").open("wb") as log, (folder / "used").open("a+b") as used:
        fcntl.flock(used, fcntl.LOCK_SH)
        starting = subprocess.Popen(  # noqa: S603 - our own command
            [*program(), "serve-proxies", *options], env=environment(), stderr=log
        )
        while not (folder / "serving").exists():
            assert starting.poll() is None
        starting.kill()
        starting.wait(WAIT_SECONDS)
        while find_socket(folder) is None:
            assert starting.returncode
        transport = httpx.HTTPTransport(uds=str(find_socket(folder)))
        with httpx.Client(transport=transport, base_url="http://localhost") as client:
            assert client.get("/healthz").is_success
    wait_for_end(pid_in(folder))
    assert (folder / "log").read_text() == ""


@pytest.fixture
def near_data() -> Iterator[Path]:
    """A data directory whose path is short enough for those of sockets in it."""
    with tempfile.TemporaryDirectory(prefix="pagefault-", dir="/tmp") as near:
        yield with_a_database(Path(near) / "data")


def test_folder_that_is_removed_is_made_again_by_all(tmp_path: Path, near_data: Path) -> None:
    data = near_data
    (tmp_path / "first").mkdir()
    with proxied(tmp_path / "first", data=data) as first, proxied(tmp_path, data=data) as second:
        first.call(1, "word")
        second.call(1, "word")
        service = pid_in(folder_of(data))
        assert address_in(folder_of(data)).parent == folder_of(data)
        shutil.rmtree(data / "proxies")
        wait_for_end(service)
        first.call(2, "word")
        again = pid_in(folder_of(data))
        second.call(2, "word")
        assert first.leave() == 0
        # The second is known by a lock of the folder that was removed, until it looks again.
        wait_for_end(again)
        second.call(3, "word")
        last = pid_in(folder_of(data))
        assert second.leave() == 0
    assert (tmp_path / "stderr").read_text() == ""
    assert len(stored_words(data)) == 5
    wait_for_end(last)


def test_proxy_that_listens_shares_the_service_and_hands_on_no_file_of_settings(
    tmp_path: Path,
) -> None:
    data = with_a_database(tmp_path / "data")
    (data / ".env").write_text("PAGEFAULT_LIMITS__TEXT_BYTES=1000000\n")
    dump = tmp_path / "held"
    server = ["sh", "-c", f"env > {dump}; exec {shlex.join(SERVER)}"]
    with proxied(tmp_path, data=data) as host, listening(tmp_path, "--", *server) as other:
        host.call(1, "word")
        session = other.session()
        assert other.post(call(2, "word"), **session).status_code == 200
        assert len(folders(data)) == 1
        assert host.leave() == 0
    assert "PAGEFAULT_" not in dump.read_text()
    assert len(stored_words(data)) == 2


def test_folder_for_temporary_files_may_have_a_long_path(tmp_path: Path) -> None:
    long = tmp_path / ("long" * 40)
    long.mkdir()
    data = with_a_database(long / "data")
    with started_with(data, tmp_path / "stderr", TMPDIR=str(long)) as host:
        host.call(1, "word")
        assert host.leave() == 0
    assert (tmp_path / "stderr").read_text() == ""
    assert list(long.iterdir()) == [data]
    assert len(stored_words(data)) == 1


def test_service_outlives_the_host_that_ends_all_of_its_proxy(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    (tmp_path / "first").mkdir()
    with proxied(tmp_path / "first", data=data) as first, proxied(tmp_path, data=data) as second:
        first.call(1, "word")
        second.call(1, "word")
        service = pid_in(folder_of(data))
        os.killpg(first.process.pid, signal.SIGKILL)
        first.process.wait(WAIT_SECONDS)
        # It is no child of the proxy that has started it either.
        children = Path(f"/proc/{service}/stat").read_text().rpartition(")")[2].split()
        assert int(children[1]) != first.process.pid
        second.call(2, "word")
        assert pid_in(folder_of(data)) == service
        assert second.leave() == 0
    assert len(stored_words(data)) == 3


def test_other_settings_and_other_projects_have_services_of_their_own(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    with ExitStack() as stack:
        for number, env in enumerate(
            [
                {},
                {"PAGEFAULT_API_KEY": "pf_of_a_service"},
                {"PAGEFAULT_DEFAULT_PROJECT": "other"},
                {"PAGEFAULT_LIMITS__TEXT_BYTES": "100000"},
                {"PAGEFAULT_AUTH": "api-key"},
            ]
        ):
            stderr = tmp_path / f"stderr{number}"
            host = stack.enter_context(started_with(data, stderr, **env))
            assert host.call(1, "word") == WORD % 1
            assert host.leave() == 0
            assert stderr.read_text() == ""
    # A key is for services that are named.
    assert len(folders(data)) == 4
    assert len(stored_words(data)) == 4


def test_only_the_user_gets_to_the_service(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    with proxied(tmp_path, data=data) as host:
        host.call(1, "word")
        folder = folder_of(data)
        address = Path((folder / "address").read_text())
        modes = [stat.S_IMODE(item.stat().st_mode) for item in (folder, address.parent)]
        assert host.leave() == 0
    assert modes == [0o700, 0o700]


def test_wrong_setting_is_told_and_results_pass(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with started_with(data, tmp_path / "stderr", PAGEFAULT_LIMITS__TEXT_BYTES="many") as host:
        assert [host.call(number, "word") for number in (1, 2)] == [WORD % 1, WORD % 2]
        refused = json.loads(host.call(3, "list_media"))["result"]
        assert host.leave() == 0
    wrong = "the shared service cannot be started: PAGEFAULT_LIMITS__TEXT_BYTES: "
    warnings = (tmp_path / "stderr").read_text().splitlines()
    assert f"pagefault: results are passed on and not stored: {wrong}" in warnings[0]
    assert {line.partition(wrong)[0] for line in warnings[1:]} == {
        "pagefault: the call of word is not in the history: ",
        "pagefault: a result of word is passed on and not stored: ",
    }
    assert refused["isError"]
    assert wrong in refused["content"][0]["text"]


@pytest.mark.parametrize("closed", ["2>&-", "0<&-", "0<&- 2>&-", "1>&- 2>&-"])
def test_closed_standard_streams_lead_nowhere(tmp_path: Path, closed: str) -> None:
    command = shlex.join([str(COMMAND), "proxy", "--session", "demo", "--", *SERVER])
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "word"}}
    wrong = {"PAGEFAULT_LIMITS__TEXT_BYTES": "many", "PAGEFAULT_DATA_DIR": str(tmp_path)}
    shell = ["/bin/sh", "-c", f"exec {command} {closed}"]
    done = run_until_answer(shell, json.dumps(call).encode(), env=environment(wrong))
    answer = WORD % 1 + b"\n" if closed == "2>&-" else b""
    assert (done.returncode, done.stdout) == (0, answer)
    assert b"Traceback" not in done.stderr


def test_path_of_the_data_directory_may_be_longer_than_those_of_sockets(tmp_path: Path) -> None:
    data = tmp_path / ("long" * 40) / "data"
    data.parent.mkdir()
    with proxied(tmp_path, data=with_a_database(data)) as host:
        host.call(1, "word")
        assert host.leave() == 0
    assert (tmp_path / "stderr").read_text() == ""
    assert len(stored_words(data)) == 1


@pytest.mark.promise(
    "security.md#settings",
    "The service that proxies share loads nothing from the folder that a host starts a proxy in",
    kept_by="packages/mcp/src/pagefault_mcp/service_client/shared_service.py",
    tried="a folder with modules that are named as ours, by the service that the proxy starts",
)
@pytest.mark.promise(
    "security.md#settings",
    "The service that proxies share gets no variable that is for a server behind one of them",
    kept_by="packages/mcp/src/pagefault_mcp/service_client/shared_service.py",
    tried="a token, and a key of another service",
)
def test_service_holds_nothing_of_the_host(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    folder = workspace(tmp_path)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "word"}}
    command: list[str | Path] = [COMMAND, "proxy", "--session", "demo", "--data-dir", data]
    tokens = {"GITHUB_TOKEN": "secret-of-a-server", "PAGEFAULT_API_KEY": "pf_secret"}
    server = {"PYTHONPATH": str(ROOT)}
    # It returns when all processes that have the standard streams have ended.
    done = run_until_answer(
        [*command, "--", *SERVER],
        json.dumps(call).encode(),
        env=environment(tokens | server),
        folder=folder,
    )
    service = pid_in(folder_of(data))
    variables = Path(f"/proc/{service}/environ").read_bytes()
    assert (done.returncode, done.stdout, done.stderr) == (0, WORD % 1 + b"\n", b"")
    assert b"PYTHONPATH=" in variables
    assert b"secret" not in variables
    wait_for_end(service)
    assert len(stored_words(data)) == 1
    assert "ran" not in os.listdir(folder)


@pytest.mark.parametrize("options", [(), ("--data-dir", "near")], ids=["usual", "relative"])
def test_memory_is_the_users_and_not_in_the_folder_of_the_host(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    home, folder = tmp_path / "home", tmp_path / "workspace"
    home.mkdir()
    folder.mkdir()
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "word"}}
    done = run_until_answer(
        [*program(), "proxy", "--session", "demo", *options, "--", *SERVER],
        json.dumps(request).encode(),
        env=environment({"HOME": str(home), "PYTHONPATH": str(ROOT)}),
        folder=folder,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, WORD % 1 + b"\n", b"")
    data = folder / "near" if options else home / ".pagefault" / "data"
    assert len(stored_words(data)) == 1
    assert os.listdir(folder) == (["near"] if options else [])
    wait_for_end(pid_in(folder_of(data)))


def test_services_of_several_setups_begin_a_data_directory_at_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with ExitStack() as stack:
        hosts = [
            stack.enter_context(
                started_with(data, tmp_path / f"stderr{number}", PAGEFAULT_PORT=str(8_100 + number))
            )
            for number in range(3)
        ]
        for host in hosts:
            host.say(json.dumps(call(1, "word")).encode())
        assert [host.hear() for host in hosts] == [WORD % 1] * 3
        assert [host.leave() for host in hosts] == [0] * 3
    assert [(tmp_path / f"stderr{number}").read_text() for number in range(3)] == [""] * 3
    assert len(folders(data)) == 3
    assert len(stored_words(data)) == 3


def test_service_that_is_killed_while_it_is_asked_costs_nothing(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    with proxied(tmp_path, data=data) as host:
        host.call(1, "word")
        service = pid_in(folder_of(data))
        os.kill(service, signal.SIGSTOP)
        host.say(json.dumps(call(2, "word")).encode())
        # It passes, so the call before it is on its way.
        assert json.loads(host.ask(3, "unknown/method"))["id"] == 3
        os.kill(service, signal.SIGKILL)
        assert host.hear() == WORD % 2
        assert host.call(4, "word") == WORD % 4
        assert host.leave() == 0
    assert (tmp_path / "stderr").read_text() == ""
    assert len(stored_words(data)) == 3


def test_text_that_is_too_long_to_be_stored_passes_and_its_call_is_kept(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    with proxied(tmp_path, data=data) as host:
        answer = json.loads(host.call(1, "long", characters=34_000_000))
        assert host.leave() == 0
    (text,) = answer["result"]["content"]
    assert len(text["text"]) == 34_000_000
    stderr = (tmp_path / "stderr").read_text()
    assert "a result of long is passed on and not stored: The text of a request body" in stderr
    assert [message["role"] for message in history(data)] == ["assistant"]


def test_media_of_more_bytes_than_the_host_takes_become_lines(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    with proxied(tmp_path, "--max-bytes", "100", data=data) as host:
        host.call(1, "picture")
        content = json.loads(host.hear())["result"]["content"]
        assert host.leave() == 0
    assert {item["type"] for item in content} == {"text"}
    assert any("@blob:" in part["text"] for part in content)
