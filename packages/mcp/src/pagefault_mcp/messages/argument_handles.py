"""Handles in the arguments of calls: where a tool's schema wants a file, and which it is given.

A handle is resolved where the schema says that bytes or an address belong, and nowhere else: in a
text it is a text. It is all of the string, or the line in brackets that it was shown in.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote

from pagefault_dialects.json.values import JsonValue

Form = Literal["base64", "data-uri", "path"]

_HANDLE = re.compile(r"\s*(?:\[[a-z]+ )?@blob:([0-9a-f]{32})(?![0-9A-Za-z])(?:[^\[\]]*\])?\s*")
_BASE64_FORMATS = frozenset({"byte", "binary", "base64"})
_PATH_FORMATS = frozenset({"path", "file-path", "filepath"})
_PATH_NAMES = re.compile(r"(?:^|_)(?:file|path|file_?path|filename)s?$|(?:Path|File)s?$")
_DEEPEST = 16
_LONGEST_REFERENCE_CHARS = 1_000
_MOST_PLACES = 100
# Schemas may refer to themselves, and each level may refer to the next one several times.
_MOST_SCHEMAS = 2_000

Step: TypeAlias = str | int | frozenset[str]
"""From a value to one in it: a member, an item, or all members but those that are named."""


@dataclass(frozen=True, slots=True)
class FileArgument:
    """Where in the arguments a file may stand, `*` for every item of a list, and in which form."""

    path: tuple[Step, ...]
    form: Form


@dataclass(frozen=True, slots=True)
class Mention:
    """A handle in arguments: what holds it, under which key, which resource, in which form."""

    holder: Any
    key: str | int
    resource_id: str
    form: Form


def places_of(schema: JsonValue, *, takes_paths: bool) -> Sequence[FileArgument]:
    """Return where a tool takes files, by its input schema.

    Args:
        schema: The schema, a JSON Schema; references to places in it are followed.
        takes_paths: Whether paths of files are among them.
    """
    found = dict.fromkeys(_places(schema, takes_paths))
    return list(islice(found, _MOST_PLACES))


def _places(schema: JsonValue, takes_paths: bool) -> Iterator[FileArgument]:
    """Yield places, the shallow ones first."""
    left: deque[tuple[JsonValue, tuple[Step, ...]]] = deque([(schema, ())])
    for _ in range(_MOST_SCHEMAS):
        if not left:
            return
        held, path = left.popleft()
        if not isinstance(held, dict) or len(path) > _DEEPEST:
            continue
        form = _form(held, _name_of(path), takes_paths)
        if path and form is not None:
            yield FileArgument(path, form)
        inner = ((each, (*path, *steps)) for each, steps in _inner(held, schema))
        left.extend(islice(inner, max(0, _MOST_SCHEMAS - len(left))))


def _name_of(path: Sequence[Step]) -> str:
    """Return what a value is called, an item as its list is; nothing if it may have any name."""
    steps = (step for step in reversed(path) if step != "*" and not isinstance(step, int))
    last = next(steps, "")
    return last if isinstance(last, str) else ""


def _inner(
    held: Mapping[str, JsonValue], root: JsonValue
) -> Iterator[tuple[JsonValue, list[Step]]]:
    """Yield the schemas that one is made of, and the steps from its values to theirs."""
    properties = held.get("properties")
    named = properties if isinstance(properties, dict) else {}
    for name, member in named.items():
        yield member, [name]
    if isinstance(held.get("additionalProperties"), dict):
        yield held["additionalProperties"], [frozenset(named)]
    yield held.get("items"), ["*"]
    for number, item in enumerate(_read_list(held, "prefixItems")):
        yield item, [number]
    for key in ("anyOf", "oneOf", "allOf"):
        for option in _read_list(held, key):
            yield option, []
    if isinstance(held.get("$ref"), str):
        yield _follow_reference(root, held["$ref"]), []


def _read_list(held: Mapping[str, JsonValue], key: str) -> Sequence[JsonValue]:
    listed = held.get(key)
    return listed if isinstance(listed, list) else ()


def _follow_reference(root: JsonValue, reference: str) -> JsonValue:
    """Return what a reference leads to in a schema; `None` if that is nothing, or elsewhere."""
    start, *tokens = unquote(reference[:_LONGEST_REFERENCE_CHARS]).split("/")
    if start != "#" or len(reference) > _LONGEST_REFERENCE_CHARS:
        return None
    for token in tokens:
        name = token.replace("~1", "/").replace("~0", "~")
        root = root.get(name) if isinstance(root, dict) else None
    return root


def _form(schema: Mapping[str, JsonValue], name: str, takes_paths: bool) -> Form | None:
    kinds = schema.get("type")
    is_text = kinds == "string" or (isinstance(kinds, list) and "string" in kinds)
    if not is_text:
        return None
    named = schema.get("format")
    wanted = named if isinstance(named, str) else None
    if schema.get("contentEncoding") == "base64" or wanted in _BASE64_FORMATS:
        return "base64"
    if wanted in ("uri", "url"):
        # Never a link to this service: whoever gets it may be on another machine.
        return "data-uri"
    if takes_paths and (wanted in _PATH_FORMATS or _PATH_NAMES.search(name)):
        return "path"
    return None


def is_handle(text: JsonValue) -> bool:
    """Tell whether a value is a text that is a handle, and nothing else."""
    return isinstance(text, str) and _HANDLE.fullmatch(text) is not None


def mentions_in(arguments: JsonValue, places: Sequence[FileArgument]) -> Iterator[Mention]:
    """Yield the handles that stand where files may stand."""
    for place in places:
        *inner, last = place.path
        holders: list[JsonValue] = [arguments]
        for step in inner:
            holders = [member for holder in holders for _, member in _members(holder, step)]
        for holder in holders:
            for key, member in _members(holder, last):
                if isinstance(member, str) and (found := _HANDLE.fullmatch(member)):
                    yield Mention(holder, key, found.group(1), place.form)


def _members(value: JsonValue, step: Step) -> Iterable[tuple[str | int, JsonValue]]:
    """Return what a step leads to in a value, with the keys under which it is there."""
    if isinstance(value, list):
        if step == "*":
            return enumerate(value)
        return [(step, value[step])] if isinstance(step, int) and step < len(value) else ()
    if not isinstance(value, dict):
        return ()
    if isinstance(step, frozenset):
        return [(name, member) for name, member in value.items() if name not in step]
    return [(step, value[step])] if isinstance(step, str) and step in value else ()
