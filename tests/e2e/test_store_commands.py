"""`pagefault gc` and `pagefault fsck` as an operator meets them, beside a running server."""

import os
import pty
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from app.config.settings import Settings
from app.stores.blobs.store import blob_path, quarantine_path
from tests.integration.sweep_stores import BehindTheStore, digest_of, environment_of
from tests.kit.loaded_command import LoadedCommand
from tests.kit.process import COMMAND, ROOT, WAIT_SECONDS, environment
from tests.kit.servers import LiveService, serving

PROJECT = "p"
GARBAGE, A, B = b"garbage", b"the bytes of a file", b"the bytes of another file"


@pytest.fixture
def server(settings: Settings) -> Iterator[LiveService]:
    """A server over fresh stores of each engine."""
    with serving(settings) as service:
        yield service


@pytest.fixture
def client(server: LiveService) -> Iterator[httpx.Client]:
    with server.client(server.new_key(PROJECT)) as client:
        yield client


Said = Callable[..., tuple[int, str]]


@pytest.fixture
def said(server: LiveService, pagefault: LoadedCommand) -> Said:
    """Return the status and the output of a command, which prints no error."""

    def run(*arguments: str) -> tuple[int, str]:
        done = pagefault.run(*arguments, env=environment_of(server.settings))
        assert done.stderr == ""
        return done.returncode, done.stdout

    return run


def store(client: httpx.Client, data: bytes) -> str:
    """Upload a file; returns its URI."""
    uri: str = client.post("/api/resources", content=data).raise_for_status().json()["uri"]
    return uri


def store_and_delete(client: httpx.Client, data: bytes) -> None:
    uri = store(client, data)
    client.delete(f"/api/resources/{uri.removeprefix('blob:')}").raise_for_status()


def content(client: httpx.Client, uri: str) -> tuple[int, bytes]:
    answer = client.get(f"/api/resources/{uri.removeprefix('blob:')}/content")
    return answer.status_code, answer.content


def test_what_nothing_refers_to_is_removed_once_it_is_old_enough(
    said: Said, client: httpx.Client
) -> None:
    uri = store(client, A)
    store_and_delete(client, GARBAGE)
    store_and_delete(client, B)
    left = "Removed nothing. Left 2 files that nothing refers to for the grace period.\n"
    assert said("gc") == (0, left)
    assert said("gc", "--grace", "1.5h") == (0, left)
    would = "Would remove 2 files that nothing refers to (32 bytes).\n"
    assert said("gc", "--grace", "0", "--dry-run") == (0, would)
    removed = "Removed 2 files that nothing refers to (32 bytes).\n"
    assert said("gc", "--grace", "0s") == (0, removed)
    assert said("gc", "--grace", "0") == (0, "Removed nothing.\n")
    assert content(client, uri) == (200, A)
    assert content(client, store(client, B)) == (200, B)


@pytest.mark.parametrize("grace", ["soon", "-1", "1w", "1h30m", "", "nan", "1e3", "٣"])
def test_grace_that_is_no_time_is_a_mistake_of_usage(pagefault: LoadedCommand, grace: str) -> None:
    done = pagefault.run("gc", f"--grace={grace}")
    assert done.returncode == 2
    assert "must be a number of seconds" in done.stderr


@pytest.mark.parametrize("command", ["gc", "fsck"])
@pytest.mark.parametrize("is_there", [True, False], ids=["empty directory", "no directory"])
def test_directory_without_a_database_is_named_and_left_as_it_is(
    pagefault: LoadedCommand, tmp_path: Path, command: str, is_there: bool
) -> None:
    data_dir = tmp_path / "data"
    if is_there:
        data_dir.mkdir()
    done = pagefault.run(command, "--data-dir", str(data_dir))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"there is no database in {data_dir}. Name it with --data-dir." in done.stderr
    assert list(tmp_path.rglob("*")) == [data_dir] * is_there


def test_sound_stores_are_said_to_be_sound(said: Said, client: httpx.Client) -> None:
    assert said("fsck") == (0, "Checked 0 files (0 bytes): all are sound.\n")
    store(client, A)
    store_and_delete(client, GARBAGE)
    assert said("fsck") == (
        0,
        "Checked 1 file (19 bytes): it is sound.\n"
        "Nothing refers to 1 more file: `pagefault gc` removes it.\n",
    )
    store(client, B)
    store_and_delete(client, GARBAGE + GARBAGE)
    assert said("fsck") == (
        0,
        "Checked 2 files (44 bytes): all are sound.\n"
        "Nothing refers to 2 more files: `pagefault gc` removes them.\n",
    )


def lines(*told: str, summary: str) -> str:
    """Return the output of a check: a line for each fault, by digest, then a summary."""
    by_digest = sorted(told, key=lambda line: line.partition("sha-256:")[2])
    return "".join(f"{line}\n" for line in [*by_digest, summary])


def test_faults_are_listed_repaired_and_healed(
    server: LiveService, said: Said, client: httpx.Client
) -> None:
    behind = BehindTheStore(server.settings)
    uri_a, uri_b = store(client, A), store(client, B)
    behind.write(blob_path(PROJECT, digest_of(A)), b"X" + A[1:])
    behind.remove(blob_path(PROJECT, digest_of(B)))
    of_a = f"project p  sha-256:{digest_of(A)}  {uri_a}  the bytes are"
    of_b = f"project p  sha-256:{digest_of(B)}  {uri_b}  the bytes are"
    heal = "restore them from a backup, or upload the file again"
    summary = "Checked 2 files (19 bytes): 2 faults."
    advice = "damaged: `pagefault fsck --repair` takes them out of service"
    found = lines(f"damaged  {of_a} {advice}", f"missing  {of_b} gone: {heal}", summary=summary)
    assert said("fsck") == (1, found)
    moved = f"damaged, and now in quarantine: {heal}"
    repaired = lines(f"damaged  {of_a} {moved}", f"missing  {of_b} gone: {heal}", summary=summary)
    assert said("fsck", "--repair") == (1, repaired)
    assert behind.read(quarantine_path(PROJECT, digest_of(A))) == b"X" + A[1:]
    assert content(client, uri_a)[0] == 503
    left = lines(
        f"missing  {of_a} gone: {heal}",
        f"missing  {of_b} gone: {heal}",
        summary="Checked 2 files (0 bytes): 2 faults.",
    )
    assert said("fsck", "--repair") == (1, left)
    assert (store(client, A), store(client, B)) == (uri_a, uri_b)
    assert content(client, uri_a) == (200, A)
    assert said("fsck") == (0, "Checked 2 files (44 bytes): all are sound.\n")


def on_a_terminal(server: LiveService, *arguments: str) -> str:
    """Return the standard error of a command, which is a terminal."""
    ours, its = pty.openpty()
    env = environment({"TERM": "xterm", **environment_of(server.settings)})
    with subprocess.Popen(  # noqa: S603 - our own command
        [COMMAND, *arguments], cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=its
    ) as process:
        os.close(its)
        written = b""
        try:
            while piece := os.read(ours, 65_536):
                written += piece
        except OSError:
            # The other end is closed.
            pass
        os.close(ours)
        assert process.wait(WAIT_SECONDS) == 0
    return written.decode()


@pytest.mark.engines("embedded")
def test_progress_is_shown_on_a_terminal(server: LiveService, client: httpx.Client) -> None:
    store(client, A)
    assert "sweeping" in on_a_terminal(server, "gc")
    assert "checking" in on_a_terminal(server, "fsck")
