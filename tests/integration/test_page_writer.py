"""Pages swapped in, on both engines: writers of one process take turns, others are noticed."""

from collections.abc import AsyncIterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from app.config.settings import Settings
from app.errors import ConflictError
from app.models.identity import utc_now
from app.models.limits import Limits
from app.services.concurrency.large_work import LargeWork
from app.services.images.image_work import ImageWork
from app.services.memory_budget.budget import MemoryBudget
from app.services.memory_budget.request_bodies import BodyBudget
from app.services.pages.accesses import AccessCounts
from app.services.pages.page_preparer import PageChange, PagePreparer, PreparedPage, plan_change
from app.services.pages.page_writer import PageChangedError, PageWriter, WrittenPage
from app.services.pages.pages import Pages
from app.services.pages.stored_pages import find_page
from app.services.requests.streamed_bodies import StreamedBodies
from app.services.requests.streamed_requests import StreamedRequests
from app.stores.blobs.filesystem import FilesystemBlobStore
from app.stores.records.page_accesses import PageAccessRecords
from app.stores.records.pages import PageRecords
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.wiring.stores import migrate_database, open_database
from pagefault_dialects.model.page import Body, Page, PageFields, StoredPage
from tests.kit.units import projects_of, reading

pytestmark = pytest.mark.anyio
PROJECT = "p"
LIMITS = Limits()
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


@pytest.fixture
async def processes(settings: Settings) -> AsyncIterator[list[Records]]:
    """The records as two processes open them."""
    await migrate_database(settings)
    opened = [Records(open_database(settings)) for _ in range(2)]
    async with projects_of(opened[0]) as projects:
        await projects.ensure(PROJECT, NOW)
    yield opened
    for item in opened:
        await item.close()


@pytest.fixture
async def records(processes: list[Records]) -> Records:
    return processes[0]


def change(text: str, current: StoredPage | None = None, **fields: object) -> PageChange:
    page = Page("a", PageFields.model_validate(fields), Body("text", text), {})
    prepared = PreparedPage(page, {}, None, None, [], NOW)
    return plan_change(prepared, current, None, LIMITS)


async def read(records: Records, *, with_content: bool = True) -> StoredPage:
    return await records.read(PROJECT, lambda unit: find_page(unit, "a", with_content=with_content))


async def test_what_is_returned_is_what_is_stored(records: Records) -> None:
    writer = PageWriter(records)
    (created,) = await writer.create(PROJECT, [change("one", session_id="s")])
    assert created == WrittenPage(await read(records), is_new=True)
    replaced = await writer.replace(
        PROJECT, created.page, change("two", created.page, session_id="t")
    )
    assert replaced == WrittenPage(await read(records), is_new=False)
    assert (replaced.page.version, replaced.page.content) == (2, b'"two"')


async def test_nothing_is_left_of_a_write_over_what_is_not_there(records: Records) -> None:
    writer = PageWriter(records)
    first = (await writer.create(PROJECT, [change("one")]))[0].page
    second = (await writer.replace(PROJECT, first, change("two", first))).page
    with pytest.raises(PageChangedError):
        await writer.replace(PROJECT, first, change("three", first, session_id="new"))
    with pytest.raises(PageChangedError):
        await writer.remove(PROJECT, first)
    with pytest.raises(PageChangedError) as raised:
        await writer.create(PROJECT, [change("four", session_id="new")])
    assert raised.value.existing == [0]
    assert await read(records) == second
    async with reading(records, PROJECT) as unit:
        assert await unit[SessionRecords].find("new") is None
    await writer.remove(PROJECT, second)
    async with reading(records, PROJECT) as unit:
        assert await unit[PageRecords].find("a", with_content=False) is None


@pytest.mark.parametrize(
    "bodies",
    [
        (b'{"modality":"text","content":"one"}', b'{"modality":"text","content":"two"}'),
        (b'{"modality":"structured","content":[1]}', b'{"modality":"structured","content":[2]}'),
        (
            b'{"modality":"text","content":"same","hint":"one"}',
            b'{"modality":"text","content":"same","hint":"two"}',
        ),
    ],
    ids=["text", "data", "other fields"],
)
async def test_small_page_is_written_without_a_worker_thread(
    records: Records, tmp_path: Path, bodies: tuple[bytes, bytes]
) -> None:
    blobs = FilesystemBlobStore(tmp_path)
    pages = pages_of(records, blobs)
    threads = anyio.to_thread.current_default_thread_limiter()
    taken = [object() for _ in range(int(threads.available_tokens))]
    with ExitStack() as stack:
        for item in taken:
            threads.acquire_on_behalf_of_nowait(item)
            stack.callback(threads.release_on_behalf_of, item)
        # Whoever needs a thread waits for ever.
        with anyio.fail_after(60):
            written = [
                await pages.put(PROJECT, "a", chunks(body), condition=lambda _: None)
                for body in bodies
            ]
    assert [(item.is_new, item.page.version) for item in written] == [(True, 1), (False, 2)]


def pages_of(records: Records, blobs: FilesystemBlobStore) -> Pages:
    memory = MemoryBudget(LIMITS.memory_bytes)
    budget, work = BodyBudget(memory, text_limit_bytes=LIMITS.text_bytes), LargeWork(LIMITS)
    bodies = StreamedBodies(blobs, work, budget, limit_bytes=LIMITS.medium_bytes)
    images = ImageWork(memory, LIMITS)
    return Pages(
        records,
        PagePreparer(records, blobs, images=images, limits=LIMITS),
        PageWriter(records),
        bodies=StreamedRequests(bodies),
        accesses=AccessCounts(records),
        limits=LIMITS,
    )


async def chunks(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def test_writers_of_one_process_plan_once(records: Records) -> None:
    writer = PageWriter(records)
    (created,) = await writer.create(PROJECT, [change("one")])
    attempts = []

    async def attempt() -> None:
        current = await read(records, with_content=False)
        attempts.append(current.version)
        await writer.replace(PROJECT, current, change(f"after {current.version}", current))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(writer.retry, PROJECT, "a", attempt)
    assert attempts == list(range(1, 21))
    page = await read(records)
    assert (page.version, page.page_number) == (21, created.page.page_number)


async def test_writers_of_two_processes_all_write_and_counters_go_on(
    processes: list[Records],
) -> None:
    writers = [PageWriter(records) for records in processes]
    await writers[0].create(PROJECT, [change("one")])
    written = []

    async def write(number: int) -> None:
        async def attempt() -> None:
            current = await read(processes[number], with_content=False)
            following = change(f"after {current.version}", current)
            written.append(
                (await writers[number].replace(PROJECT, current, following)).page.version
            )

        await writers[number].retry(PROJECT, "a", attempt)

    async def count(number: int) -> None:
        await processes[number].write(
            PROJECT, lambda unit: unit[PageAccessRecords].add({"a": (1, utc_now())})
        )

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(write, number % 2)
            tasks.start_soon(count, number % 2)
    assert sorted(written) == list(range(2, 22))
    page = await read(processes[0])
    assert (page.version, page.access_count) == (21, 20)


async def test_who_is_overtaken_every_time_is_told(records: Records) -> None:
    attempts = 0

    async def attempt() -> None:
        nonlocal attempts
        attempts += 1
        raise PageChangedError

    with pytest.raises(ConflictError) as raised:
        await PageWriter(records).retry(PROJECT, "a", attempt)
    assert (raised.value.problem_code, attempts) == ("page-contended", 100)
