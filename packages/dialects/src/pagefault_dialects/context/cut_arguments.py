"""Shortened arguments of old calls: a long string keeps its beginning and gets a mark.

Source: `context`, "Budget".
"""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from pagefault_dialects.context.cut_marks import CUT_MARK, LONGEST_HANDLE, LONGEST_MARK
from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import JsonObject, json_text
from pagefault_dialects.texts.cuts import boundary_at_or_before

ARGUMENT_CHARS = 200
"""Characters that a long string of an old call keeps."""
# Of calls without a session.
_PLAIN_MARK = re.compile(r"\[\.\.\. [0-9]{1,15} characters left out \.\.\.\]")


def cut_arguments(arguments: JsonObject, handle: str | None) -> JsonObject:
    """Return the arguments of a call with long strings cut; the same object if none is long.

    Objects, arrays, keys and all other values are unchanged. Cutting again changes nothing.

    Args:
        arguments: The arguments of a call.
        handle: The reference to them: `@entry:12/arguments/1` is the second call of entry 12.
            Without one, the marks name none.
    """
    cut = dict(arguments)
    has_long = False
    open_values: list[tuple[Any, str | None]] = [(cut, handle)]
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


def mark_arguments(arguments: JsonObject, handle: str | None) -> JsonObject:
    """Return arguments replaced by one mark; the same object if they are short.

    The mark is the value of the first member; all other members are left out.

    Args:
        arguments: The arguments of a call.
        handle: The reference to them; see `cut_arguments`.
    """
    mark = _mark(len(json_text(arguments)), handle)
    if len(json_text(arguments)) <= ARGUMENT_CHARS + len(mark):
        return arguments
    return {next(iter(arguments))[:ARGUMENT_CHARS]: mark}


def _mark(left_out: int, handle: str | None) -> str:
    hint = "" if handle is None else f"; read_text {handle} shows all of it"
    return f"[... {left_out} characters left out{hint} ...]"


def _cut(text: str, handle: str | None) -> str:
    head = text[: boundary_at_or_before(text, ARGUMENT_CHARS)]
    mark = _mark(len(text) - len(head), handle)
    is_cut = is_cut_text(text) or _PLAIN_MARK.fullmatch(text, len(head)) is not None
    return text if is_cut or len(text) <= ARGUMENT_CHARS + len(mark) else head + mark


def is_cut_text(text: str) -> bool:
    """Return whether a text is an argument that was cut: its beginning and a mark."""
    if len(text) > ARGUMENT_CHARS + LONGEST_MARK:
        return False
    found = CUT_MARK.search(text)
    return found is not None and found.start() <= ARGUMENT_CHARS and found.end() == len(text)


def _member_handle(name: str | None, key: str | int) -> str | None:
    """Return the handle of a member, or that of its object if it would be too long."""
    if name is None or len(name) + len(str(key)) > LONGEST_HANDLE:
        return name
    # As in a URI (RFC 6901, section 6), since a key may hold what ends a handle or a string.
    longer = name + quote(child_pointer("", key), safe="/", errors="surrogatepass")
    return longer if len(longer) <= LONGEST_HANDLE else name
