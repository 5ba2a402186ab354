"""Files that tools leave in a folder: which are copied, and which are not."""

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from pagefault_dialects.json.values import JsonValue
from pagefault_mcp.service_client import collected_files
from pagefault_mcp.service_client.collected_files import CollectedFolder

pytestmark = pytest.mark.anyio

# No other task waits so long.
QUIET_SECONDS = 0.21


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "left"
    inner.mkdir()
    (inner / "old").write_bytes(b"old")
    return inner


@pytest.fixture
def warned() -> list[str]:
    return []


@pytest.fixture
def collector(folder: Path, warned: list[str]) -> CollectedFolder:
    return CollectedFolder(folder, warned.append)


async def collect_files(
    collector: CollectedFolder, result: JsonValue = None, call_id: str = "1"
) -> dict[str, bytes]:
    """End a call; return the copies of its files, by their paths."""
    with ExitStack() as files:
        found = await collector.collect(call_id, result, files)
        for file in found:
            file.copy.seek(0)
        return {file.path: file.copy.read() for file in found}


async def leave_files(
    collector: CollectedFolder, leave: Callable[[], object], result: JsonValue = None
) -> dict[str, bytes]:
    """Make a call that leaves files; return their copies."""
    await collector.begin("1")
    leave()
    return await collect_files(collector, result)


async def test_files_that_appear_or_change_during_a_call_are_copied(
    collector: CollectedFolder, folder: Path
) -> None:
    (folder / "same").write_bytes(b"same")

    def leave() -> None:
        (folder / "sub/inner").mkdir(parents=True)
        (folder / "sub/inner/new.png").write_bytes(b"new")
        (folder / "old").write_bytes(b"not old")

    assert await leave_files(collector, leave) == {"sub/inner/new.png": b"new", "old": b"not old"}
    assert await leave_files(collector, lambda: None) == {}


async def test_folder_that_is_created_by_a_call_is_seen(tmp_path: Path, warned: list[str]) -> None:
    later = tmp_path / "a/later"
    collector = CollectedFolder(later, warned.append)

    def leave() -> None:
        later.mkdir(parents=True)
        (later / "a").write_bytes(b"a")

    assert await leave_files(collector, leave) == {"a": b"a"}


async def test_folder_that_disappears_is_an_empty_one(
    collector: CollectedFolder, folder: Path, warned: list[str]
) -> None:
    assert await leave_files(collector, lambda: folder.rename(folder.with_name("gone"))) == {}
    assert not warned


NAMES = [
    "{folder}/old",
    "file://{folder}/old",
    "file://localhost{folder}/ol%64",
    "old",
    "./old",
    "../left/old",
    "Saved to {folder}/old.",
    "### Result\n- [Video](./old)",
    "path: 'old'\n",
    "```js\nawait page.pdf({{ path: './old' }});\n```",
    "left/old",
]


@pytest.mark.parametrize("text", NAMES)
async def test_file_that_a_result_names_is_copied(
    monkeypatch: pytest.MonkeyPatch, folder: Path, warned: list[str], text: str
) -> None:
    monkeypatch.chdir(folder.parent)
    collector = CollectedFolder(folder, warned.append)
    text = text.format(folder=folder)
    block: JsonValue = {"type": "text", "text": text}
    results: list[JsonValue] = [{"content": [block]}, {"structuredContent": {"a": [text]}}]
    for result in results:
        assert await leave_files(collector, lambda: None, result) == {"old": b"old"}


@pytest.mark.promise(
    "security.md#headers-and-the-disk",
    "A name in a result has a proxy read no file outside of the folder of `--collect`",
    kept_by="packages/mcp/src/pagefault_mcp/service_client/collected_files.py",
    tried="`..`, links, pipes, URIs of other hosts, neighbours whose names begin alike",
)
@pytest.mark.parametrize(
    "name",
    [
        "{folder}/../secret",
        "../secret",
        "file://{folder}/%2e%2e/secret",
        "file://elsewhere{folder}/old",
        "{folder}/link",
        "{folder}/out/secret",
        "{folder}x/secret",
        "{folder}/pipe",
        "{folder}",
        "{folder}/\0old",
        "/dev/zero",
    ],
)
async def test_name_in_a_result_leads_to_no_file_outside_of_the_folder(
    collector: CollectedFolder, folder: Path, name: str
) -> None:
    for place in (folder.parent, folder.with_name("leftx")):
        place.mkdir(exist_ok=True)
        (place / "secret").write_bytes(b"secret")
    (folder / "link").symlink_to(folder.parent / "secret")
    (folder / "out").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe")
    text = name.format(folder=folder)
    assert await leave_files(collector, lambda: None, {"text": text}) == {}


@pytest.mark.promise(
    "security.md#headers-and-the-disk",
    "Links that a server leaves in the folder of `--collect` are not followed",
    kept_by="packages/mcp/src/pagefault_mcp/service_client/collected_files.py",
    tried="symbolic links to a file and a folder, a hard link, a pipe",
)
async def test_links_and_pipes_that_a_call_leaves_are_not_read(
    collector: CollectedFolder, folder: Path, warned: list[str]
) -> None:
    secret = folder.parent / "secret"
    secret.write_bytes(b"secret")

    def leave() -> None:
        (folder / "link").symlink_to(secret)
        (folder / "out").symlink_to(folder.parent)
        os.link(secret, folder / "hard")
        os.mkfifo(folder / "pipe")

    assert await leave_files(collector, leave) == {}
    assert warned == [f"hard in {folder} is not stored: it has another name, a hard link"]


@pytest.mark.promise(
    "security.md#headers-and-the-disk",
    "A server cannot replace the folder of `--collect` by a link",
    kept_by="packages/mcp/src/pagefault_mcp/service_client/collected_files.py",
    tried="a link to a folder with a key, named in the result",
)
async def test_folder_that_a_server_replaces_by_a_link_is_not_followed(
    collector: CollectedFolder, folder: Path
) -> None:
    secrets = folder.with_name("secrets")
    secrets.mkdir()
    (secrets / "key").write_bytes(b"secret")

    def leave() -> None:
        folder.rename(folder.with_name("gone"))
        folder.symlink_to(secrets)

    assert await leave_files(collector, leave, {"text": f"{folder}/key"}) == {}


@pytest.mark.promise(
    "security.md#headers-and-the-disk",
    "A file that is replaced by a link after it was found is not read",
    kept_by="packages/mcp/src/pagefault_mcp/service_client/collected_files.py",
    tried="between the listing and the copy",
)
async def test_file_that_is_replaced_between_two_looks_is_not_read(
    monkeypatch: pytest.MonkeyPatch, collector: CollectedFolder, folder: Path
) -> None:
    (folder.parent / "secret").write_bytes(b"new")
    copy = collected_files._copy_file

    def swap(root: str, path: str, *more: object) -> object:
        (folder / path).unlink()
        (folder / path).symlink_to(folder.parent / "secret")
        return copy(root, path, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(collected_files, "_copy_file", swap)
    assert await leave_files(collector, lambda: (folder / "new").write_bytes(b"new")) == {}


@pytest.mark.promise(
    "security.md#headers-and-the-disk",
    "A file that grows without end delays one answer for seconds, and later ones for one look",
    kept_by="packages/mcp/src/pagefault_mcp/service_client/collected_files.py",
    tried="a file that grows at every look",
)
async def test_file_that_grows_without_end_delays_one_answer_and_no_later_one(
    monkeypatch: pytest.MonkeyPatch,
    collector: CollectedFolder,
    folder: Path,
    warned: list[str],
) -> None:
    monkeypatch.setattr(collected_files, "_GROWING_SECONDS", 0.5)
    monkeypatch.setattr(collected_files, "_QUIET_SECONDS", QUIET_SECONDS)
    waits: list[float] = []
    sleep = anyio.sleep

    async def grow(seconds: float) -> None:
        if seconds != QUIET_SECONDS:
            return await sleep(seconds)
        waits.append(seconds)
        with (folder / "video").open("ab") as file:
            file.write(b"more")
        await sleep(0.01)

    monkeypatch.setattr(anyio, "sleep", grow)
    await collector.begin("1")
    (folder / "video").write_bytes(b"a")
    (folder / "page").write_bytes(b"page")
    assert await collect_files(collector) == {"page": b"page"}
    assert warned == [f"video in {folder} is not stored: it is still being written"]
    waits.clear()
    assert await leave_files(collector, lambda: (folder / "page").write_bytes(b"2")) == {
        "page": b"2"
    }
    assert len(waits) == 1
    monkeypatch.setattr(anyio, "sleep", sleep)
    found = await leave_files(collector, lambda: (folder / "video").write_bytes(b"whole"))
    assert found == {"video": b"whole"}


async def test_growing_file_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, collector: CollectedFolder, folder: Path
) -> None:
    monkeypatch.setattr(collected_files, "_QUIET_SECONDS", QUIET_SECONDS)
    sleep = anyio.sleep
    pieces = iter([b"b", b"c"])

    async def grow(seconds: float) -> None:
        if seconds != QUIET_SECONDS:
            return await sleep(seconds)
        with (folder / "new").open("ab") as file:
            file.write(next(pieces, b""))
        await sleep(0)

    monkeypatch.setattr(anyio, "sleep", grow)
    found = await leave_files(collector, lambda: (folder / "new").write_bytes(b"a"))
    assert found == {"new": b"abc"}


async def test_file_belongs_to_every_call_that_was_open_when_it_appeared(
    collector: CollectedFolder, folder: Path
) -> None:
    await collector.begin("1")
    (folder / "first").write_bytes(b"1")
    await collector.begin("2")
    (folder / "both").write_bytes(b"2")
    assert await collect_files(collector, call_id="2") == {"both": b"2"}
    assert await collect_files(collector, call_id="1") == {"first": b"1", "both": b"2"}


async def test_calls_that_are_never_answered_take_no_listing_each(
    collector: CollectedFolder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collected_files, "_MAX_CALLS", 3)
    for number in range(5):
        await collector.begin(str(number))
        (folder / f"{number}").write_bytes(b"a")
    found = [[*await collect_files(collector, call_id=str(number))] for number in range(5)]
    assert found == [[], [], ["2", "3", "4"], ["3", "4"], ["4"]]


async def test_file_that_appeared_between_calls_belongs_to_none(
    collector: CollectedFolder, folder: Path
) -> None:
    assert await leave_files(collector, lambda: None) == {}
    (folder / "between").write_bytes(b"a")
    assert await leave_files(collector, lambda: (folder / "new").write_bytes(b"b")) == {"new": b"b"}


@pytest.mark.promise(
    "security.md#headers-and-the-disk",
    "A call that leaves any number of files has 100 of them stored, of 256 MiB in all",
    kept_by="packages/mcp/src/pagefault_mcp/service_client/collected_files.py",
    tried="10,000 files",
)
async def test_named_files_come_first_and_the_others_up_to_the_limits(
    collector: CollectedFolder, folder: Path, warned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collected_files, "MAX_BYTES", 150)

    def leave() -> None:
        for number in range(10_000):
            (folder / f"{number}").write_bytes(b"12")

    found = await leave_files(collector, leave, {"text": "9999"})
    assert next(iter(found)) == "9999"
    assert len(found) == 75
    assert warned[0] == "9,900 of 10,000 files of a call are not stored"
    assert warned[1].endswith("is not stored: all files of a call may have 150 bytes")
    assert len(warned) == 26


async def test_of_a_folder_with_very_many_files_only_named_ones_are_copied(
    collector: CollectedFolder, folder: Path, warned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collected_files, "_MAX_LISTED_FILES", 2)
    for name in ("a", "b", "c"):
        (folder / name).write_bytes(b"a")
    for _ in range(2):
        found = await leave_files(
            collector, lambda: (folder / "d").write_bytes(b"d"), {"text": "d, ../x"}
        )
        assert found == {"d": b"d"}
    reason = "it has more than 2 files"
    assert warned == [f"of {folder}, only files that results name are stored: {reason}"]


async def test_empty_file_is_stored_once_it_is_written(
    collector: CollectedFolder, folder: Path, warned: list[str]
) -> None:
    assert await leave_files(collector, (folder / "new").touch) == {}
    assert await leave_files(collector, lambda: (folder / "new").write_bytes(b"a")) == {"new": b"a"}
    assert not warned


@pytest.mark.parametrize(
    ("name", "filename", "path"),
    [
        (b"a\nb.png", "ab.png", "a\nb.png"),
        (b"\xff\xfe.txt", "\ufffd\ufffd.txt", "\ufffd\ufffd.txt"),
        (b"...", "file", "..."),
    ],
)
async def test_any_file_name_becomes_a_block_of_json(
    collector: CollectedFolder, folder: Path, name: bytes, filename: str, path: str
) -> None:
    await collector.begin("1")
    (folder / os.fsdecode(name)).write_bytes(b"hello")
    with ExitStack() as files:
        (file,) = await collector.collect("1", None, files)
        block = json.loads(b"".join(file.encode_block()))
    assert block["_meta"] == {"pagefault/collected": path}
    assert (block["type"], block["filename"]) == ("file", filename)
    assert block["data"].endswith(";base64,aGVsbG8=")
