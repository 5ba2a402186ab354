"""The programming language of a text page, and its code in a fence for a model.

A language is told by `metadata.language`, else by the MIME type, else by a file name's extension,
unless the type says that it is prose.
`metadata.language` may as well name the language people speak in a transcript; what is no name of
a programming language is not understood as one.
"""

import re

from pagefault_dialects.media.code_languages import (
    find_language,
    language_of_extension,
    language_of_type,
)
from pagefault_dialects.model.page import Level, Page, PageFields

# What says that a text is prose, so that a name which looks like a file's is not asked.
_PROSE = frozenset({"text/plain", "text/markdown", "text/x-markdown"})
_SEPARATOR = re.compile(r"[/\\]")
_BACKTICKS = re.compile("`+")
_NAMES = ("filename", "file_name", "name", "path")
_LONGEST_NAME = 4_096


def language_of(page: Page) -> str | None:
    """Return the programming language a text page is written in, as fences name it."""
    if page.fields.modality != "text":
        return None
    media = page.full.media
    claimed = (page.fields.mime_type, media.mime_type if media else None)
    types = [(each or "").partition(";")[0].strip().lower() for each in claimed]
    named = (find_language(page.fields.metadata.get("language")), *map(language_of_type, types))
    language = next(filter(None, named), None)
    if language is not None or not _PROSE.isdisjoint(types):
        return language
    return _by_file_name(page.fields, media.filename if media else None, page.page_id)


def visible_language(page: Page, level: Level) -> str | None:
    """Return the language of what a level shows; `None` for a tag or for words about the code."""
    representation = page.at(level)
    if representation is None or level is Level.REFERENCE:
        return None
    below = (held for at, held in page.levels.items() if at <= level)
    if any(held.origin == "supplied" for held in below):
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
    # A page's id is not made to be a file name: one letter behind a dot says nothing.
    extension = _extension(page_id)
    return language_of_extension(extension) if len(extension) > 1 else None


def _extension(name: str) -> str:
    """Return what stands behind the last dot of a file name; a title with blanks is none."""
    last_step = _SEPARATOR.split(name.strip())[-1]
    if "." not in last_step or any(map(str.isspace, last_step)):
        return ""
    return last_step.rpartition(".")[2].lower()
