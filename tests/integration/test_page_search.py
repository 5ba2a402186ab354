"""Search over pages: both engines find the same pages and rank them alike."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from app.stores.records.pages import PageRecords
from app.stores.records.records import Records
from app.stores.records.text_search import PAGE_INDEX, RankedMatch, SearchedIndex, find_texts
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.word_index import IndexedRecord
from app.stores.records.word_indexes import choose_page_index
from app.words.search_terms import SearchableText, SearchWords, parse_search, search_words
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.model.page import Modality, PageFields, PageVersion
from tests.kit.units import OpenUnit, reading, writing

pytestmark = pytest.mark.anyio
PROJECT = "p"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PAGES: dict[str, SearchableText] = {
    "cafe": SearchableText(("Le Café de la Gare",), ("A café near the station.",)),
    "plain": SearchableText((), ("The cafe is closed; the station is not.",)),
    "code": SearchableText(("module page_fault",), ("import os; page-fault.handler(x=1)",)),
    "apart": SearchableText((), ("the fault lies on another page",)),
    "tokyo": SearchableText(("東京タワー",), ("東京は日本の首都です。",)),
    "kyoto": SearchableText((), ("京都は東にある。",)),
    "thai": SearchableText((), ("กินข้าวแล้ว",)),
    "korean": SearchableText((), ("한국어 문서",)),
    "hindi": SearchableText((), ("हिन्दी भाषा",)),
    "kana": SearchableText((), ("がっこう と ｶﾞｯｺｳ",)),
    "russian": SearchableText((), ("Ёлка и ёж",)),
    "german": SearchableText((), ("Straße nach STRASSBURG",)),
    "turkish": SearchableText((), ("İstanbul",)),
    "breaks": SearchableText(("red green", "blue white"), ("black", "red blue")),
    "often": SearchableText((), ("zebra zoo zebra lion zebra",)),
    "once": SearchableText((), ("zebra",)),
    "headed": SearchableText(("zebra",), ("nothing",)),
    "hostile": SearchableText(("a\x00b \ud800 \" ' \\ * ( ) : & | ! <-> NEAR",), ("x' OR 1=1 --",)),
    "parts": SearchableText((), ("ﬁne ㎏ ① co\u00adoperate e\u0301tude",)),
}
FOUND: list[tuple[str, list[str]]] = [
    ("cafe", ["cafe", "plain"]),
    ("CAFÉ", ["cafe", "plain"]),
    ("cafe\u0301 station", ["cafe", "plain"]),
    ("gare", ["cafe"]),
    ("cafe nowhere", ["cafe", "plain"]),
    ("stat*", ["plain", "cafe"]),
    ("stat", ["plain", "cafe"]),
    ("stations", ["plain", "cafe"]),
    ('"stations"', []),
    ("when does the station close?", ["plain", "cafe"]),
    ("what is the cafe's name", ["cafe", "plain"]),
    ("page fault", ["code", "apart"]),
    ("page_fault", ["code"]),
    ("page_fault of zebra.py", ["code", "headed", "often", "once"]),
    ("page-fault.han*", ["code"]),
    ('"fault page"', []),
    ('"the station is', ["plain"]),
    ('"station the"', []),
    ("東京", ["tokyo"]),
    ("京", ["tokyo", "kyoto"]),
    ("京都 東", ["kyoto", "tokyo"]),
    ("東京*", ["tokyo"]),
    ("タワー", ["tokyo"]),
    ("首都 日本", ["tokyo"]),
    ("本日", []),
    ("日本の首都はどこ", ["tokyo", "kyoto"]),
    ("ข้าว", ["thai"]),
    ("한국어", ["korean"]),
    ("हिन्दी", ["hindi"]),
    ("हिन्द", ["hindi"]),
    ("かっこう", ["kana"]),
    ("がっこう", ["kana"]),
    ("ガッコウ", ["kana"]),
    ("елка ЁЖ", ["russian"]),
    ("ёлки", ["russian"]),
    ("strasse", ["german"]),
    ("straß*", ["german"]),
    ("istanbul", ["turkish"]),
    ('"green blue"', []),
    ('"white black"', []),
    ('"red blue"', ["breaks"]),
    ('"black red"', []),
    ('white "red blue" green', ["breaks"]),
    ("zebra", ["headed", "often", "once"]),
    ("zebras", ["headed", "often", "once"]),
    ("zebra zoo", ["often", "headed", "once"]),
    ("near", ["hostile", "cafe"]),
    ("NEAR(a b)", ["hostile", "cafe"]),
    ("a b near", ["hostile", "cafe"]),
    ("x' OR 1=1 --", ["hostile", "code"]),
    ("fine kg 1 cooperate étude", ["parts", "hostile", "code"]),
]
HOSTILE = [
    *"abcz\"'\\*():&|!<>^-+~{}[]%_;$?.,/@#`",
    "\x00",
    "\ud800",
    "a\x00b",
    "zebra\x00",
    "zebra\ud800",
    '"',
    '""',
    '"zebra',
    'zebra"',
    'ze"br"a',
    "zebra AND",
    "OR zebra",
    "NOT zebra NEAR/2 lion",
    "heading:zebra",
    "scope:*",
    "- zebra",
    "{heading} : zebra",
    "zebra:A",
    "zebra:*",
    "zebra <-> lion",
    "zebra & !lion",
    "'; DROP TABLE pages; --",
    "%s %(x)s :x ? $1",
    "\ue000",
    "\ue0000",
    "zoo \ue001 zebra",
    "\u202e\u2066zebra",
    "a\u0301\u0316" * 1_000,
    "z" * 10_000,
    "字" * 10_000,
    "zebra " * 2_000,
    '"' * 10_000,
    "abc* " * 2_000,
    " ".join(f"word{number}" for number in range(1_000)),
]


async def insert(unit: OpenUnit, *page_ids: str) -> dict[str, int]:
    """Pages that are in order of their numbers the newer the later."""
    numbers: dict[str, int] = await unit[PageRecords].insert_absent(
        [
            PageVersion(
                page_id=page_id,
                fields=PageFields.model_validate({}),
                version=1,
                descriptor=b"{}",
                content=b"null",
                body=b"{}",
                inline_form=None,
                digest="d" * 64,
                created_at=NOW,
            )
            for page_id in page_ids
        ]
    )
    return numbers


async def index(
    unit: OpenUnit,
    texts: Mapping[str, SearchableText | SearchWords],
    *,
    session_id: str | None = None,
    modality: Modality = "text",
) -> dict[str, int]:
    numbers = await insert(unit, *texts)
    indexed = {
        numbers[key]: IndexedRecord(text, session_id, modality) for key, text in texts.items()
    }
    await unit.run(lambda unit: choose_page_index(unit).index_all(indexed))
    return numbers


async def remove(unit: OpenUnit, number: int) -> None:
    await unit.run(lambda unit: choose_page_index(unit).remove_all([number]))


async def matches(unit: OpenUnit, text: str, **narrowed: Any) -> list[RankedMatch]:  # noqa: ANN401 - any narrowing
    def search(unit: UnitOfWork) -> list[RankedMatch]:
        pages = choose_page_index(unit)
        place = SearchedIndex(PAGE_INDEX, pages, pages.required_marks(**narrowed))
        return list(find_texts(parse_search(text), [place]).matches)

    found: list[RankedMatch] = await unit.run(search)
    return found


async def ids(unit: OpenUnit, text: str, **narrowed: Any) -> list[str]:  # noqa: ANN401 - any narrowing
    numbers = [match.number for match in await matches(unit, text, **narrowed)]
    stored = await unit[PageRecords].find_numbered(numbers)
    return [stored[number].page_id for number in numbers]


def said(*texts: str) -> SearchableText:
    return SearchableText((), texts)


async def test_both_engines_find_the_same_pages_in_the_same_order(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await index(unit, PAGES)
    async with reading(records, PROJECT) as unit:
        assert {text: await ids(unit, text) for text, _ in FOUND} == dict(FOUND)


@pytest.mark.promise(
    "security.md#the-database",
    "No query makes a search fail",
    kept_by="app/words/search_terms.py",
    tried="0 errors",
)
async def test_no_query_breaks_a_search(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await index(unit, PAGES)
    async with reading(records, PROJECT) as unit:
        for text in HOSTILE:
            with suppress(InvalidPayloadError):
                assert len(await ids(unit, text)) <= len(PAGES)


async def test_of_equals_the_newer_page_comes_first(records: Records) -> None:
    texts = {f"page-{number}": said("zebra") for number in range(30)}
    async with writing(records, PROJECT) as unit:
        await index(unit, texts)
        assert await ids(unit, "zebra") == list(reversed(texts))


async def test_newest_thousand_of_more_matches_are_ranked(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await index(unit, {"best": said("zebra zebra zebra"), "alone": said("lion")})
        await index(unit, {f"page-{number}": said("zebra") for number in range(1_000)})
        found = await ids(unit, "zebra")
        assert (len(found), "best" in found) == (1_000, False)
        assert await ids(unit, "lion") == ["alone"]


async def test_matches_behind_the_newest_windows_are_found(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Windows of 16 pages, of which there are as many as of 4,096 among 16,000.
    monkeypatch.setattr("app.stores.records.word_index_postgresql._WINDOW_BITS", 4)
    async with writing(records, PROJECT) as unit:
        await index(unit, {"old": said("zebra lion")})
    async with writing(records, PROJECT) as unit:
        await insert(unit, *(f"page-{number}" for number in range(64)))
        await index(unit, {"new": said("zebra")})
    async with reading(records, PROJECT) as unit:
        assert await ids(unit, "zebra") == ["new", "old"]
        assert await ids(unit, '"zebra lion"') == ["old"]


async def test_search_is_narrowed_to_session_and_modality(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await index(unit, {"a": said("zebra")}, session_id="s", modality="image")
        await index(unit, {"b": said("zebra")}, session_id="s")
        await index(unit, {"c": said("zebra")}, session_id="t")
        await index(unit, {"d": said("zebra")})
        for filters, expected in (
            ({}, ["d", "c", "b", "a"]),
            ({"session_id": "s"}, ["b", "a"]),
            ({"modalities": ["text"]}, ["d", "c", "b"]),
            ({"modalities": ["text", "image"]}, ["d", "c", "b", "a"]),
            ({"session_id": "s", "modalities": ["text"]}, ["b"]),
            ({"session_id": "image"}, []),
        ):
            assert await ids(unit, "zebra", **filters) == expected


async def test_another_projects_pages_are_neither_found_nor_forgotten(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        numbers = await index(unit, {"a": said("zebra")}, session_id="s")
        before = await matches(unit, "zebra")
    async with writing(records, "other") as unit:
        assert await matches(unit, "zebra") == []
        await remove(unit, numbers["a"])
        await index(unit, {f"page-{name}": said("zebra") for name in range(50)}, session_id="s")
        assert len(await matches(unit, "zebra", session_id="s")) == 50
    async with reading(records, PROJECT) as unit:
        assert await matches(unit, "zebra") == before


async def test_words_of_a_changed_page_replace_those_before(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        numbers = await index(unit, {"a": said("zebra"), "b": said("lion")})
        indexed = {numbers["a"]: IndexedRecord(search_words(said("lion")), None, "text")}
        await unit.run(lambda unit: choose_page_index(unit).index_all(indexed))
        assert await ids(unit, "zebra") == []
        assert await ids(unit, "lion") == ["b", "a"]
        await remove(unit, numbers["a"])
        await remove(unit, numbers["a"])
        assert await ids(unit, "lion") == ["b"]


async def test_removed_page_is_not_found(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await index(unit, {"a": said("zebra"), "b": said("zebra")})
        await unit[PageRecords].remove(await unit[PageRecords].find("b", with_content=False))
        assert await ids(unit, "zebra") == ["a"]


async def test_page_without_words_is_not_found_and_does_no_harm(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await index(unit, {"a": SearchableText((), ()), "b": said("...", "")})
        assert await ids(unit, "zebra") == []


async def test_phrases_are_found_wherever_they_stand_in_a_long_text(records: Records) -> None:
    long = " ".join([*["the cat"] * 10_000, "the zebra", *["the dog"] * 10_000, "lion zoo the end"])
    async with writing(records, PROJECT) as unit:
        await index(unit, {"a": SearchableText(("the lion",), (long, "second text"))})
        for text, is_there in (
            ('"the cat the"', True),
            ('"the zebra the dog"', True),
            ('"zebra the cat"', False),
            ('"cat dog"', False),
            ('"lion zoo"', True),
            ('"lion the"', False),
            ('"the end second"', False),
            ('"second text"', True),
            ('"zoo the en"', False),
            ('"the end" "the lion" zebra', True),
            ("cat-the-zeb*", True),
            ("字", False),
        ):
            assert (text, bool(await ids(unit, text))) == (text, is_there)


async def test_run_of_chinese_is_found_deep_in_a_long_text(records: Records) -> None:
    text = "的人" * 20_000 + "東京的" + "人的" * 20_000
    async with writing(records, PROJECT) as unit:
        await index(unit, {"a": said(text)})
        assert await ids(unit, "人東京的") == ["a"]
        assert await ids(unit, "京東") == []


@pytest.mark.slow
async def test_two_megabytes_of_different_words_are_indexed_as_far_as_they_fit(
    records: Records,
) -> None:
    words = [f"w{number:06x}" for number in range(260_000)]
    async with writing(records, PROJECT) as unit:
        await index(unit, {"a": SearchableText(("hint",), (" ".join(words),))})
        last = len(search_words(said(" ".join(words))).text.split())
        assert 70_000 < last < 90_000
        for text, is_there in (
            ("hint", True),
            (words[0], True),
            (words[last - 2], True),
            (f'"{words[last - 3]} {words[last - 2]}"', True),
            (words[last + 1], False),
        ):
            assert (text, bool(await ids(unit, text))) == (text, is_there)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"{number:x}" for number in range(400_000)),
        "字" * 2_000_000,
        "".join(chr(0x4E00 + number % 20_000) for number in range(1_000_000)),
        " ".join("é" * 300 + f"{number:x}" for number in range(3_000)),
        " ".join(f"{number:x}" + "é" * 300 for number in range(9_000)),
    ],
    ids=["short words", "one word", "characters", "long alike", "long words"],
)
async def test_no_text_is_too_much_for_either_engine(records: Records, text: str) -> None:
    async with writing(records, PROJECT) as unit:
        await index(unit, {"a": said("lion", text)})
        assert await ids(unit, "lion") == ["a"]
