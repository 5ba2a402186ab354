"""Find the programming language of a text page, and write its code in fences for a model.

The language is that of `metadata.language`, else that of the MIME type. If the MIME type is not one
of prose, the extension of a file name is used next. `metadata.language` may also be the natural
language of a transcript, so values that are not a programming language are ignored.
"""

import re

from pagefault_dialects.media.code_languages import (
    find_language,
    language_of_extension,
    language_of_type,
)
from pagefault_dialects.model.page import Level, Page, PageFields

# Types of prose: file names are ignored for them.
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
    declared_types = (page.fields.mime_type, media.mime_type if media else None)
    types = [(item or "").partition(";")[0].strip().lower() for item in declared_types]
    candidates = (
        find_language(page.fields.metadata.get("language")),
        *map(language_of_type, types),
    )
    language = next(filter(None, candidates), None)
    if language is not None or not _PROSE.isdisjoint(types):
        return language
    return _find_language_by_name(page.fields, media.filename if media else None, page.page_id)


def visible_language(page: Page, level: Level) -> str | None:
    """Return the language of a level's content.

    Return `None` for REFERENCE, and for levels that the client supplied or that were derived from
    these, since they are texts about the code.
    """
    representation = page.at(level)
    if representation is None or level is Level.REFERENCE:
        return None
    below = (representation for at, representation in page.levels.items() if at <= level)
    if any(representation.origin == "supplied" for representation in below):
        return None
    return language_of(page)


def add_fences(code: str, language: str) -> str:
    """Return code between fences that are longer than any run of backticks in it."""
    longest = max((len(run.group()) for run in _BACKTICKS.finditer(code)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if code.endswith("\n") or not code else "\n"
    return f"{fence}{language}\n{code}{end}{fence}"


def _find_language_by_name(fields: PageFields, stored: str | None, page_id: str) -> str | None:
    """Return the language of the first file name with a known extension."""
    names = (stored, *(fields.metadata.get(name) for name in _NAMES))
    for name in names:
        if isinstance(name, str) and len(name) <= _LONGEST_NAME:
            language = language_of_extension(_extension(name))
            if language is not None:
                return language
    # The id of a page may also end with a dot and a single letter without being a file name.
    extension = _extension(page_id)
    return language_of_extension(extension) if len(extension) > 1 else None


def _extension(name: str) -> str:
    """Return the part after the last dot of a file name; `""` for titles with blanks."""
    base_name = _SEPARATOR.split(name.strip())[-1]
    if "." not in base_name or any(map(str.isspace, base_name)):
        return ""
    return base_name.rpartition(".")[2].lower()
