"""Find paths of files in the texts of a tool's result.

A path may be quoted, the target of a Markdown link, a whole line, the end of a line behind a colon,
or a word.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from urllib.parse import unquote, urlsplit

from pagefault_dialects.json.values import JsonValue, iterate_values

_LONGEST_PATH_CHARS = 1_024
_MAX_CANDIDATES = 5_000
_MAX_TEXT_CHARS = 256 * 1024
# Each alternative ends at the next quotation mark of the same kind, so a search takes linear time.
_QUOTED = re.compile(
    r"\]\(([^()\n]{1,1024}+)\)|\"([^\"\n]{1,1024}+)\"|'([^'\n]{1,1024}+)'|`([^`\n]{1,1024}+)`"
)
_WORD = re.compile(r"\S+")
# A word may begin or end with punctuation, which is not part of the path.
_OPENING, _CLOSING = "\"'`([<{", "\"'`)]>},;:!?."


def find_paths(result: JsonValue, folders: Sequence[str], bases: Sequence[str]) -> Iterator[str]:
    """Yield the paths in a result that are below a folder, relative to the folder.

    A path may be yielded several times. Its file need not exist. Symbolic links are not followed,
    and `..` is resolved in the text of a path only.

    Args:
        result: The result.
        folders: The absolute paths of the folder, with and without resolved links.
        bases: The folders to which relative paths in the result may refer.
    """
    texts = (value for value, _ in iterate_values(result) if isinstance(value, str))
    candidates = dict.fromkeys(
        islice(chain.from_iterable(map(_find_candidates, texts)), _MAX_CANDIDATES)
    )
    for candidate in candidates:
        for base in bases:
            path = os.path.normpath(os.path.join(base, candidate))
            for folder in folders:
                if path.startswith(f"{folder.rstrip(os.sep)}{os.sep}"):
                    yield os.path.relpath(path, folder)


def _find_candidates(text: str) -> Iterator[str]:
    """Yield the lines, quoted texts and words of a text, each of which may be a path."""
    for line in text[:_MAX_TEXT_CHARS].splitlines():
        quoted = (next(filter(None, match.groups())) for match in _QUOTED.finditer(line))
        words = (match.group().lstrip(_OPENING).rstrip(_CLOSING) for match in _WORD.finditer(line))
        for text_part in chain([line.strip(), line.rpartition(": ")[2].strip()], quoted, words):
            if 0 < len(text_part) <= _LONGEST_PATH_CHARS and "\0" not in text_part:
                yield from _decode_candidate(text_part)


def _decode_candidate(text: str) -> Iterator[str]:
    """Yield the path of a `file:` URI. Yield any other text as it is, and percent-decoded."""
    if text[:5].lower() == "file:":
        with suppress(ValueError):
            parts = urlsplit(text)
            if parts.netloc in ("", "localhost") and "\0" not in (path := unquote(parts.path)):
                yield path
        return
    yield text
    if "%" in text and "\0" not in (path := unquote(text)):
        yield path
