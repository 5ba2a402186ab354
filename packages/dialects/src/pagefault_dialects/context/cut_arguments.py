"""Shortened arguments of old calls: a long string keeps its beginning, followed by a mark.

`cut_marks.py` describes the mark, and finds it in new calls.

Source: design document `context.md`, "Budget".
"""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from pagefault_dialects.context.cut_marks import CUT_MARK, LONGEST_HANDLE, LONGEST_MARK
from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import JsonObject, json_text
from pagefault_dialects.texts.cuts import find_boundary_before

ARGUMENT_CHARS = 200
"""The number of characters that a long string of an old call keeps."""
# The mark in a call outside of a session, which has no handle.
_PLAIN_MARK = re.compile(r"\[\.\.\. [0-9]{1,15} characters left out \.\.\.\]")


def cut_arguments(arguments: JsonObject, handle: str | None) -> JsonObject:
    """Return the arguments of a call with long strings cut; the same object if none is long.

    Objects, arrays, keys and other values are unchanged. Strings that were cut before are unchanged
    too.

    Args:
        arguments: The arguments of a call.
        handle: The handle of the arguments: `@entry:12/arguments/1` names those of the second call
            of entry 12. With `None`, the marks name no handle.
    """
    cut = dict(arguments)
    has_long = False
    pending: list[tuple[Any, str | None]] = [(cut, handle)]
    while pending:
        node, node_handle = pending.pop()
        members: Iterable[tuple[Any, Any]] = (
            node.items() if isinstance(node, dict) else enumerate(node)
        )
        for key, member in members:
            if isinstance(member, dict | list):
                node[key] = member.copy()
                pending.append((node[key], _member_handle(node_handle, key)))
            elif isinstance(member, str) and len(member) > ARGUMENT_CHARS:
                node[key] = _cut_string(member, _member_handle(node_handle, key))
                has_long = has_long or node[key] is not member
    return cut if has_long else arguments


def mark_arguments(arguments: JsonObject, handle: str | None) -> JsonObject:
    """Return an object with only the first key of the arguments, and a mark as its value.

    Arguments whose JSON is hardly longer than the mark are returned unchanged.

    Args:
        arguments: The arguments of a call.
        handle: The handle of the arguments; see `cut_arguments`.
    """
    mark = _make_mark(len(json_text(arguments)), handle)
    if len(json_text(arguments)) <= ARGUMENT_CHARS + len(mark):
        return arguments
    return {next(iter(arguments))[:ARGUMENT_CHARS]: mark}


def _make_mark(omitted_chars: int, handle: str | None) -> str:
    hint = "" if handle is None else f"; read_text {handle} shows all of it"
    return f"[... {omitted_chars} characters left out{hint} ...]"


def _cut_string(text: str, handle: str | None) -> str:
    head = text[: find_boundary_before(text, ARGUMENT_CHARS)]
    mark = _make_mark(len(text) - len(head), handle)
    is_cut = is_cut_text(text) or _PLAIN_MARK.fullmatch(text, len(head)) is not None
    return text if is_cut or len(text) <= ARGUMENT_CHARS + len(mark) else head + mark


def is_cut_text(text: str) -> bool:
    """Return whether a text is a string that was cut: a beginning, and a mark with a handle."""
    if len(text) > ARGUMENT_CHARS + LONGEST_MARK:
        return False
    match = CUT_MARK.search(text)
    return match is not None and match.start() <= ARGUMENT_CHARS and match.end() == len(text)


def _member_handle(handle: str | None, key: str | int) -> str | None:
    """Return the handle of a member. If it were too long, return that of its object or array."""
    if handle is None or len(handle) + len(str(key)) > LONGEST_HANDLE:
        return handle
    # Escaped as in a URI (RFC 6901, section 6): a key can contain characters that end a handle.
    member = handle + quote(child_pointer("", key), safe="/", errors="surrogatepass")
    return member if len(member) <= LONGEST_HANDLE else handle
