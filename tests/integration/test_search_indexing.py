"""The backlog of the search index: everything once, by any process, and after an interruption."""

import asyncio
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest
from sqlalchemy import delete, select, update
from structlog.testing import capture_logs

from app.models.message import StoredHistoryMessage
from app.models.session import MESSAGE
from app.services.search.backlog import BacklogGauge
from app.services.search.indexing import SearchIndexing
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.search_entries import SearchEntryRecords
from app.stores.records.search_queue import measure_queue
from app.stores.records.search_tables import search_entries, stemless_pages
from app.stores.records.session_resources import SessionResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.tables import messages, session_tools
from app.stores.records.text_search import (
    ENTRY_INDEX,
    PAGE_INDEX,
    RankedMatch,
    SearchedIndex,
    find_texts,
)
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.word_indexes import choose_entry_index, choose_page_index
from app.telemetry.metrics import Metrics
from app.words.search_terms import SearchableText, parse_search, search_words
from pagefault_bundles.bundle_records import BundleRecords
from tests.integration.test_page_search import index
from tests.integration.test_session_records import resource
from tests.kit.units import writing

pytestmark = pytest.mark.anyio
PROJECT = "p"
OTHER = "other"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
MESSAGES = 80


def add_messages(unit: UnitOfWork) -> None:
    unit[SessionRecords].ensure("s", NOW)
    for number in range(1, MESSAGES + 1):
        text = b"\x00" if number == 1 else b'{"role":"user","content":"walruses %d"}' % number
        message = StoredHistoryMessage(number, f"m{number}", NOW, None, "d" * 64, text)
        unit[SessionRecords].append("s", MESSAGE, message.message_id)
        unit[BundleRecords].add_messages("s", [message])


def found(text: str) -> Callable[[UnitOfWork], list[RankedMatch]]:
    def search(unit: UnitOfWork) -> list[RankedMatch]:
        pages, entries = choose_page_index(unit), choose_entry_index(unit)
        places = [
            SearchedIndex(PAGE_INDEX, pages, pages.required_marks()),
            SearchedIndex(ENTRY_INDEX, entries, entries.required_marks()),
        ]
        return list(find_texts(parse_search(text), places).matches)

    return search


def waiting(unit: UnitOfWork) -> int:
    return unit[SearchEntryRecords].count_waiting()


async def test_everything_is_indexed_once_by_processes_that_do_it_together(
    records: Records,
) -> None:
    await records.write(PROJECT, add_messages)
    assert await records.read(PROJECT, waiting) == MESSAGES
    indexing = [SearchIndexing(records) for _ in range(4)]
    done = 0
    while await records.read(PROJECT, waiting):
        done += sum(await asyncio.gather(*(item.index_all() for item in indexing)))
    assert done == MESSAGES
    matches = await records.read(PROJECT, found("walrus"))
    # One of them is no JSON: it has no words, and keeps none of the others waiting.
    assert len(matches) == len(set(matches)) == MESSAGES - 1


async def test_steps_of_a_long_backlog_take_entries_apart(records: Records) -> None:
    await records.write(PROJECT, add_messages)

    def numbers(unit: UnitOfWork, limit: int, skip: int = 0) -> list[int]:
        return [
            item.number for item in unit[SearchEntryRecords].list_waiting(limit=limit, skip=skip)
        ]

    every = await records.read(PROJECT, partial(numbers, limit=MESSAGES))
    apart = [
        await records.read(PROJECT, partial(numbers, limit=32, skip=skip)) for skip in (0, 32, 64)
    ]
    assert [number for step in apart for number in step] == every


async def test_metrics_show_how_many_entries_wait(records: Records) -> None:
    metrics = Metrics()
    exposed = []
    await records.write(PROJECT, add_messages)
    for _ in range(2):
        await BacklogGauge(records, metrics).measure()
        exposed += re.findall(r"^pagefault_search_backlog_entries (.*)$", text_of(metrics), re.M)
        await SearchIndexing(records).index_all()
    assert exposed == [f"{MESSAGES:.1f}", "0.0"]
    queue = await records.read_projects(measure_queue)
    assert (queue.waiting, queue.oldest) == (0, None)
    assert queue.newest >= MESSAGES


def text_of(metrics: Metrics) -> str:
    return metrics.exposition().decode()


async def test_step_that_is_broken_off_is_done_again(records: Records) -> None:
    await records.write(PROJECT, add_messages)

    def broken_off(unit: UnitOfWork) -> None:
        entries = unit[SearchEntryRecords].list_waiting(limit=10)
        unit[SearchEntryRecords].index(dict.fromkeys(entries))
        raise InterruptedError

    with pytest.raises(InterruptedError):
        await records.write(PROJECT, broken_off)
    assert await records.read(PROJECT, waiting) == MESSAGES
    assert await SearchIndexing(records).catch_up(PROJECT) == 0
    assert len(await records.read(PROJECT, found("walrus"))) == MESSAGES - 1


async def test_entries_that_cannot_be_indexed_delay_their_own_project_only(
    records: Records,
) -> None:
    def queue_again(unit: UnitOfWork) -> None:
        # Their words are in the index already, so the insertion fails.
        unit.scope.execute(update(search_entries).values(indexed=0))

    await records.write(OTHER, add_messages)
    await SearchIndexing(records).index_all()
    await records.write(OTHER, queue_again)
    await records.write(PROJECT, add_messages)
    indexing = SearchIndexing(records)
    with capture_logs() as logs:
        assert [await indexing.index_all() for _ in range(2)] == [MESSAGES, 0]
    failed = [line["project_id"] for line in logs if line["log_level"] == "error"]
    assert failed == [OTHER]
    assert await records.read(OTHER, waiting) == MESSAGES


async def test_what_changed_while_it_was_prepared_waits_on(records: Records) -> None:
    await records.write(PROJECT, add_messages)

    def overtaken(unit: UnitOfWork) -> int:
        (entry,) = unit[SearchEntryRecords].list_waiting(limit=1)
        before = replace(entry, revision=entry.revision - 1)
        return unit[SearchEntryRecords].index({before: None})

    assert await records.write(PROJECT, overtaken) == 0
    assert await records.read(PROJECT, waiting) == MESSAGES


async def test_pages_of_before_get_their_stems(records: Records) -> None:
    said = {"a": SearchableText(("Sunsets",), ("running",)), "b": SearchableText((), ("sunset",))}
    async with writing(records, PROJECT) as unit:
        without = {key: replace(search_words(text), stems="") for key, text in said.items()}
        numbers = await index(unit, without)
        await unit.run(lambda unit: forget_stems(unit, numbers.values()))
    assert await records.read(PROJECT, waiting) == 2
    assert len(await records.read(PROJECT, found("sunset"))) == 1
    assert await SearchIndexing(records).index_all() == 2
    assert await SearchIndexing(records).index_all() == 0
    assert len(await records.read(PROJECT, found("sunset"))) == 2
    assert len(await records.read(PROJECT, found("runs"))) == 1


async def test_entries_of_before_are_indexed_once_more_with_their_tools(records: Records) -> None:
    def add_calls(unit: UnitOfWork) -> None:
        unit[SessionRecords].ensure("s", NOW)
        for number in range(1, 4):
            text = (
                b'{"role":"assistant","tool_calls":[{"id":"c","type":"function",'
                b'"function":{"name":"tool%d","arguments":"{}"}}]}' % number
            )
            message = StoredHistoryMessage(
                *(number, f"m{number}", NOW, None, "d" * 64, text),
                dialect="openai-chat",
                reading=1,
            )
            unit[SessionRecords].append("s", MESSAGE, message.message_id)
            unit[BundleRecords].add_messages("s", [message])

    def forget(unit: UnitOfWork) -> None:
        unit.scope.execute(update(search_entries).values(form=0))
        unit.scope.execute(delete(session_tools))

    def called(unit: UnitOfWork) -> list[str]:
        return [tool.name for tool in unit[SessionRecords].called_tools(after="", limit=9)]

    await records.write(PROJECT, add_calls)
    assert await SearchIndexing(records).index_all() == 3
    assert await records.read(PROJECT, called) == ["tool1", "tool2", "tool3"]
    assert await SearchIndexing(records).index_all() == 0
    await records.write(PROJECT, forget)
    # They do not wait: their words are found as before.
    assert await records.read(PROJECT, waiting) == 0
    assert len(await records.read(PROJECT, found("tool1"))) == 1
    assert await SearchIndexing(records).index_all() == 3
    assert await records.read(PROJECT, called) == ["tool1", "tool2", "tool3"]
    assert len(await records.read(PROJECT, found("tool1"))) == 1
    assert await SearchIndexing(records).index_all() == 0


@pytest.mark.engines("server")
async def test_index_waits_for_no_message_that_another_transaction_removes(
    records: Records,
) -> None:
    """That transaction waits for the entry of the message. The failures in it stay counted."""
    failed = b'[{"type":"tool_result","tool_use_id":"c","content":"No.","is_error":true}]'

    def add_failure(unit: UnitOfWork) -> None:
        unit[SessionRecords].ensure("s", NOW)
        text = b'{"role":"user","content":%s}' % failed
        message = StoredHistoryMessage(
            *(1, "m1", NOW, None, "d" * 64, text), dialect="anthropic", reading=1, failures=1
        )
        unit[SessionRecords].append("s", MESSAGE, message.message_id)
        unit[BundleRecords].add_messages("s", [message])

    def failures(unit: UnitOfWork) -> int:
        return unit[SessionResourceRecords].measure_use(["s"])["s"].failures

    await records.write(PROJECT, add_failure)
    async with writing(records, PROJECT) as unit:
        await unit.scope.execute(select(messages).with_for_update())
        assert await SearchIndexing(records).index_all() == 1
    assert await records.read(PROJECT, failures) == 1


def forget_stems(unit: UnitOfWork, numbers: Collection[int]) -> None:
    rows = [{"page_number": number} for number in numbers]
    unit.scope.insert_new(stemless_pages, rows)


async def test_file_waits_again_when_a_session_takes_it_up_or_lets_it_go(records: Records) -> None:
    file = replace(resource(1), filename="walrus.png")

    def link(unit: UnitOfWork, session_id: str | None) -> None:
        unit[ResourceRecords].ensure_linked(
            [file], owner_kind="page", owner_id="p", session_id=session_id
        )

    await records.write(PROJECT, lambda unit: link(unit, "s"))
    changes = {
        "the same again": (lambda unit: link(unit, "s"), 0),
        "another session": (lambda unit: link(unit, "t"), 1),
        "none": (lambda unit: link(unit, None), 1),
        "one again": (lambda unit: link(unit, "s"), 1),
        "the owner is gone": (lambda unit: unit[ResourceRecords].unlink("page", "p"), 1),
    }
    waited = {}
    for name, (change, _) in changes.items():
        assert await SearchIndexing(records).catch_up(PROJECT) == 0
        await records.write(PROJECT, change)
        waited[name] = await records.read(PROJECT, waiting)
    assert waited == {name: count for name, (_, count) in changes.items()}
