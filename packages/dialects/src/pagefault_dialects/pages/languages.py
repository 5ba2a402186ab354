"""The programming language of a text page, and code fences for a model.

The language is that of `metadata.language`, else of the MIME type, else of a file name's extension,
unless the type is prose. `metadata.language` may also be the natural language of a transcript;
values that are no programming language are ignored.
"""

import re

from pagefault_dialects.media.code_languages import (
    find_language,
    language_of_extension,
    language_of_type,
)
from pagefault_dialects.model.page import Level, Page, PageFields

# Types of prose: a name that looks like a file's is ignored then.
_PROSE = frozenset({"text/plain", "text/markdown", "text/x-markdown"})
_SEPARATOR = re.compile(r"[/\\]")
_BACKTICKS = re.compile("`+")
_NAMES = ("filename", "file_name", "name", "path")
_LONGEST_NAME = 4_096


def language_of(page: Page) -> str | None:
    """Return the programming language of a text page, as code fences spell it."""
    if page.fields.modality != "text":
        return None
    media = page.full.media
    claimed = (page.fields.mime_type, media.mime_type if media else None)
    types = [(item or "").partition(";")[0].strip().lower() for item in claimed]
    named = (find_language(page.fields.metadata.get("language")), *map(language_of_type, types))
    language = next(filter(None, named), None)
    if language is not None or not _PROSE.isdisjoint(types):
        return language
    return _by_file_name(page.fields, media.filename if media else None, page.page_id)


def visible_language(page: Page, level: Level) -> str | None:
    """Return the language of a level's content; `None` for a tag or for a text about the code."""
    representation = page.at(level)
    if representation is None or level is Level.REFERENCE:
        return None
    below = (representation for at, representation in page.levels.items() if at <= level)
    if any(representation.origin == "supplied" for representation in below):
        return None
    return language_of(page)


def fenced(code: str, language: str) -> str:
    """Return code between fences that are longer than any run of backticks in it."""
    longest = max((len(run.group()) for run in _BACKTICKS.finditer(code)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if code.endswith("\n") or not code else "\n"
    return f"{fence}{language}\n{code}{end}{fence}"


def _by_file_name(fields: PageFields, stored: str | None, page_id: str) -> str | None:
    """Return the language of the first name that has a known extension."""
    names = (stored, *(fields.metadata.get(name) for name in _NAMES))
    for name in names:
        if isinstance(name, str) and len(name) <= _LONGEST_NAME:
            language = language_of_extension(_extension(name))
            if language is not None:
                return language
    # A page's id is not a file name: a single letter behind a dot means nothing.
    extension = _extension(page_id)
    return language_of_extension(extension) if len(extension) > 1 else None


def _extension(name: str) -> str:
    """Return the part after the last dot of a file name; `""` for titles with blanks."""
    last_step = _SEPARATOR.split(name.strip())[-1]
    if "." not in last_step or any(map(str.isspace, last_step)):
        return ""
    return last_step.rpartition(".")[2].lower()
