"""The records of pages, on both engines: what they keep, hold, count and list."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from app.stores.records.page_accesses import PageAccessRecords
from app.stores.records.pages import PageLevelRecords, PageRecords
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from pagefault_dialects.model.page import (
    Level,
    PageFields,
    PageFilters,
    PageVersion,
    StoredPage,
    StoredRepresentation,
)
from pagefault_dialects.model.resource import MediaHints, Resource
from tests.kit.units import OpenUnit, reading, writing

pytestmark = pytest.mark.anyio
PROJECT = "p"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
LATER = NOW + timedelta(microseconds=1)


def version(page_id: str = "a", number: int = 1, **fields: object) -> PageVersion:
    return PageVersion(
        page_id=page_id,
        fields=PageFields.model_validate(fields),
        version=number,
        descriptor=b'{"page_id":"%s"}' % page_id.encode(),
        content=bytes(range(256)),
        body=b"body\x00",
        inline_form="form\x00\x1a\U0001f600",
        digest=f"{number:064x}",
        created_at=NOW,
    )


def stored(page_number: int, kept: PageVersion, *, with_content: bool = False) -> StoredPage:
    return StoredPage(
        page_number=page_number,
        page_id=kept.page_id,
        version=kept.version,
        descriptor=kept.descriptor,
        content=kept.content if with_content else None,
        body=kept.body,
        inline_form=kept.inline_form,
        digest=kept.digest,
        fetched_resource_id=None,
        created_at=kept.created_at,
        last_accessed=None,
        access_count=0,
    )


def representation(level: Level, body: bytes = b"x") -> StoredRepresentation:
    return StoredRepresentation(level=level, origin="derived", body=body, created_at=NOW)


async def insert(unit: OpenUnit, *page_ids: str, **fields: object) -> dict[str, int]:
    versions = [version(page_id, 1, **fields) for page_id in page_ids]
    numbers: dict[str, int] = await unit[PageRecords].insert_absent(versions)
    return numbers


async def listed(unit: OpenUnit, **filters: object) -> list[str]:
    narrowed = PageFilters(**filters)  # type: ignore[arg-type] # each test names real filters
    numbers = await unit[PageRecords].list_numbers(narrowed, before=None, limit=99)
    found = await unit[PageRecords].find_numbered(numbers)
    return [found[number].page_id for number in numbers]


async def in_manifest(unit: OpenUnit, session_id: str, limit: int = 9) -> list[str]:
    places = await unit[PageRecords].find_manifest_positions(session_id, after=None, limit=limit)
    assert places == sorted(places, reverse=True)
    for index, place in enumerate(places):
        rest = await unit[PageRecords].find_manifest_positions(session_id, after=place, limit=limit)
        assert rest[: limit - index - 1] == places[index + 1 :]
    numbers = [place.page_number for place in places]
    found = await unit[PageRecords].find_numbered(numbers)
    return [found[number].page_id for number in numbers]


async def test_page_is_read_as_it_was_stored(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        numbers = await insert(unit, "a")
    whole = stored(numbers["a"], version(), with_content=True)
    bare = replace(whole, content=None)
    async with reading(records, PROJECT) as unit:
        assert await unit[PageRecords].find("a", with_content=True) == whole
        assert await unit[PageRecords].find("a", with_content=False) == bare
        assert await unit[PageRecords].find_numbered([numbers["a"], 999_999]) == {
            numbers["a"]: bare
        }
        assert await unit[PageRecords].find("b", with_content=True) is None


async def test_content_is_read_as_far_as_it_is_wanted(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        number = (await insert(unit, "a"))["a"]
    async with reading(records, PROJECT) as unit:
        for size_bytes, content in ((256, version().content), (255, None)):
            found = await unit[PageRecords].find_numbered([number], content_up_to=size_bytes)
            assert found[number].content == content
        found = await unit[PageRecords].find_numbered([number], content_up_to=2**40)
        assert found[number].content == version().content


async def test_few_and_large_pages_are_read_alike(records: Records) -> None:
    contents = {f"page-{number}": b"%d" % number * 30_000 for number in range(20)}
    large = replace(version("large"), descriptor=b"x" * 100_000)
    versions = [replace(version(key), content=content) for key, content in contents.items()]
    async with writing(records, PROJECT) as unit:
        numbers = await unit[PageRecords].insert_absent([*versions, large])
        kept = {numbers[page.page_id]: page for page in [*versions, large]}
        wanted = {
            number: stored(number, value, with_content=True) for number, value in kept.items()
        }
        assert (
            await unit[PageRecords].find_numbered(numbers.values(), content_up_to=65_536) == wanted
        )
    async with reading(records, PROJECT) as unit:
        for up_to in (1, 5, 20, 21):
            some = dict(list(wanted.items())[-up_to:])
            assert await unit[PageRecords].find_numbered(some, content_up_to=65_536) == some
        assert await unit[PageRecords].find_numbered([]) == {}
    assert await records.read("other", lambda unit: unit[PageRecords].find_numbered(wanted)) == {}


async def test_page_is_named_if_the_filters_let_it_pass(records: Records) -> None:
    passing = PageFilters("s", "image", "summary", True, Level.ABSTRACT)
    fields = {"session_id": "s", "modality": "image", "page_type": "summary", "pinned": True}
    async with writing(records, PROJECT) as unit:
        (number,) = (await insert(unit, "a", **fields, compression_level=2)).values()
    async with reading(records, PROJECT) as unit:
        for filters in (PageFilters(), passing):
            assert await unit[PageRecords].find_number("a", filters) == number
        for other in (
            PageFilters(session_id="t"),
            PageFilters(modality="text"),
            PageFilters(page_type="claim"),
            PageFilters(pinned=False),
            PageFilters(compression_level=Level.FULL),
            replace(passing, pinned=False),
        ):
            assert await unit[PageRecords].find_number("a", other) is None
        assert await unit[PageRecords].find_number("b", passing) is None


async def test_taken_ids_are_left_as_they_are(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        first = await insert(unit, "b")
    second = await records.write(
        PROJECT,
        lambda unit: unit[PageRecords].insert_absent(
            [version("c", 7), version("b", 7), version("a", 7)]
        ),
    )
    assert second.keys() == {"a", "c"}
    kept = await records.read(PROJECT, lambda unit: unit[PageRecords].find("b", with_content=True))
    assert kept == stored(first["b"], version("b"), with_content=True)


async def test_numbers_grow_in_the_order_pages_are_given(records: Records) -> None:
    ids = [f"page-{number * 7919 % 1000}" for number in range(1_000)]
    async with writing(records, PROJECT) as unit:
        numbers = await insert(unit, *ids)
        later = await insert(unit, "a")
    assert sorted(numbers, key=lambda page_id: numbers[page_id]) == ids
    assert later["a"] > max(numbers.values())


@pytest.mark.parametrize(
    "change",
    [{"page_number": 999_999}, {"digest": "of another version"}, {"fetched_resource_id": "r"}],
    ids=["another page", "another version", "another file"],
)
async def test_page_that_is_not_as_it_was_read_stays(
    records: Records, change: dict[str, Any]
) -> None:
    async with writing(records, PROJECT) as unit:
        kept = stored((await insert(unit, "a"))["a"], version())
        read = replace(kept, **change)
        assert not await unit[PageRecords].replace(read, version("a", 2), fetched_resource_id="r")
        assert not await unit[PageRecords].remove(read)
    async with reading(records, PROJECT) as unit:
        assert await unit[PageRecords].find("a", with_content=False) == kept


async def test_number_of_a_removed_page_is_not_given_again(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        number = (await insert(unit, "a"))["a"]
        assert await unit[PageRecords].remove(stored(number, version()))
        assert not await unit[PageRecords].remove(stored(number, version()))
    async with writing(records, PROJECT) as unit:
        assert (await insert(unit, "a"))["a"] > number


async def test_replaced_page_keeps_its_number(records: Records) -> None:
    changed = version("a", 2, session_id="t", modality="image", pinned=True)
    async with writing(records, PROJECT) as unit:
        number = (await insert(unit, "a", session_id="s"))["a"]
        assert await unit[PageRecords].replace(
            stored(number, version(session_id="s")), changed, fetched_resource_id="r"
        )
    expected = replace(stored(number, changed, with_content=True), fetched_resource_id="r")
    async with reading(records, PROJECT) as unit:
        assert await unit[PageRecords].find("a", with_content=True) == expected
        assert await listed(unit, session_id="s") == []
        assert await listed(unit, session_id="t", modality="image", pinned=True) == ["a"]


async def test_download_is_noted_for_the_version_it_belongs_to(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        number = (await insert(unit, "a"))["a"]
        assert not await unit[PageRecords].set_fetched(number, "r", digest="of another version")
        assert await unit[PageRecords].set_fetched(number, "r", digest=version().digest)
    found = await records.read(
        PROJECT, lambda unit: unit[PageRecords].find("a", with_content=False)
    )
    assert found == replace(stored(number, version()), fetched_resource_id="r")


async def test_list_is_newest_first_and_goes_on_where_it_ended(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        numbers = await insert(unit, "c", "a", "b")
    async with reading(records, PROJECT) as unit:
        first = await unit[PageRecords].list_numbers(PageFilters(), before=None, limit=2)
        rest = await unit[PageRecords].list_numbers(PageFilters(), before=first[-1], limit=2)
        found = await unit[PageRecords].find_numbered([*first, *rest])
    assert [*first, *rest] == [numbers[name] for name in ("b", "a", "c")]
    assert found == {
        numbers[number]: stored(numbers[number], version(number)) for number in numbers
    }


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["d", "c", "b", "a"]),
        ({"session_id": "s"}, ["c", "a"]),
        ({"modality": "audio"}, ["d", "c"]),
        ({"page_type": "claim"}, ["b"]),
        ({"pinned": True}, ["d"]),
        ({"pinned": False}, ["c", "b", "a"]),
        ({"compression_level": Level.FULL}, ["d", "b", "a"]),
        ({"compression_level": Level.ABSTRACT}, ["c"]),
        ({"session_id": "s", "modality": "audio"}, ["c"]),
        ({"session_id": "none"}, []),
    ],
)
async def test_list_is_narrowed_by_every_filter(
    records: Records, filters: dict[str, object], expected: list[str]
) -> None:
    async with writing(records, PROJECT) as unit:
        await insert(unit, "a", session_id="s")
        await insert(unit, "b", page_type="claim")
        await insert(unit, "c", session_id="s", modality="audio", compression_level=2)
        await insert(unit, "d", modality="audio", pinned=True)
    async with reading(records, PROJECT) as unit:
        assert await listed(unit, **filters) == expected


async def test_manifest_has_pinned_then_important_then_new_pages_first(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await insert(unit, "important", session_id="s", importance=0.9)
        await insert(unit, "pinned", session_id="s", importance=0.1, pinned=True)
        await insert(unit, "old", "new", session_id="s", importance=0.5)
        await insert(unit, "offload_location", session_id="t", importance=1.0)
    async with reading(records, PROJECT) as unit:
        assert await in_manifest(unit, "s") == ["pinned", "important", "new", "old"]
        assert await in_manifest(unit, "s", limit=2) == ["pinned", "important"]
        assert await unit[PageRecords].count_in_session("s") == 4
        assert await unit[PageRecords].count_in_session("none") == 0


async def test_levels_are_replaced_together(records: Records) -> None:
    reduced, abstract = representation(Level.REDUCED), representation(Level.ABSTRACT)
    supplied = replace(representation(Level.REFERENCE, b"new"), origin="supplied")
    async with writing(records, PROJECT) as unit:
        await insert(unit, "a", "b")
        await unit[PageLevelRecords].replace_many({"b": [abstract], "a": [abstract, reduced]})
        assert await unit[PageLevelRecords].find("a") == [reduced, abstract]
        await unit[PageLevelRecords].replace_many({"a": [supplied]})
        assert await unit[PageLevelRecords].find("a") == [supplied]
        assert await unit[PageLevelRecords].find("b") == [abstract]
        await unit[PageLevelRecords].replace_many({"a": []})
        assert await unit[PageLevelRecords].find("a") == []


async def test_accesses_are_added_and_the_later_moment_stays(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        numbers = await insert(unit, "a", "b")
        await unit[PageAccessRecords].add({"a": (2, LATER)})
        await unit[PageAccessRecords].add({"b": (1, NOW), "a": (3, NOW)})
        await unit[PageAccessRecords].add({})
    found = await records.read(
        PROJECT, lambda unit: unit[PageRecords].find_numbered(list(numbers.values()))
    )
    counted = [(page.page_id, page.access_count, page.last_accessed) for page in found.values()]
    assert sorted(counted) == [("a", 5, LATER), ("b", 1, NOW)]


async def test_accesses_of_a_page_that_is_gone_are_passed_over(records: Records) -> None:
    many = {f"gone-{number}": (1, NOW) for number in range(1_500)}
    async with writing(records, PROJECT) as unit:
        await insert(unit, "a")
        await unit[PageAccessRecords].add({**many, "a": (1, NOW)})
        await insert(unit, "gone-1")
    async with reading(records, PROJECT) as unit:
        found = [await unit[PageRecords].find(name, with_content=False) for name in ("a", "gone-1")]
    assert [page.access_count for page in found if page] == [1, 0]


async def test_everything_of_a_removed_page_is_gone(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        number = (await insert(unit, "a"))["a"]
        await unit[PageLevelRecords].replace_many({"a": [representation(Level.REDUCED)]})
        await unit[PageAccessRecords].add({"a": (5, NOW)})
        await unit[PageRecords].remove(stored(number, version()))
        again = (await insert(unit, "a"))["a"]
        assert await unit[PageLevelRecords].find("a") == []
        assert await unit[PageRecords].find("a", with_content=False) == stored(again, version())


async def test_of_two_that_create_a_page_one_wins(records: Records) -> None:
    outcomes: list[set[str]] = []

    async def create(page_ids: list[str]) -> None:
        async with writing(records, PROJECT) as unit:
            inserted = await insert(unit, *page_ids)
            await anyio.lowlevel.checkpoint()
        outcomes.append(set(inserted))

    ids = [f"page-{number}" for number in range(50)]
    async with anyio.create_task_group() as tasks:
        for index in range(8):
            tasks.start_soon(create, ids if index % 2 else ids[::-1])
    assert sorted(outcomes, key=len) == [set()] * 7 + [set(ids)]


async def test_of_changes_of_one_version_one_wins_and_counters_go_on(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await insert(unit, "a")
    changed: list[int] = []

    async def change() -> None:
        async with writing(records, PROJECT) as unit:
            current = await unit[PageRecords].find("a", with_content=False)
            assert current is not None
            await anyio.lowlevel.checkpoint()
            following = version("a", current.version + 1)
            if await unit[PageRecords].replace(current, following, fetched_resource_id=None):
                changed.append(current.version)
                return
        tasks.start_soon(change)

    async def count() -> None:
        await records.write(PROJECT, lambda unit: unit[PageAccessRecords].add({"a": (1, NOW)}))

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(change)
            tasks.start_soon(count)
    assert changed == list(range(1, 11))
    found = await records.read(
        PROJECT, lambda unit: unit[PageRecords].find("a", with_content=False)
    )
    assert found is not None
    assert (found.version, found.access_count) == (11, 10)


def resource(digit: str) -> Resource:
    return Resource(digit * 32, "d" * 64, "image/png", None, 1, "image", MediaHints(), NOW)


async def owned(unit: OpenUnit, session_id: str) -> set[str]:
    everything = [digit * 32 for digit in "123"]
    return {item[0] for item in await unit[ResourceRecords].find_in_session(everything, session_id)}


async def test_relinked_owner_refers_to_nothing_else_and_from_its_new_session(
    records: Records,
) -> None:
    async with writing(records, PROJECT) as unit:
        for digits, session_id in (("12", "s"), ("23", "t")):
            await unit[ResourceRecords].relink(
                [resource(digit) for digit in digits],
                owner_kind="page",
                owner_id="a",
                session_id=session_id,
            )
        await unit[ResourceRecords].relink(
            [resource("1")], owner_kind="page", owner_id="b", session_id="s"
        )
        assert (await owned(unit, "s"), await owned(unit, "t")) == ({"1"}, {"2", "3"})
        await unit[ResourceRecords].relink([], owner_kind="page", owner_id="b", session_id="s")
        await unit[ResourceRecords].unlink("page", "a")
        assert (await owned(unit, "s"), await owned(unit, "t")) == (set(), set())


async def test_nothing_of_another_projects_pages_is_seen_or_changed(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        number = (await insert(unit, "a", session_id="s"))["a"]
        await unit[PageLevelRecords].replace_many({"a": [representation(Level.REDUCED)]})
    async with writing(records, "other") as unit:
        assert await unit[PageRecords].find("a", with_content=True) is None
        assert await unit[PageRecords].find_numbered([number]) == {}
        assert await listed(unit) == []
        assert await in_manifest(unit, "s") == []
        assert await unit[PageRecords].count_in_session("s") == 0
        assert await unit[PageLevelRecords].find("a") == []
        kept = stored(number, version(session_id="s"))
        assert not await unit[PageRecords].remove(kept)
        assert not await unit[PageRecords].set_fetched(number, "r", digest=version().digest)
        assert not await unit[PageRecords].replace(kept, version("a", 9), fetched_resource_id=None)
        await unit[PageAccessRecords].add({"a": (9, NOW)})
        await unit[PageLevelRecords].replace_many({"a": []})
        assert (await insert(unit, "a")).keys() == {"a"}
    async with reading(records, PROJECT) as unit:
        assert await unit[PageRecords].find("a", with_content=False) == stored(number, version())
        assert await unit[PageLevelRecords].find("a") == [representation(Level.REDUCED)]
