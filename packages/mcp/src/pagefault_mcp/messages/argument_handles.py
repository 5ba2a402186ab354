"""Find handles of stored files (`@blob:…`) in the arguments of calls.

The proxy replaces a handle by its file, if the input schema of the tool says that the argument is
a file: bytes, a URL or a path. The argument has to be just the handle, or just a line of a
rendering such as `[image @blob:…]`.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote

from pagefault_dialects.json.values import JsonValue

FileForm = Literal["base64", "data-uri", "path"]

_HANDLE = re.compile(r"\s*(?:\[[a-z]+ )?@blob:([0-9a-f]{32})(?![0-9A-Za-z])(?:[^\[\]]*\])?\s*")
_BASE64_FORMATS = frozenset({"byte", "binary", "base64"})
_PATH_FORMATS = frozenset({"path", "file-path", "filepath"})
_PATH_NAMES = re.compile(r"(?:^|_)(?:file|path|file_?path|filename)s?$|(?:Path|File)s?$")
_MAX_DEPTH = 16
_LONGEST_REFERENCE_CHARS = 1_000
_MAX_FILE_ARGUMENTS = 100
# The maximum number of subschemas that are read. Schemas may be recursive, and have many branches.
_MAX_SUBSCHEMAS = 2_000

Step: TypeAlias = str | int | frozenset[str]
"""A step into a value: the name of a member, the index of an item, `*` for all items, or all
members except those in a set."""


@dataclass(frozen=True, slots=True)
class FileArgument:
    """An argument of a tool that is a file, by the input schema of the tool."""

    path: tuple[Step, ...]
    """The steps from the arguments to this one."""
    form: FileForm
    """The form in which the tool expects the file."""


@dataclass(frozen=True, slots=True)
class HandleArgument:
    """A handle in the arguments of a call, to be replaced by a file."""

    container: Any
    """The object or list with the handle."""
    key: str | int
    """The name or index of the handle in the container."""
    resource_id: str
    form: FileForm
    """The form in which the tool expects the file."""


def find_file_arguments(schema: JsonValue, *, takes_paths: bool) -> Sequence[FileArgument]:
    """Return the arguments of a tool that are files.

    Args:
        schema: The input schema, a JSON Schema; internal references are followed.
        takes_paths: Include arguments that are paths of files.
    """
    file_arguments = dict.fromkeys(_walk_schema(schema, takes_paths=takes_paths))
    return list(islice(file_arguments, _MAX_FILE_ARGUMENTS))


def _walk_schema(schema: JsonValue, *, takes_paths: bool) -> Iterator[FileArgument]:
    """Yield the arguments that are files, those of outer levels first."""
    queue: deque[tuple[JsonValue, tuple[Step, ...]]] = deque([(schema, ())])
    for _ in range(_MAX_SUBSCHEMAS):
        if not queue:
            return
        schema_node, path = queue.popleft()
        if not isinstance(schema_node, dict) or len(path) > _MAX_DEPTH:
            continue
        form = _find_form(schema_node, _find_last_name(path), takes_paths=takes_paths)
        if path and form is not None:
            yield FileArgument(path, form)
        subschemas = (
            (subschema, (*path, *steps))
            for subschema, steps in _iterate_subschemas(schema_node, schema)
        )
        queue.extend(islice(subschemas, max(0, _MAX_SUBSCHEMAS - len(queue))))


def _find_last_name(path: Sequence[Step]) -> str:
    """Return the name of the last member on a path; `""` if there is none."""
    steps = (step for step in reversed(path) if step != "*" and not isinstance(step, int))
    last = next(steps, "")
    return last if isinstance(last, str) else ""


def _iterate_subschemas(
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
    value = schema_node.get(key)
    return value if isinstance(value, list) else ()


def _follow_reference(root: JsonValue, reference: str) -> JsonValue:
    """Return the schema at a reference such as `#/$defs/Image`; `None` if there is none."""
    start, *tokens = unquote(reference[:_LONGEST_REFERENCE_CHARS]).split("/")
    if start != "#" or len(reference) > _LONGEST_REFERENCE_CHARS:
        return None
    schema = root
    for token in tokens:
        name = token.replace("~1", "/").replace("~0", "~")
        schema = schema.get(name) if isinstance(schema, dict) else None
    return schema


def _find_form(schema: Mapping[str, JsonValue], name: str, *, takes_paths: bool) -> FileForm | None:
    """Return the form of an argument that is a file; `None` for other arguments.

    Args:
        schema: The schema of the argument.
        name: The name of the argument.
        takes_paths: Include arguments that are paths of files.
    """
    types = schema.get("type")
    is_text = types == "string" or (isinstance(types, list) and "string" in types)
    if not is_text:
        return None
    text_format = schema.get("format")
    text_format = text_format if isinstance(text_format, str) else None
    if schema.get("contentEncoding") == "base64" or text_format in _BASE64_FORMATS:
        return "base64"
    if text_format in ("uri", "url"):
        # A link to the service would be shorter, but the tool's server may not reach the service.
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
    """Yield the handles in those arguments of a call that are files."""
    for argument in file_arguments:
        *outer_steps, last_step = argument.path
        containers: list[JsonValue] = [arguments]
        for step in outer_steps:
            containers = [
                value for container in containers for _, value in _follow_step(container, step)
            ]
        for container in containers:
            for key, value in _follow_step(container, last_step):
                if isinstance(value, str) and (match := _HANDLE.fullmatch(value)):
                    yield HandleArgument(container, key, match.group(1), argument.form)


def _follow_step(value: JsonValue, step: Step) -> Iterable[tuple[str | int, JsonValue]]:
    """Return the values of an object or list that a step leads to, with their names or indexes."""
    if isinstance(value, list):
        if step == "*":
            return enumerate(value)
        return [(step, value[step])] if isinstance(step, int) and step < len(value) else ()
    if not isinstance(value, dict):
        return ()
    if isinstance(step, frozenset):
        return [(name, member) for name, member in value.items() if name not in step]
    return [(step, value[step])] if isinstance(step, str) and step in value else ()
