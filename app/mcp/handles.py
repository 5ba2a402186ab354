"""Handles in the arguments of calls: where a tool's schema wants a file, and which it is given.

A handle is resolved where the schema says that bytes or an address belong, and nowhere else: in a
text it is a text. It is all of the string, or the line in brackets that it was shown in.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from app.models.json_value import JsonValue

Form = Literal["base64", "data-uri", "path"]

_HANDLE = re.compile(r"\s*(?:\[[a-z]+ )?@blob:([0-9a-f]{32})(?![0-9A-Za-z])(?:[^\[\]]*\])?\s*")
_BASE64_FORMATS = frozenset({"byte", "binary", "base64"})
_PATH_FORMATS = frozenset({"path", "file-path", "filepath"})
_PATH_NAMES = re.compile(r"(?:^|_)(?:file|path|file_?path|filename)s?$|(?:Path|File)s?$")
_DEEPEST = 16
_MOST_PLACES = 100


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the arguments a file may stand, `*` for every item of a list, and in which form."""

    path: tuple[str, ...]
    form: Form


@dataclass(frozen=True, slots=True)
class Mention:
    """A handle in arguments: what holds it, under which key, which resource, in which form."""

    holder: Any
    key: str | int
    resource_id: str
    form: Form


def places_of(schema: JsonValue, *, takes_paths: bool) -> Sequence[Place]:
    """Return where a tool takes files, by its input schema.

    Args:
        schema: The schema, a JSON Schema; references in it are not followed.
        takes_paths: Whether paths of files are among them.
    """
    return list(islice(_places(schema, (), takes_paths), _MOST_PLACES))


def _places(schema: JsonValue, path: tuple[str, ...], takes_paths: bool) -> Iterator[Place]:
    if not isinstance(schema, dict) or len(path) > _DEEPEST:
        return
    form = _form(schema, path[-1] if path else "", takes_paths)
    if path and form is not None:
        yield Place(path, form)
    properties = schema.get("properties")
    for name, member in properties.items() if isinstance(properties, dict) else ():
        yield from _places(member, (*path, name), takes_paths)
    yield from _places(schema.get("items"), (*path, "*"), takes_paths)
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        for option in options if isinstance(options, list) else ():
            yield from _places(option, path, takes_paths)


def _form(schema: Mapping[str, JsonValue], name: str, takes_paths: bool) -> Form | None:
    kinds = schema.get("type")
    is_text = kinds == "string" or (isinstance(kinds, list) and "string" in kinds)
    if not is_text:
        return None
    wanted = schema.get("format")
    if schema.get("contentEncoding") == "base64" or wanted in _BASE64_FORMATS:
        return "base64"
    if wanted in ("uri", "url"):
        # Never a link to this service: whoever gets it may be on another machine.
        return "data-uri"
    if takes_paths and (wanted in _PATH_FORMATS or _PATH_NAMES.search(name)):
        return "path"
    return None


def mentions_in(arguments: JsonValue, places: Sequence[Place]) -> Iterator[Mention]:
    """Yield the handles that stand where files may stand."""
    for place in places:
        *inner, last = place.path
        holders: list[JsonValue] = [arguments]
        for name in inner:
            holders = [member for holder in holders for _, member in _members(holder, name)]
        for holder in holders:
            for key, member in _members(holder, last):
                if isinstance(member, str) and (found := _HANDLE.fullmatch(member)):
                    yield Mention(holder, key, found.group(1), place.form)


def _members(value: JsonValue, name: str) -> Iterable[tuple[str | int, JsonValue]]:
    """Return the member of an object, or all items of a list for `*`, with their keys."""
    if isinstance(value, list) and name == "*":
        return enumerate(value)
    return [(name, value[name])] if isinstance(value, dict) and name in value else ()
