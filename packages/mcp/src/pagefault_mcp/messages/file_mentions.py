"""Find paths of files in the texts of a result: quoted, linked, on a line alone, or as a word."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from urllib.parse import unquote, urlsplit

from pagefault_dialects.json.values import JsonValue, iterate_values

_LONGEST_PATH_CHARS = 1_024
_MAX_NAMES = 5_000
_MAX_TEXT_CHARS = 256 * 1024
# Every alternative ends at the next quotation mark of its kind, so a search takes linear time.
_QUOTED = re.compile(
    r"\]\(([^()\n]{1,1024}+)\)|\"([^\"\n]{1,1024}+)\"|'([^'\n]{1,1024}+)'|`([^`\n]{1,1024}+)`"
)
_WORD = re.compile(r"\S+")
_OPENING, _CLOSING = "\"'`([<{", "\"'`)]>},;:!?."


def find_paths(result: JsonValue, folders: Sequence[str], bases: Sequence[str]) -> Iterator[str]:
    """Yield the paths in a result that lead below a folder, relative to it.

    Links are not followed, and `..` is removed from the text of a path.

    Args:
        result: The result.
        folders: The absolute paths of the folder, with and without resolved links.
        bases: The folders that relative paths in the result may be relative to.
    """
    texts = (value for value, _ in iterate_values(result) if isinstance(value, str))
    names = dict.fromkeys(islice(chain.from_iterable(map(_names_in, texts)), _MAX_NAMES))
    for name in names:
        for base in bases:
            path = os.path.normpath(os.path.join(base, name))
            for folder in folders:
                if path.startswith(f"{folder.rstrip(os.sep)}{os.sep}"):
                    yield os.path.relpath(path, folder)


def _names_in(text: str) -> Iterator[str]:
    """Yield the lines, quotations and words of a text that may be paths."""
    for line in text[:_MAX_TEXT_CHARS].splitlines():
        quoted = (next(filter(None, found.groups())) for found in _QUOTED.finditer(line))
        words = (found.group().lstrip(_OPENING).rstrip(_CLOSING) for found in _WORD.finditer(line))
        for name in chain([line.strip(), line.rpartition(": ")[2].strip()], quoted, words):
            if 0 < len(name) <= _LONGEST_PATH_CHARS and "\0" not in name:
                yield from _spellings(name)


def _spellings(name: str) -> Iterator[str]:
    """Yield the path of a `file:` URI; for any other name, itself and its percent-decoded form."""
    if name[:5].lower() == "file:":
        with suppress(ValueError):
            parts = urlsplit(name)
            if parts.netloc in ("", "localhost") and "\0" not in (path := unquote(parts.path)):
                yield path
        return
    yield name
    if "%" in name and "\0" not in (path := unquote(name)):
        yield path
