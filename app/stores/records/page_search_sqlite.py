"""Search on SQLite: an FTS5 table whose rowid is the page's number. See `PageSearch`."""

from collections.abc import Sequence

from sqlalchemy import bindparam

from app.models.search import SearchQuery, SearchTerm
from app.stores.records.lookups import Lookup
from app.stores.records.page_search import MOST_RANKED, IndexEntry, PageSearch, opening, padded
from app.stores.records.scope import scoped_select
from app.stores.records.tables import page_search_sqlite as page_search

# FTS5 walks its lists from the newest page on, so that the limit ends the work.
_NEWEST = Lookup(
    scoped_select(
        page_search,
        page_search.c.rowid,
        opening(page_search.c.heading, page_search.c.body).label("opening"),
    )
    .where(page_search.c.page_search.op("MATCH")(bindparam("sought")))
    .order_by(page_search.c.rowid.desc())
    .limit(MOST_RANKED)
)


class SqlitePageSearch(PageSearch):
    """See PageSearch."""

    def _remove(self, page_numbers: Sequence[int]) -> None:
        self._scope.run(
            self._scope.delete(page_search).where(page_search.c.rowid.in_(page_numbers))
        )

    def _insert(self, entries: Sequence[IndexEntry]) -> None:
        rows = [
            {
                "rowid": entry.page_number,
                "scope": " ".join(entry.marks),
                "heading": padded(entry.words.heading),
                "body": padded(entry.words.text),
            }
            for entry in entries
        ]
        self._scope.insert_new(page_search, rows)

    def _newest(self, query: SearchQuery, marks: Sequence[str]) -> list[tuple[int, str]]:
        sought = " AND ".join([*map(_quoted, marks), *map(_fts_term, query.terms)])
        # Nobody knows how many pages have one word and not the other: no work for the loop.
        rows = self._scope.look_up(_NEWEST, is_short=False, sought=sought)
        return [(row.rowid, row.opening) for row in rows]


def _fts_term(term: SearchTerm) -> str:
    return _quoted(" ".join(term.words)) + (" *" if term.is_prefix else "")


def _quoted(words: str) -> str:
    # Words are letters, digits and marks: there is no quotation mark to escape.
    return f'"{words}"'
