"""Arguments of old calls, shortened, and the mark by which a copy of one is found in a new call.

A long string keeps its beginning, followed by a mark with the handle that leads to the whole of it:
`[... 11800 characters left out; read_text @entry:12/arguments/1/content shows all of it ...]`. The
mark is ASCII without quotes and backslashes, so JSON in a string, however often it was escaped, has
it unchanged. A model that repeats an old call copies the mark, and running that call would store it
in the place of the text.

Source: `context`, "Budget".
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from pagefault_dialects.json.pointers import child_pointer, parse_json_pointer
from pagefault_dialects.json.values import JsonObject, JsonValue, values_in
from pagefault_dialects.texts.cuts import boundary_at_or_before

ARGUMENT_CHARS = 200
"""Characters that a long string of an old call keeps."""

# What lies deeper is named by the object or array around it.
_LONGEST_HANDLE = 400
_HANDLE = (
    rf"@entry:[0-9]{{1,15}}/arguments/[0-9]{{1,9}}(?:/[A-Za-z0-9_.~%/-]{{0,{_LONGEST_HANDLE}}}+)?"
)
_MARK = re.compile(
    rf"\[\.\.\. [0-9]{{1,15}} characters left out; read_text ({_HANDLE}) shows all of it \.\.\.\]"
)
_LONGEST_MARK = 2 * _LONGEST_HANDLE
# As models write it, who may leave the names of members unescaped.
_NAMED = re.compile(r"@?entry:([0-9]{1,15})/arguments/([0-9]{1,9})((?:/[^\s\"\[\]]*+)?)")


@dataclass(frozen=True, slots=True)
class ArgumentHandle:
    """A value in the arguments of a call: the entry, which of its calls, and where it stands."""

    seq: int
    call_index: int
    names: tuple[str, ...]


def cut_arguments(arguments: JsonObject, handle: str) -> JsonObject:
    """Return the arguments of a call with long strings cut; the same object if none is long.

    Objects, arrays, keys and all other values stay as they are. Cutting again changes nothing.

    Args:
        arguments: The arguments of a call.
        handle: What names them: `@entry:12/arguments/1` is the second call of entry 12.
    """
    cut = dict(arguments)
    has_long = False
    open_values: list[tuple[Any, str]] = [(cut, handle)]
    while open_values:
        node, name = open_values.pop()
        members: Iterable[tuple[Any, Any]] = (
            node.items() if isinstance(node, dict) else enumerate(node)
        )
        for key, member in members:
            if isinstance(member, dict | list):
                node[key] = member.copy()
                open_values.append((node[key], _member_handle(name, key)))
            elif isinstance(member, str) and len(member) > ARGUMENT_CHARS:
                node[key] = _cut(member, _member_handle(name, key))
                has_long = has_long or node[key] is not member
    return cut if has_long else arguments


def find_cut_mark(arguments: JsonValue) -> str | None:
    """Return the handle in the first cut mark of a call's arguments; `None` if there is none.

    Args:
        arguments: An object, or the JSON text of one.
    """
    for value, _ in values_in(arguments):
        if isinstance(value, str) and (found := _MARK.search(value)):
            return found[1]
    return None


def cut_arguments_refusal(handle: str) -> str:
    """Return the words that answer a call with a cut argument in the place of running it.

    Args:
        handle: What names the whole of the argument.
    """
    return (
        "The call was not run: a text in its arguments is only the beginning of one, copied from "
        f'where "[... characters left out ...]" stands. Call read_text with ref "{handle}" first, '
        "then make this call again with the whole text."
    )


def parse_argument_handle(text: str) -> ArgumentHandle | None:
    """Parse the handle of an argument out of a text; return `None` if it has none."""
    found = _NAMED.search(text)
    if found is None:
        return None
    names = parse_json_pointer(unquote(found[3], errors="surrogatepass"))
    return None if names is None else ArgumentHandle(int(found[1]), int(found[2]), names)


def _cut(text: str, handle: str) -> str:
    head = text[: boundary_at_or_before(text, ARGUMENT_CHARS)]
    mark = (
        f"[... {len(text) - len(head)} characters left out; read_text {handle} shows all of it ...]"
    )
    return text if len(text) <= ARGUMENT_CHARS + len(mark) or _is_cut(text) else head + mark


def _is_cut(text: str) -> bool:
    """Return whether a text is the beginning of one, and a mark."""
    if len(text) > ARGUMENT_CHARS + _LONGEST_MARK:
        return False
    found = _MARK.search(text)
    return found is not None and found.start() <= ARGUMENT_CHARS and found.end() == len(text)


def _member_handle(name: str, key: str | int) -> str:
    """Return the handle of a member; that of its object, if it would be too long."""
    if len(name) + len(str(key)) > _LONGEST_HANDLE:
        return name
    # As in a URI (RFC 6901, section 6), since a key may hold what ends a handle or a string.
    longer = name + quote(child_pointer("", key), safe="/", errors="surrogatepass")
    return longer if len(longer) <= _LONGEST_HANDLE else name
