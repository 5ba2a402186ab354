"""Find handles (`@blob:…`) in the arguments of calls, where the schema of a tool expects a file.

A handle is replaced by a file only in arguments for which the schema expects bytes, a URL or a
path. The string has to be only the handle, or a line of a rendering such as `[image @blob:…]`.
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
_MAX_DEPTH = 16
_LONGEST_REFERENCE_CHARS = 1_000
_MAX_FILE_ARGUMENTS = 100
# Schemas may be recursive, and their references may multiply with each level.
_MAX_SCHEMAS = 2_000

Step: TypeAlias = str | int | frozenset[str]
"""A step into a value: a member, an item, or all members except those in a set."""


@dataclass(frozen=True, slots=True)
class FileArgument:
    """An argument that is expected to be a file."""

    path: tuple[Step, ...]
    """The path in the arguments; the step `*` stands for all items of a list."""
    form: Form
    """The form in which the tool expects the file."""


@dataclass(frozen=True, slots=True)
class HandleArgument:
    """A handle in the arguments of a call, to be replaced by a file."""

    container: Any
    """The object or list with the handle."""
    key: str | int
    """The name or index of the handle in the container."""
    resource_id: str
    form: Form
    """The form in which the tool expects the file."""


def find_file_arguments(schema: JsonValue, *, takes_paths: bool) -> Sequence[FileArgument]:
    """Return the arguments of a tool that its schema expects to be files.

    Args:
        schema: The input schema, a JSON Schema; internal references are followed.
        takes_paths: Whether to include arguments that are paths of files.
    """
    found = dict.fromkeys(_walk_schema(schema, takes_paths))
    return list(islice(found, _MAX_FILE_ARGUMENTS))


def _walk_schema(schema: JsonValue, takes_paths: bool) -> Iterator[FileArgument]:
    """Yield the arguments that are files, breadth-first."""
    queue: deque[tuple[JsonValue, tuple[Step, ...]]] = deque([(schema, ())])
    for _ in range(_MAX_SCHEMAS):
        if not queue:
            return
        schema_node, path = queue.popleft()
        if not isinstance(schema_node, dict) or len(path) > _MAX_DEPTH:
            continue
        form = _find_form(schema_node, _name_of(path), takes_paths)
        if path and form is not None:
            yield FileArgument(path, form)
        inner = ((item, (*path, *steps)) for item, steps in _subschemas(schema_node, schema))
        queue.extend(islice(inner, max(0, _MAX_SCHEMAS - len(queue))))


def _name_of(path: Sequence[Step]) -> str:
    """Return the name of the last member on a path; `""` if there is none."""
    steps = (step for step in reversed(path) if step != "*" and not isinstance(step, int))
    last = next(steps, "")
    return last if isinstance(last, str) else ""


def _subschemas(
    schema_node: Mapping[str, JsonValue], root: JsonValue
) -> Iterator[tuple[JsonValue, list[Step]]]:
    """Yield the subschemas of a schema, with the steps to their values."""
    properties = schema_node.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    for name, member in properties.items():
        yield member, [name]
    if isinstance(schema_node.get("additionalProperties"), dict):
        yield schema_node["additionalProperties"], [frozenset(properties)]
    yield schema_node.get("items"), ["*"]
    for index, item in enumerate(_read_list(schema_node, "prefixItems")):
        yield item, [index]
    for key in ("anyOf", "oneOf", "allOf"):
        for option in _read_list(schema_node, key):
            yield option, []
    if isinstance(schema_node.get("$ref"), str):
        yield _follow_reference(root, schema_node["$ref"]), []


def _read_list(schema_node: Mapping[str, JsonValue], key: str) -> Sequence[JsonValue]:
    listed = schema_node.get(key)
    return listed if isinstance(listed, list) else ()


def _follow_reference(root: JsonValue, reference: str) -> JsonValue:
    """Return the schema that an internal reference leads to, if it exists."""
    start, *tokens = unquote(reference[:_LONGEST_REFERENCE_CHARS]).split("/")
    if start != "#" or len(reference) > _LONGEST_REFERENCE_CHARS:
        return None
    for token in tokens:
        name = token.replace("~1", "/").replace("~0", "~")
        root = root.get(name) if isinstance(root, dict) else None
    return root


def _find_form(schema: Mapping[str, JsonValue], name: str, takes_paths: bool) -> Form | None:
    """Return the form of file that an argument of this name and schema expects, if any."""
    types = schema.get("type")
    is_text = types == "string" or (isinstance(types, list) and "string" in types)
    if not is_text:
        return None
    text_format = schema.get("format")
    text_format = text_format if isinstance(text_format, str) else None
    if schema.get("contentEncoding") == "base64" or text_format in _BASE64_FORMATS:
        return "base64"
    if text_format in ("uri", "url"):
        # Not a link to this service, which the tool's server may not reach.
        return "data-uri"
    if takes_paths and (text_format in _PATH_FORMATS or _PATH_NAMES.search(name)):
        return "path"
    return None


def is_handle(text: JsonValue) -> bool:
    """Return whether a value is a string with a handle and nothing else."""
    return isinstance(text, str) and _HANDLE.fullmatch(text) is not None


def find_handles(
    arguments: JsonValue, file_arguments: Sequence[FileArgument]
) -> Iterator[HandleArgument]:
    """Yield the handles among the arguments that are expected to be files."""
    for argument in file_arguments:
        *inner, last = argument.path
        containers: list[JsonValue] = [arguments]
        for step in inner:
            containers = [
                member for container in containers for _, member in _members(container, step)
            ]
        for container in containers:
            for key, member in _members(container, last):
                if isinstance(member, str) and (found := _HANDLE.fullmatch(member)):
                    yield HandleArgument(container, key, found.group(1), argument.form)


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
