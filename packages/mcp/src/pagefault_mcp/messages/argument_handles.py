"""Handles in the arguments of calls, where the schema of a tool expects a file.

A handle is resolved only where the schema expects bytes, an address or a path; in other strings it
stays text. It is the whole string, either bare or as the line in brackets of a rendering.
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
_MAX_PLACES = 100
# Schemas may be recursive, and their references may multiply with each level.
_MAX_SCHEMAS = 2_000

Step: TypeAlias = str | int | frozenset[str]
"""A step into a value: a member, an item, or all members except those in a set."""


@dataclass(frozen=True, slots=True)
class FileArgument:
    """A path in the arguments where a file is expected, `*` for all items, and its form."""

    path: tuple[Step, ...]
    form: Form


@dataclass(frozen=True, slots=True)
class Mention:
    """A handle in arguments: its container and key, its resource, and the expected form."""

    holder: Any
    key: str | int
    resource_id: str
    form: Form


def find_file_arguments(schema: JsonValue, *, takes_paths: bool) -> Sequence[FileArgument]:
    """Return the places in the arguments of a tool where its schema expects files.

    Args:
        schema: The input schema, a JSON Schema; internal references are followed.
        takes_paths: Include the paths of files.
    """
    found = dict.fromkeys(_find_places(schema, takes_paths))
    return list(islice(found, _MAX_PLACES))


def _find_places(schema: JsonValue, takes_paths: bool) -> Iterator[FileArgument]:
    """Yield places breadth-first."""
    queue: deque[tuple[JsonValue, tuple[Step, ...]]] = deque([(schema, ())])
    for _ in range(_MAX_SCHEMAS):
        if not queue:
            return
        schema_node, path = queue.popleft()
        if not isinstance(schema_node, dict) or len(path) > _DEEPEST:
            continue
        form = _form(schema_node, _name_of(path), takes_paths)
        if path and form is not None:
            yield FileArgument(path, form)
        inner = ((item, (*path, *steps)) for item, steps in _inner(schema_node, schema))
        queue.extend(islice(inner, max(0, _MAX_SCHEMAS - len(queue))))


def _name_of(path: Sequence[Step]) -> str:
    """Return the name of a value; that of its list for an item, and "" for any other member."""
    steps = (step for step in reversed(path) if step != "*" and not isinstance(step, int))
    last = next(steps, "")
    return last if isinstance(last, str) else ""


def _inner(
    schema_node: Mapping[str, JsonValue], root: JsonValue
) -> Iterator[tuple[JsonValue, list[Step]]]:
    """Yield the subschemas of a schema, with the steps to their values."""
    properties = schema_node.get("properties")
    named = properties if isinstance(properties, dict) else {}
    for name, member in named.items():
        yield member, [name]
    if isinstance(schema_node.get("additionalProperties"), dict):
        yield schema_node["additionalProperties"], [frozenset(named)]
    yield schema_node.get("items"), ["*"]
    for number, item in enumerate(_read_list(schema_node, "prefixItems")):
        yield item, [number]
    for key in ("anyOf", "oneOf", "allOf"):
        for option in _read_list(schema_node, key):
            yield option, []
    if isinstance(schema_node.get("$ref"), str):
        yield _follow_reference(root, schema_node["$ref"]), []


def _read_list(schema_node: Mapping[str, JsonValue], key: str) -> Sequence[JsonValue]:
    listed = schema_node.get(key)
    return listed if isinstance(listed, list) else ()


def _follow_reference(root: JsonValue, reference: str) -> JsonValue:
    """Return the target of a reference within a schema, or `None`."""
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
    text_format = named if isinstance(named, str) else None
    if schema.get("contentEncoding") == "base64" or text_format in _BASE64_FORMATS:
        return "base64"
    if text_format in ("uri", "url"):
        # Not a link to this service, which other machines may not reach.
        return "data-uri"
    if takes_paths and (text_format in _PATH_FORMATS or _PATH_NAMES.search(name)):
        return "path"
    return None


def is_handle(text: JsonValue) -> bool:
    """Return whether a value is a string with a handle and nothing else."""
    return isinstance(text, str) and _HANDLE.fullmatch(text) is not None


def find_mentions(arguments: JsonValue, places: Sequence[FileArgument]) -> Iterator[Mention]:
    """Yield the handles where files are expected."""
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
    """Return the values that a step leads to, with their keys."""
    if isinstance(value, list):
        if step == "*":
            return enumerate(value)
        return [(step, value[step])] if isinstance(step, int) and step < len(value) else ()
    if not isinstance(value, dict):
        return ()
    if isinstance(step, frozenset):
        return [(name, member) for name, member in value.items() if name not in step]
    return [(step, value[step])] if isinstance(step, str) and step in value else ()
