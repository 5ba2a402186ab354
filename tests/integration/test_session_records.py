"""The records of sessions, on both engines: order, counters, what is used, and letting go of it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from app.models.message import StoredEntry, StoredHistoryMessage, StoredMessage
from app.models.session import (
    ANSWER,
    INTERACTION,
    MESSAGE,
    PAGE_FAULT,
    TOOL_RESULT,
    EntryKind,
    HistoryCounts,
    ResourceRelease,
    ResourceUsage,
    Session,
    SessionFilter,
    SessionUse,
)
from app.models.stored_interaction import InputKind, StoredAnswer, StoredInteraction
from app.models.tool_result import StoredToolResult
from app.stores.records.aliases import AliasRecords, AliasTarget
from app.stores.records.answered_calls import AnsweredCallRecords
from app.stores.records.history import MessageRecords, SessionHistory
from app.stores.records.interactions import InteractionRecords
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.session_resources import SessionResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.tool_results import ToolResultRecords
from pagefault_bundles.bundle_records import BundleRecords
from pagefault_dialects.model.resource import MediaHints, Resource
from tests.kit.units import OpenUnit, reading, writing

pytestmark = pytest.mark.anyio
PROJECT = "p"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
KINDS: tuple[InputKind, ...] = ("text", "dict", "multimodal")
LATER = NOW + timedelta(microseconds=1)


class GivenUpError(Exception):
    """An error that rolls a transaction back."""


def resource(number: int, *, digest: str | None = None, size: int = 10) -> Resource:
    return Resource(
        resource_id=f"{number:032x}",
        digest=digest or f"{number:064x}",
        mime_type="image/png",
        filename=None,
        size_bytes=size,
        kind="image",
        hints=MediaHints(),
        created_at=NOW,
    )


def interaction(number: int, session_id: str = "s") -> StoredInteraction:
    return StoredInteraction(
        interaction_id=f"i{number}",
        session_id=session_id,
        seq=number,
        input_kind=KINDS[number % 3],
        timestamp="2023-10-27T10:00:00+02:00",
        created_at=NOW,
        input=b'"\x00 \xf0\x9f\x98\x80"',
    )


def message(number: int, *, inline_form: str | None = None) -> StoredHistoryMessage:
    return StoredHistoryMessage(
        seq=number,
        message_id=f"m{number}",
        created_at=NOW,
        tool_call_id=f"c{number}\x00",
        request_digest="d" * 64,
        message=b'{"role":"tool"}',
        inline_form=inline_form,
    )


async def link(
    unit: OpenUnit, resources: Sequence[Resource], owner_id: str, session_id: str | None
) -> None:
    await unit[ResourceRecords].ensure_linked(
        resources, owner_kind=MESSAGE, owner_id=owner_id, session_id=session_id
    )


async def one_of_each(unit: OpenUnit) -> list[StoredEntry]:
    """A history of every kind of entry; the answer is set behind what came after its question."""
    await unit[SessionRecords].ensure("s", NOW)
    assert await unit[SessionRecords].append("s", INTERACTION, "i1") == 1
    await unit[BundleRecords].add_interactions([interaction(1)])
    assert await unit[SessionRecords].append("s", PAGE_FAULT, "m2") == 2
    await unit[BundleRecords].add_messages("s", [message(2)])
    assert await unit[SessionRecords].append("s", MESSAGE, "m3") == 3
    await unit[BundleRecords].add_messages("s", [message(3, inline_form='{"\x00":1}')])
    assert await unit[SessionRecords].append("s", TOOL_RESULT, "r4") == 4
    result = StoredToolResult("r4", "s", 4, NOW, "t", "c4", b"{}")
    await unit[ToolResultRecords].add(result, success=True, request_digest="d")
    assert await unit[SessionRecords].append("s", ANSWER, "i1") == 5
    await unit[InteractionRecords].set_output("i1", b'{"role":"user"}', answer_seq=5, now=LATER)
    answered = replace(interaction(1), output=b'{"role":"user"}', answer_seq=5, answered_at=LATER)
    return [
        answered,
        replace(message(2), is_page_fault=True),
        message(3, inline_form='{"\x00":1}'),
        StoredMessage(4, "r4", NOW, "c4", "t", b"{}"),
        StoredAnswer(5, "i1", LATER, b'{"role":"user"}'),
    ]


async def test_entries_of_every_kind_come_in_order(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        expected = await one_of_each(unit)
    async with reading(records, PROJECT) as unit:
        for after in range(6):
            for limit in (1, 2, 5):
                found = await unit[SessionHistory].entries("s", after_seq=after, limit=limit)
                assert found == expected[after : after + limit]
        assert await unit[SessionHistory].entries("t", after_seq=0, limit=9) == []
    async with reading(records, "other") as unit:
        assert await unit[SessionHistory].entries("s", after_seq=0, limit=9) == []


async def test_interaction_shows_its_first_output_only_where_it_came_along(
    records: Records,
) -> None:
    along = replace(interaction(2), output=b"{}")
    async with writing(records, PROJECT) as unit:
        (answered, *_) = await one_of_each(unit)
        await unit[BundleRecords].add_interactions([along])
    found = await records.read(PROJECT, lambda unit: unit[InteractionRecords].find("s", "i2"))
    again = await records.read(PROJECT, lambda unit: unit[InteractionRecords].find("s", "i1"))
    assert (found, again) == (along, answered)
    assert found is not None
    assert again is not None
    assert (found.first_output, again.first_output) == (b"{}", None)


async def test_every_kind_has_a_counter(records: Records) -> None:
    kinds: list[EntryKind] = ["tool_result", "page_fault", "message", "interaction", "answer"]
    async with writing(records, PROJECT) as unit:
        await unit[SessionRecords].ensure("s", NOW)
        await unit[SessionRecords].ensure("t", NOW)
        for times, kind in enumerate(kinds, 1):
            for number in range(times):
                await unit[SessionRecords].append("s", kind, f"{kind}{number}")
    async with reading(records, PROJECT) as unit:
        assert await unit[SessionRecords].find("s") == Session(
            "s", NOW, NOW, 15, HistoryCounts(1, 2, 3, 4, 5)
        )
        assert await unit[SessionRecords].find("t") == Session("t", NOW, NOW, 0)


async def test_rollback_gives_number_and_counter_back(records: Records) -> None:
    with suppress(GivenUpError):
        async with writing(records, PROJECT) as unit:
            await one_of_each(unit)
            raise GivenUpError
    async with writing(records, PROJECT) as unit:
        assert await unit[SessionRecords].find("s") is None
        await one_of_each(unit)


async def test_session_is_added_once_with_its_counts(records: Records) -> None:
    given = Session("s", NOW, LATER, 15, HistoryCounts(1, 2, 3, 4, 5))
    async with writing(records, PROJECT) as unit:
        assert await unit[SessionRecords].add(given)
        assert not await unit[SessionRecords].add(replace(given, last_seq=99))
        assert await unit[SessionRecords].find_and_lock("s") == given
        assert await unit[SessionRecords].find_and_lock("t") is None
    async with writing(records, "other") as unit:
        assert await unit[SessionRecords].find_and_lock("s") is None
        assert await unit[SessionRecords].add(Session("s", NOW, NOW, 0))


async def test_sessions_are_paged_last_written_first(records: Records) -> None:
    names = ["a", "B", "c", "d", "e"]
    async with writing(records, PROJECT) as unit:
        for number, name in enumerate(names):
            await unit[SessionRecords].ensure(name, NOW + timedelta(microseconds=number // 2))
        await unit[SessionRecords].ensure("a", NOW + timedelta(seconds=1))
    await records.write("other", lambda unit: unit[SessionRecords].ensure("x", NOW))
    async with reading(records, PROJECT) as unit:
        whole = [
            item.session_id
            for item in await unit[SessionRecords].list_sessions(
                SessionFilter(), before=None, limit=9
            )
        ]
        assert (whole[0], whole[1], sorted(whole)) == ("a", "e", sorted(names))
        paged: list[str] = []
        before = None
        while page := await unit[SessionRecords].list_sessions(
            SessionFilter(), before=before, limit=2
        ):
            paged += [item.session_id for item in page]
            before = page[-1].updated_at, page[-1].session_id
        assert paged == whole


async def test_interactions_are_paged_by_seq_and_kind(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        for number in (5, 3, 1, 4, 2, 6):
            await unit[BundleRecords].add_interactions([interaction(number)])
        await unit[BundleRecords].add_interactions([replace(interaction(7), session_id="t")])
    async with reading(records, PROJECT) as unit:
        page = unit[InteractionRecords].list_interactions
        every = await page("s", input_kind=None, after_seq=0, limit=9)
        assert every == [interaction(number) for number in range(1, 7)]
        assert await page("s", input_kind="dict", after_seq=0, limit=9) == [every[0], every[3]]
        assert await page("s", input_kind="dict", after_seq=1, limit=9) == [every[3]]
        assert await page("s", input_kind="text", after_seq=0, limit=1) == [every[2]]
        assert await page("s", input_kind=None, after_seq=6, limit=9) == []
        assert await unit[InteractionRecords].find("t", "i1") is None
    assert (
        await records.read("other", lambda unit: unit[InteractionRecords].find("s", "i1")) is None
    )


async def test_use_counts_blobs_once_and_base64_in_every_record(records: Records) -> None:
    first = resource(1, size=10)
    renamed = resource(2, digest=first.digest, size=10)
    other = resource(3, size=2**40)
    empty = resource(4, size=0)
    async with writing(records, PROJECT) as unit:
        await link(unit, [first, renamed, empty], "m1", "s")
        await link(unit, [first, other], "m2", "s")
        await link(unit, [first], "m3", "t")
        await link(unit, [other], "m4", None)
    async with writing(records, "other") as unit:
        await link(unit, [first], "m1", "s")
    async with reading(records, PROJECT) as unit:
        found = await unit[SessionResourceRecords].measure_use(["s", "t", "u"])
        assert await unit[SessionResourceRecords].measure_use([]) == {}
        assert await unit[SessionResourceRecords].all_of("s") == [first, renamed, other, empty]
    large = (2**40 + 2) // 3 * 4
    assert found == {
        "s": SessionUse(
            resources=4,
            images=4,
            bytes_referenced=10 + 2**40,
            bytes_inline=3 * 16 + large,
            tokens=5 * 258,
            last_image=other.resource_id,
        ),
        "t": SessionUse(
            resources=1,
            images=1,
            bytes_referenced=10,
            bytes_inline=16,
            tokens=258,
            last_image=first.resource_id,
        ),
        "u": SessionUse(),
    }
    assert (found["t"].bytes_saved, found["u"].bytes_saved) == (6, 0)


async def test_release_deletes_what_nobody_else_uses_and_names_who_does(records: Records) -> None:
    alone, shared, outside, untouched = (resource(number) for number in range(4))
    async with writing(records, PROJECT) as unit:
        await link(unit, [alone, shared, outside], "m1", "s")
        await link(unit, [alone], "m2", "s")
        await link(unit, [shared], "m4", "t")
        await link(unit, [shared], "m3", "u")
        await unit[ResourceRecords].ensure_linked(
            [shared, outside], owner_kind="page", owner_id="p1", session_id=None
        )
        await link(unit, [untouched], "m5", "t")
    async with writing(records, "other") as unit:
        await link(unit, [alone], "m1", "s")
    released = await records.write(PROJECT, lambda unit: unit[SessionResourceRecords].release("s"))
    assert released == [
        ResourceRelease(alone.resource_id, 10),
        ResourceRelease(
            shared.resource_id,
            10,
            (ResourceUsage("message", 2, "m3"), ResourceUsage("page", 1, "p1")),
        ),
        ResourceRelease(outside.resource_id, 10, (ResourceUsage("page", 1, "p1"),)),
    ]
    async with reading(records, PROJECT) as unit:
        assert await unit[ResourceRecords].find(alone.resource_id) is None
        kept = [shared, outside, untouched]
        assert await unit[ResourceRecords].find_all([item.resource_id for item in kept]) == {
            item.resource_id: item for item in kept
        }
        assert await unit[ResourceRecords].list_owners(shared.resource_id, limit=9) == [
            ("message", "m3"),
            ("message", "m4"),
            ("page", "p1"),
        ]
        assert await unit[SessionResourceRecords].all_of("s") == []
        assert (await unit[SessionResourceRecords].measure_use(["s"]))["s"] == SessionUse()
    assert await records.read("other", lambda unit: unit[SessionResourceRecords].all_of("s")) == [
        alone
    ]


async def test_release_of_more_than_a_thousand_resources_is_whole(records: Records) -> None:
    many = [resource(number) for number in range(2_100)]
    async with writing(records, PROJECT) as unit:
        await link(unit, many, "m1", "s")
        await link(unit, many[::100], "m2", "t")
        released = await unit[SessionResourceRecords].release("s")
        assert await unit[SessionResourceRecords].all_of("t") == many[::100]
    assert [item.resource_id for item in released] == [item.resource_id for item in many]
    assert [bool(item.used_by) for item in released] == [
        number % 100 == 0 for number in range(2_100)
    ]


async def others_get_their_turn(unit: OpenUnit) -> None:
    """Go to the database and back often enough for others to come as far as they can."""
    for _ in range(30):
        await unit[SessionRecords].find("s")


async def test_resource_linked_while_it_is_released_is_there_afterwards(records: Records) -> None:
    kept = resource(1)
    linked: list[str] = []
    async with writing(records, PROJECT) as unit:
        await link(unit, [kept], "m1", "s")

    async def link_meanwhile() -> None:
        async with writing(records, PROJECT) as unit:
            await link(unit, [kept], "m2", "t")
            linked.append("m2")

    async with anyio.create_task_group() as tasks, writing(records, PROJECT) as unit:
        await unit[SessionResourceRecords].release("s")
        tasks.start_soon(link_meanwhile)
        await others_get_their_turn(unit)
        assert linked == []
    async with reading(records, PROJECT) as unit:
        assert await unit[ResourceRecords].find(kept.resource_id) == kept
        assert await unit[ResourceRecords].list_owners(kept.resource_id, limit=9) == [
            ("message", "m2")
        ]


async def test_release_waits_for_who_is_linking_and_sees_the_link(records: Records) -> None:
    kept = resource(1)
    released: list[ResourceRelease] = []
    async with writing(records, PROJECT) as unit:
        await link(unit, [kept], "m1", "s")

    async def release_meanwhile() -> None:
        async with writing(records, PROJECT) as unit:
            released.extend(await unit[SessionResourceRecords].release("s"))

    async with anyio.create_task_group() as tasks, writing(records, PROJECT) as unit:
        await link(unit, [kept], "m2", "t")
        tasks.start_soon(release_meanwhile)
        await others_get_their_turn(unit)
        assert released == []
    user = ResourceUsage("message", 1, "m2")
    assert released == [ResourceRelease(kept.resource_id, 10, (user,))]


async def test_links_and_releases_at_once_never_leave_a_link_to_nothing(records: Records) -> None:
    kept = [resource(number) for number in range(5)]

    async def write(number: int) -> None:
        async with writing(records, PROJECT) as unit:
            if number % 3:
                await link(unit, kept[:: 1 - number % 2 * 2], f"m{number}", f"s{number % 2}")
            else:
                await unit[SessionResourceRecords].release(f"s{number % 2}")

    async with anyio.create_task_group() as tasks:
        for number in range(60):
            tasks.start_soon(write, number)
    async with writing(records, PROJECT) as unit:
        for session_id in ("s0", "s1"):
            used = await unit[SessionResourceRecords].all_of(session_id)
            assert used in ([], kept)
            await unit[SessionResourceRecords].release(session_id)
        assert await unit[ResourceRecords].find_all([item.resource_id for item in kept]) == {}


async def test_removed_session_leaves_nothing_and_its_neighbours_whole(records: Records) -> None:
    async with writing(records, "other") as unit:
        expected = await one_of_each(unit)
    async with writing(records, PROJECT) as unit:
        await one_of_each(unit)
        await unit[SessionRecords].ensure("t", NOW)
        await unit[SessionRecords].append("t", INTERACTION, "i9")
        await unit[BundleRecords].add_interactions([replace(interaction(9, "t"), seq=1)])
        await unit[SessionRecords].remove("s")
        assert await unit[SessionRecords].find("s") is None
        assert await unit[SessionHistory].entries("s", after_seq=0, limit=9) == []
        assert await unit[InteractionRecords].find("s", "i1") is None
        assert await unit[MessageRecords].find("m3") is None
        assert await unit[AnsweredCallRecords].newest_answer("s", "c4") is None
        (kept,) = await unit[SessionHistory].entries("t", after_seq=0, limit=9)
        assert kept == replace(interaction(9, "t"), seq=1)
        await one_of_each(unit)
    async with reading(records, "other") as unit:
        assert await unit[SessionHistory].entries("s", after_seq=0, limit=9) == expected


async def test_session_entered_while_it_is_deleted_is_a_new_one(records: Records) -> None:
    entered: list[Session] = []
    async with writing(records, PROJECT) as unit:
        await one_of_each(unit)

    async def enter_meanwhile() -> None:
        entered.append(
            await records.write(PROJECT, lambda unit: unit[SessionRecords].ensure("s", LATER))
        )

    async with anyio.create_task_group() as tasks, writing(records, PROJECT) as unit:
        assert await unit[SessionRecords].find_and_lock("s") is not None
        tasks.start_soon(enter_meanwhile)
        await others_get_their_turn(unit)
        assert entered == []
        await unit[SessionRecords].remove("s")
    assert entered == [Session("s", LATER, LATER, 0)]


ODD_NAMES = ("a'b", 'a"b', "a\\b", "{a,b}", "[1]", "NULL", "?", "%s", ":a", "\u2028", "é🐑", "a\nb")


async def test_rows_are_found_by_any_of_many_texts_whatever_they_hold(records: Records) -> None:
    first, second = resource(1), resource(2)
    given = {name: AliasTarget(first.resource_id, NOW) for name in ODD_NAMES}
    taken = {name: AliasTarget(second.resource_id, NOW) for name in (*ODD_NAMES, "free")}
    async with writing(records, PROJECT) as unit:
        for item in (first, second):
            await unit[ResourceRecords].ensure(item)
        assert await unit[AliasRecords].add_all(given) == []
    async with writing(records, PROJECT) as unit:
        assert sorted(await unit[AliasRecords].add_all(taken)) == sorted(ODD_NAMES)
