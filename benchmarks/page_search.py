"""Time of a search in a store of many pages, on both databases.

    python -m benchmarks.page_search [--pages 100000] [--engine sqlite|postgresql|both]

Fills a new store through the repositories with made-up pages: 50,000 words of Zipf's distribution,
the common ones short, and every tenth page of Chinese characters. Then it runs some 500 searches,
each as the service does, with the first 20 pages read, and prints a Markdown table. Among these
pages are 300 texts with a question each; how many questions find theirs is measured, too.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate
from pathlib import Path
from random import Random

import anyio
import anyio.to_thread

from app.config.settings import Settings
from app.services.pages.accesses import AccessCounts
from app.services.pages.page_lists import PageLists, narrow_page_index
from app.stores.records.pages import PageRecords
from app.stores.records.records import Records
from app.stores.records.text_search import find_texts
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.word_index import IndexedRecord
from app.stores.records.word_indexes import choose_page_index
from app.wiring.stores import migrate_database, open_database
from app.words.search_terms import SearchableText, parse_search
from benchmarks.figures import Figure, Scale, WrongAnswerError, value_at_least, value_at_most
from pagefault_dialects.model.page import MODALITIES, Modality, PageFields, PageFilters, PageVersion
from tests.kit.servers import Postgres

GROUP = "search"
PROJECT = "benchmark"
QUESTIONS = Path(__file__).parents[1] / "tests" / "data" / "questions.jsonl"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SESSIONS = 200
PAGES_AT_ONCE = 1_000
SHOWN = 20
QUERIES_OF_A_KIND = 50
_OF_A_PAGE = frozenset({"two words", "phrase", "run of Chinese"})


@dataclass(frozen=True, slots=True)
class GeneratedPage:
    """A made-up page."""

    number: int
    hint: Sequence[str]
    text: Sequence[str]
    is_chinese: bool

    @property
    def session_id(self) -> str:
        """Sessions come and go: a hundred pages of one stand among those of others."""
        return f"s{self.number * 7 % SESSIONS}"

    @property
    def modality(self) -> Modality:
        """Every second page is text."""
        return "text" if self.number % 2 else MODALITIES[self.number // 2 % len(MODALITIES)]

    def fields(self) -> PageFields:
        """The name of the search in requests of a client."""
        return PageFields(
            session_id=self.session_id,
            modality=self.modality,
            hint=" ".join(self.hint),
            metadata={},
        )

    def searchable(self) -> SearchableText:
        """The words it is found by."""
        blank = "" if self.is_chinese else " "
        return SearchableText((" ".join(self.hint),), (blank.join(self.text),))


@dataclass(frozen=True, slots=True)
class Search:
    """One search, as the service runs it."""

    text: str
    session_id: str | None = None
    modality: Modality | None = None


class Author:
    """Writes pages; the same ones every time."""

    def __init__(self) -> None:
        self._random = Random(20_260_101)  # noqa: S311 - the same in every run
        self.words = self._vocabulary(50_000)
        self._characters = [chr(0x4E00 + index) for index in range(3_000)]
        self._word_weights = list(accumulate(1 / rank for rank in range(1, 50_001)))
        self._character_weights = list(accumulate(1 / rank for rank in range(1, 3_001)))

    def page(self, number: int) -> GeneratedPage:
        """The next page."""
        is_chinese = number % 10 == 0
        length = self._random.randint(80, 160)
        text = self._pick_characters(length) if is_chinese else self._pick_words(length)
        return GeneratedPage(number, self._pick_words(6), text, is_chinese)

    def searches(self, pages: Sequence[GeneratedPage]) -> dict[str, list[Search]]:
        """Searches of every kind, for words of some of the pages."""
        kinds: dict[str, Callable[[GeneratedPage], Search]] = {
            "rare word": lambda page: Search(self._word(5_000, 50_000)),
            "word of the middle": lambda page: Search(self._word(100, 5_000)),
            "common word": lambda page: Search(self._word(0, 100)),
            "two words": lambda page: Search(" ".join(self._random.sample(page.text, 2))),
            "two common words": lambda page: Search(f"{self._word(0, 50)} {self._word(50, 100)}"),
            "phrase": lambda page: Search(f'"{self._passage(page, " ")}"'),
            "prefix": lambda page: Search(self._prefix()),
            "question": lambda page: Search(self._question(page)),
            "in a session": lambda page: Search(self._word(0, 1_000), page.session_id),
            "of a modality": lambda page: Search(self._word(0, 1_000), None, page.modality),
        }
        spaced = [page for page in pages if not page.is_chinese]
        searches = {
            kind: [make(self._random.choice(spaced)) for _ in range(QUERIES_OF_A_KIND)]
            for kind, make in kinds.items()
        }
        chinese = [page for page in pages if page.is_chinese]
        searches["run of Chinese"] = [
            Search(self._passage(self._random.choice(chinese), ""))
            for _ in range(QUERIES_OF_A_KIND)
        ]
        return searches

    def _vocabulary(self, count: int) -> list[str]:
        """Words, the common ones short, as in any language."""
        found: dict[str, None] = {}
        while len(found) < count:
            # Two letters for the first twenty-odd, then ever more.
            syllables = 1 + len(found).bit_length() // 5
            word = "".join(
                self._random.choice("bcdfghklmnprstvw") + self._random.choice("aeiou")
                for _ in range(self._random.randint(max(1, syllables - 1), syllables + 1))
            )
            found[word] = None
        return list(found)

    def _pick_words(self, count: int) -> list[str]:
        return self._random.choices(self.words, cum_weights=self._word_weights, k=count)

    def _pick_characters(self, count: int) -> list[str]:
        return self._random.choices(self._characters, cum_weights=self._character_weights, k=count)

    def _word(self, first: int, last: int) -> str:
        return self._random.choice(self.words[first:last])

    def _prefix(self) -> str:
        whole = self._random.choice([word for word in self.words[:5_000] if len(word) >= 6])
        return f"{whole[: self._random.randint(3, 5)]}*"

    def _question(self, page: GeneratedPage) -> str:
        """Four words of a page, a common one, and those that are in every question."""
        words = " ".join(self._random.sample(page.text, 4))
        return f"what is the {words} about {self._word(0, 50)}?"

    def _passage(self, page: GeneratedPage, blank: str) -> str:
        length = self._random.randint(2, 3)
        start = self._random.randrange(len(page.text) - length)
        return blank.join(page.text[start : start + length])


def questions() -> list[dict[str, str]]:
    """Texts that people ask for, each with a question that it answers."""
    return [json.loads(line) for line in QUESTIONS.read_text().splitlines()]


async def recall(records: Records, *, first: int) -> float:
    """The share of questions whose text is among the first hits, in a store that was filled."""
    lists = PageLists(records, AccessCounts(records))
    asked = questions()
    there = 0
    for page in asked:
        hits, _ = await lists.search(
            PROJECT, page["question"], PageFilters(), cursor=None, limit=first
        )
        there += page["page_id"] in {hit.page.page_id for hit in hits}
    return there / len(asked)


async def fill(records: Records, author: Author, count: int) -> list[GeneratedPage]:
    """Write pages; returns some of them."""
    await records.write_projects(lambda projects: projects.ensure(PROJECT, NOW))
    await records.write(PROJECT, _write_questions)
    kept: list[GeneratedPage] = []
    for start in range(0, count, PAGES_AT_ONCE):
        written = [
            author.page(start + offset) for offset in range(min(PAGES_AT_ONCE, count - start))
        ]
        await records.write(PROJECT, partial(_write, written))
        kept += written[:20]
    return kept


def _write(written: Sequence[GeneratedPage], unit: UnitOfWork) -> None:
    numbers = unit[PageRecords].insert_absent([_version(page) for page in written])
    choose_page_index(unit).index_all(
        {
            numbers[f"page-{page.number}"]: IndexedRecord(
                page.searchable(), page.session_id, page.modality
            )
            for page in written
        }
    )


def _write_questions(unit: UnitOfWork) -> None:
    asked = questions()
    fields = PageFields(metadata={})
    numbers = unit[PageRecords].insert_absent(
        [
            PageVersion(
                page_id=page["page_id"],
                fields=fields,
                version=1,
                descriptor=fields.model_dump_json().encode(),
                content=json.dumps(page["text"]).encode(),
                body=b'{"kind":"text","media":null}',
                inline_form=None,
                digest=f"{number:064x}",
                created_at=NOW,
            )
            for number, page in enumerate(asked)
        ]
    )
    choose_page_index(unit).index_all(
        {
            numbers[page["page_id"]]: IndexedRecord(
                SearchableText((), (page["text"],)), None, fields.modality
            )
            for page in asked
        }
    )


def _version(page: GeneratedPage) -> PageVersion:
    content = json.dumps(" ".join(page.text)).encode()
    return PageVersion(
        page_id=f"page-{page.number}",
        fields=page.fields(),
        version=1,
        descriptor=page.fields().model_dump_json().encode(),
        content=content,
        body=b'{"kind":"text","media":null}',
        inline_form=None,
        digest=f"{page.number:064x}",
        created_at=NOW,
    )


@dataclass(frozen=True, slots=True)
class Measured:
    """Searches of a kind: milliseconds of each, in order of length, and all their matches."""

    kind: str
    taken: Sequence[float]
    matches: int

    @property
    def p50(self) -> float:
        """The middle one."""
        return self.taken[len(self.taken) // 2]

    @property
    def p95(self) -> float:
        """The one that 19 of 20 are not above."""
        return self.taken[int(len(self.taken) * 0.95)]

    @property
    def matches_each(self) -> int:
        """Return the average number of ranked matches."""
        return self.matches // len(self.taken)


async def timed(records: Records, searches: Sequence[Search]) -> tuple[list[float], int]:
    """Milliseconds of every search, in order of length, and how many matches they had."""
    taken: list[float] = []
    matches = 0
    for search in searches:
        began = time.perf_counter()
        found = await records.read(PROJECT, partial(_found, search))
        taken.append((time.perf_counter() - began) * 1_000)
        matches += found
    return sorted(taken), matches


def _found(search: Search, unit: UnitOfWork) -> int:
    """Search, and read the snippets of the matches; return the number of matches."""
    index = narrow_page_index(unit, search.session_id, search.modality)
    matches = find_texts(parse_search(search.text), [index]).matches
    unit[PageRecords].find_numbered(
        [match.number for match in matches[:SHOWN]], content_up_to=2**40
    )
    return len(matches)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Records]:
    """The records of a new store."""
    await migrate_database(settings)
    records = Records(open_database(settings))
    try:
        yield records
    finally:
        await records.close()


def table_of(rows: Sequence[Measured]) -> Iterator[str]:
    """A Markdown table, line by line."""
    yield "| kind | searches | matches ranked | p50 ms | p95 ms | max ms |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        yield (
            f"| {row.kind} | {len(row.taken)} | {row.matches_each} on average "
            f"| {row.p50:.1f} | {row.p95:.1f} | {row.taken[-1]:.1f} |"
        )


async def searched(settings: Settings, count: int) -> tuple[list[Measured], float, float]:
    """Fill a store and search it; how long the filling took, and the recall of questions, too."""
    async with opened(settings) as records:
        author = Author()
        began = time.perf_counter()
        kept = await fill(records, author, count)
        filled = time.perf_counter() - began
        # Once beforehand, with other words, so that caches and plans are as in a running service.
        for warm in author.searches(kept).values():
            await timed(records, warm[:10])
        kinds = author.searches(kept).items()
        rows = [Measured(kind, *await timed(records, item)) for kind, item in kinds]
        return rows, filled, await recall(records, first=5)


async def measure(scale: Scale) -> Sequence[Figure]:
    """The p95 of every kind of search, on both databases."""
    count = scale.pick(100_000, 300)
    figures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sqlite").mkdir()
        rows, _, share = await searched(Settings(data_dir=folder / "sqlite"), count)
        figures += [*_figures("SQLite", rows), _recall_figure("SQLite", share)]
        # It waits for a cluster and migrates a template, with a loop of its own.
        with await anyio.to_thread.run_sync(Postgres, folder) as postgres:
            database = postgres.settings(postgres.new_database(migrated=True))
            rows, _, share = await searched(Settings(data_dir=folder, db=database), count)
        figures += [*_figures("PostgreSQL", rows), _recall_figure("PostgreSQL", share)]
    return figures


def _recall_figure(engine: str, share: float) -> Figure:
    return Figure(
        group=GROUP,
        name=f"{engine}: questions whose page is among the first five hits",
        value=share,
        unit="",
        aim=value_at_least(0.85),
        detail="300 questions about 300 texts of the public domain, among all the other pages",
    )


def _figures(engine: str, rows: Sequence[Measured]) -> list[Figure]:
    # A rare word may be on no page at all, a passage is on that which it is from.
    if not all(row.matches >= len(row.taken) for row in rows if row.kind in _OF_A_PAGE):
        raise WrongAnswerError(f"{engine} did not find what is there")
    return [
        Figure(
            group=GROUP,
            name=f"{engine}: {row.kind}, p95 of {len(row.taken)}",
            value=row.p95,
            unit="ms",
            aim=value_at_most(50),
            detail=f"p50 {row.p50:.1f} ms, longest {row.taken[-1]:.1f} ms; "
            f"{row.matches_each} matches ranked on average",
        )
        for row in rows
    ]


async def run(settings: Settings, engine: str, count: int) -> None:
    """Fill a store, search it, and print the table."""
    rows, filled, share = await searched(settings, count)
    _say(f"\n### {engine}: {count} pages, filled in {filled:.0f} s; recall at 5: {share:.3f}\n")
    for line in table_of(rows):
        _say(line)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="Measure the search over pages.")
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--engine", choices=("sqlite", "postgresql", "both"), default="both")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.engine != "postgresql":
            (folder / "sqlite").mkdir()
            anyio.run(run, Settings(data_dir=folder / "sqlite"), "sqlite", options.pages)
        if options.engine != "sqlite":
            with Postgres(folder) as postgres:
                database = postgres.settings(postgres.new_database(migrated=True))
                anyio.run(run, Settings(data_dir=folder, db=database), "postgresql", options.pages)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
