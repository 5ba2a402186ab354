"""Faults of file systems: order of syncs, full disks, kills, damage."""

import errno
import hashlib
import itertools
import os
import stat
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from app.errors import StoreFullError, StoreUnavailableError
from app.stores.blobs import file_reader
from app.stores.blobs.draft_media import DraftMedia
from app.stores.blobs.filesystem import FilesystemBlobStore
from app.stores.blobs.store import StoredBlob, blob_path, project_path, quarantine_path
from pagefault_dialects.model.media import InMemoryMedia, MediaSource

pytestmark = pytest.mark.anyio

PROJECT = "project-a"
BODY = b"the same body every time" * 1000
BLOB = StoredBlob(hashlib.sha256(BODY).hexdigest(), len(BODY))
NO_LIMIT = 1024 * 1024


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(root: Path) -> FilesystemBlobStore:
    return FilesystemBlobStore(root)


async def put(store: FilesystemBlobStore, body: bytes = BODY) -> StoredBlob:
    return await store.put(PROJECT, InMemoryMedia(body), limit_bytes=NO_LIMIT)


async def read(store: FilesystemBlobStore) -> bytes:
    return b"".join([piece async for piece in await store.open(PROJECT, BLOB.digest)])


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def visible(root: Path) -> tuple[tuple[str, bytes], ...]:
    names = [name for name in files(root) if not name.startswith("tmp/")]
    return tuple((name, (root / name).read_bytes()) for name in names)


class Recorder:
    """Writes down the calls that change files, by the paths they change."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[str, ...]] = []
        self._root = root
        for name in ("write", "fsync", "replace", "mkdir"):
            monkeypatch.setattr(os, name, self._recording(name))

    def _recording(self, name: str) -> object:
        original = getattr(os, name)

        def call(*arguments: object) -> object:
            places = arguments if name == "replace" else arguments[:1]
            self.calls.append((name, *(self._describe(place) for place in places)))
            return original(*arguments)

        return call

    def _describe(self, place: object) -> str:
        if isinstance(place, int):
            place = os.readlink(f"/proc/self/fd/{place}")
        relative = os.path.relpath(str(place), self._root)
        return "tmp/*" if relative.startswith("tmp/") else relative


@pytest.mark.promise(
    "durability.md#the-power-goes",
    "A blob's file is synced, then renamed, then its directory is synced",
    kept_by="app/stores/blobs/temporary_file.py",
    tried="the recorded order of calls",
)
async def test_the_file_is_synced_then_renamed_then_its_directory_is_synced(
    store: FilesystemBlobStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(store, b"first")
    first_place = blob_path(PROJECT, hashlib.sha256(b"first").hexdigest())
    place = blob_path(PROJECT, BLOB.digest)
    directory, project = os.path.dirname(place), os.path.dirname(os.path.dirname(place))
    assert directory != os.path.dirname(first_place)
    recorder = Recorder(root, monkeypatch)
    await put(store)
    await put(store)
    write, sync = [("write", "tmp/*")], [("fsync", "tmp/*")]
    publish = [("replace", "tmp/*", place), ("fsync", directory)]
    # The sync of the file takes the new directory along, whose own has little left to do.
    first = [*write, ("mkdir", directory), *sync, ("fsync", project), *publish]
    assert recorder.calls == [*first, *write, *sync, *publish]


async def test_every_new_directory_is_synced_into_its_parent(
    store: FilesystemBlobStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(root, monkeypatch)
    await put(store)
    aa = os.path.dirname(blob_path(PROJECT, BLOB.digest))
    project = os.path.dirname(aa)
    chain = [(".", ".."), ("tmp", "."), ("blobs", "."), (project, "blobs"), (aa, project)]
    calls = [call for call in recorder.calls if call[0] != "write"]
    moved = next(place for place, call in enumerate(calls) if call[0] == "replace")
    for made, parent in chain:
        position = calls.index(("mkdir", made))
        # The last one has the sync of the file before it.
        behind = [("fsync", parent)] if made != aa else [("fsync", "tmp/*"), ("fsync", parent)]
        assert calls[position + 1 : position + 1 + len(behind)] == behind
        assert position + len(behind) < moved
    assert calls[moved + 1 :] == [("fsync", aa)]


def bodies_of_one_directory() -> list[bytes]:
    """Three bodies, of which the first and the last are kept in one directory."""
    first, *others = [b"body %d" % number for number in range(5_000)]
    folder = hashlib.sha256(first).digest()[0]
    return [
        first,
        next(other for other in others if hashlib.sha256(other).digest()[0] != folder),
        next(other for other in others if hashlib.sha256(other).digest()[0] == folder),
    ]


@pytest.mark.promise(
    "durability.md#the-power-goes",
    (
        "Several media of one request are all synced before the first is renamed; each "
        "directory is synced once, after the renames"
    ),
    kept_by="app/stores/blobs/temporary_file.py",
    tried="3 media, 2 directories",
)
async def test_of_several_all_are_synced_then_renamed_then_each_directory_is_synced_once(
    store: FilesystemBlobStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.check()
    bodies = bodies_of_one_directory()
    places = [blob_path(PROJECT, hashlib.sha256(body).hexdigest()) for body in bodies]
    first, other = (os.path.dirname(place) for place in places[:2])
    project = os.path.dirname(first)
    recorder = Recorder(root, monkeypatch)
    await store.put_all(PROJECT, [InMemoryMedia(body) for body in bodies], limit_bytes=NO_LIMIT)
    made = [("mkdir", project), ("fsync", "blobs"), ("mkdir", first), ("mkdir", other)]
    assert recorder.calls[:-2] == [
        *[("write", "tmp/*")] * 3,
        *made,
        *[("fsync", "tmp/*")] * 3,
        ("fsync", project),
        *[("replace", "tmp/*", place) for place in places],
    ]
    # Side by side, so in no order.
    assert sorted(recorder.calls[-2:]) == sorted([("fsync", first), ("fsync", other)])


@pytest.mark.promise(
    "durability.md#requests-break-off",
    "If one of several media cannot be synced, none of them becomes visible",
    kept_by="app/stores/blobs/temporary_file.py",
    tried="each of 3",
)
@pytest.mark.parametrize("failing", [1, 2, 3])
async def test_of_several_nothing_is_left_where_one_cannot_be_synced(
    store: FilesystemBlobStore, root: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    await put(store)
    fsync, numbers = os.fsync, itertools.count(1)

    def fail(file: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{file}"))
        if path.parent == root / "tmp" and next(numbers) == failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(file)

    draft = store.draft(PROJECT, limit_bytes=NO_LIMIT)
    draft.append(b"a draft")
    sources: list[MediaSource] = [
        InMemoryMedia(b"another body"),
        DraftMedia(draft),
        InMemoryMedia(b"a third"),
    ]
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(StoreUnavailableError):
            await store.put_all(PROJECT, sources, limit_bytes=NO_LIMIT)
    await draft.discard()
    assert (next(numbers), files(root)) == (4, [blob_path(PROJECT, BLOB.digest)])


def modes(root: Path) -> dict[bool, set[int]]:
    """The permission bits in use, of directories (`True`) and of files."""
    found: dict[bool, set[int]] = {True: set(), False: set()}
    for path in (root, *root.rglob("*")):
        found[path.is_dir()].add(stat.S_IMODE(path.stat().st_mode))
    return found


async def test_only_the_owner_may_look(store: FilesystemBlobStore, root: Path) -> None:
    await put(store)
    assert modes(root) == {True: {0o700}, False: {0o600}}


@pytest.mark.promise(
    "durability.md#several-at-once",
    "A damaged file under the right name is replaced and not trusted",
    kept_by="app/stores/blobs/filesystem.py",
    tried="1 file",
)
@pytest.mark.parametrize("damage", [b"", BODY[:-1], b"X" + BODY[1:]])
async def test_a_damaged_file_is_replaced(
    store: FilesystemBlobStore, root: Path, damage: bytes
) -> None:
    await put(store)
    (root / blob_path(PROJECT, BLOB.digest)).write_bytes(damage)
    assert await put(store) == BLOB
    assert await read(store) == BODY


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "A full or failing disk is reported, reads go on, and a failed sync is not tried again",
    kept_by="app/stores/blobs/temporary_file.py",
    tried="4 calls with 3 errors each",
)
@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.ENOSPC, StoreFullError),
        (errno.EDQUOT, StoreFullError),
        (errno.EIO, StoreUnavailableError),
    ],
)
@pytest.mark.parametrize("call", ["write", "fsync", "replace", "mkdir"])
async def test_a_failing_disk_leaves_nothing_and_reads_go_on(
    store: FilesystemBlobStore,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    number: int,
    error: type[StoreUnavailableError],
) -> None:
    await put(store)
    calls = 0

    def fail(*_: object) -> None:
        nonlocal calls
        calls += 1
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(StoreUnavailableError) as caught:
            await put(store, b"another body")
        assert await read(store) == BODY
    assert (type(caught.value), calls) == (error, 1)
    assert files(root) == [blob_path(PROJECT, BLOB.digest)]


async def test_a_short_write_is_continued(
    store: FilesystemBlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:1000]))
    assert await put(store) == BLOB
    assert await read(store) == BODY


async def test_a_file_cut_short_while_it_is_read_is_an_error(
    store: FilesystemBlobStore, root: Path
) -> None:
    body = bytes(3 * NO_LIMIT)
    blob = await store.put(PROJECT, InMemoryMedia(body), limit_bytes=len(body))
    reader = await store.open(PROJECT, blob.digest)
    assert await anext(reader) == bytes(NO_LIMIT)
    os.truncate(root / blob_path(PROJECT, blob.digest), NO_LIMIT)
    with pytest.raises(StoreUnavailableError):
        await anext(reader)
    await reader.aclose()


async def test_readers_hold_no_file_once_closed_or_exhausted(store: FilesystemBlobStore) -> None:
    body = bytes(3 * NO_LIMIT)
    blob = await store.put(PROJECT, InMemoryMedia(body), limit_bytes=len(body))
    before = len(os.listdir("/proc/self/fd"))
    closed = await store.open(PROJECT, blob.digest)
    await anext(closed)
    await closed.aclose()
    exhausted = await store.open(PROJECT, blob.digest)
    assert sum([len(piece) async for piece in exhausted]) == len(body)
    await store.open(PROJECT, blob.digest, start=5, end=10)
    assert len(os.listdir("/proc/self/fd")) == before


async def test_a_quarantined_file_is_renamed_and_both_directories_are_synced(
    store: FilesystemBlobStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(store)
    place, quarantined = blob_path(PROJECT, BLOB.digest), quarantine_path(PROJECT, BLOB.digest)
    recorder = Recorder(root, monkeypatch)
    await store.quarantine(PROJECT, BLOB.digest)
    assert recorder.calls == [
        ("mkdir", "quarantine"),
        ("fsync", "."),
        ("mkdir", os.path.dirname(quarantined)),
        ("fsync", "quarantine"),
        ("replace", place, quarantined),
        ("fsync", os.path.dirname(quarantined)),
        ("fsync", os.path.dirname(place)),
    ]


async def test_only_files_are_listed_however_many_there_are(
    store: FilesystemBlobStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_reader, "_ENTRIES_AT_ONCE", 3)
    project = root / project_path(PROJECT)
    (project / "ab").mkdir(parents=True)
    (project / "cd").mkdir()
    names = {f"ab{number:062x}" for number in range(10)}
    for name in names:
        (project / "ab" / name).write_bytes(b"x")
    # More of what is no blob than is read at once, and links that lead to one or to nothing.
    for number in range(10):
        (project / "cd" / f"cd{number:062x}").mkdir()
    (project / "cd" / f"cd{10:062x}").symlink_to(project / "ab" / min(names))
    (project / "cd" / f"cd{11:062x}").symlink_to(project / "nowhere")
    assert {blob.digest async for blob in store.list_blobs(PROJECT)} == names


async def test_a_listing_holds_no_folder_once_closed_or_exhausted(
    store: FilesystemBlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_reader, "_ENTRIES_AT_ONCE", 1)
    for number in range(5):
        await put(store, b"%d" % number)
    before = len(os.listdir("/proc/self/fd"))
    async with aclosing(store.list_blobs(PROJECT)) as closed:
        await anext(closed)
        assert len(os.listdir("/proc/self/fd")) == before + 1
    assert len([blob async for blob in store.list_blobs(PROJECT)]) == 5
    assert len(os.listdir("/proc/self/fd")) == before


_KILLED_WRITES = """
import os, signal, sys
from pathlib import Path
import anyio
from pagefault_dialects.model.media import InMemoryMedia
from app.stores.blobs.filesystem import FilesystemBlobStore

BODY = b"the same body every time" * 1000

def kill_at(count):
    left = [count]
    def killing(original):
        def call(*arguments):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments)
        return call
    for name in ("open", "write", "fsync", "close", "replace", "mkdir"):
        setattr(os, name, killing(getattr(os, name)))

async def put(root):
    store = FilesystemBlobStore(root)
    await store.check()
    return await store.put("project-a", InMemoryMedia(BODY), limit_bytes=10**6)

for count in range(1000):
    root = Path(sys.argv[1], str(count))
    child = os.fork()
    if child == 0:
        kill_at(count)
        anyio.run(put, root)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        print(count)
        break
"""


@pytest.mark.slow
async def test_a_kill_at_any_moment_leaves_the_whole_blob_or_nothing_visible(
    tmp_path: Path,
) -> None:
    answer = subprocess.run(  # noqa: S603, ASYNC221 - our own interpreter and text
        [sys.executable, "-c", _KILLED_WRITES, str(tmp_path)],
        check=True,
        capture_output=True,
        timeout=120,
    )
    kills = int(answer.stdout)
    place = blob_path(PROJECT, BLOB.digest)
    found = [
        [name for name in files(tmp_path / str(n)) if name[:4] != "tmp/"] for n in range(kills)
    ]
    assert kills > 20
    assert {tuple(names) for names in found} == {(), (place,)}
    whole = [tmp_path / str(n) / place for n, names in enumerate(found) if names]
    assert {path.read_bytes() for path in whole} == {BODY}
    for number in range(kills):
        store = FilesystemBlobStore(tmp_path / str(number))
        await store.sweep_temporary(-5)
        assert await put(store) == BLOB
        assert files(tmp_path / str(number)) == [place]
