"""The mark at the end of a cut argument of an old call, and functions that find it in new calls.

A long string keeps its beginning, followed by a mark with the handle of the whole string:
`[... 11800 characters left out; read_text @entry:12/arguments/1/content shows all of it ...]`. The
mark is ASCII without quotes and backslashes, so escaping it in JSON, however often, does not change
it. A model that repeats an old call copies the mark. If that call were run, it would store the mark
instead of the text.

Source: design document `context.md`, "Budget".
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from pagefault_dialects.json.pointers import parse_json_pointer
from pagefault_dialects.json.values import JsonValue, iterate_values

LONGEST_HANDLE = 400
"""The most characters of a handle. For a value with a longer handle, the mark has the handle of its
object or array."""
LONGEST_MARK = 2 * LONGEST_HANDLE
"""An upper bound of the characters of a mark."""
_HANDLE = (
    rf"@entry:[0-9]{{1,15}}/arguments/[0-9]{{1,9}}(?:/[A-Za-z0-9_.~%/-]{{0,{LONGEST_HANDLE}}}+)?"
)
MARK_WORDS = b" characters left out; read_text @entry:"
"""Bytes that each mark contains, in any JSON."""
CUT_MARK = re.compile(
    rf"\[\.\.\. [0-9]{{1,15}} characters left out; read_text ({_HANDLE}) shows all of it \.\.\.\]"
)
# More lenient than `_HANDLE`, since models may leave the names of members unescaped.
_ARGUMENT_HANDLE = re.compile(
    r"@?entry:([0-9]{1,15})/arguments/([0-9]{1,9})(?![0-9A-Za-z])((?:/[^\s\"\[\]]*+)?)"
)


@dataclass(frozen=True, slots=True)
class ArgumentHandle:
    """A reference to a value in the arguments of a call."""

    seq: int
    """The entry with the call."""
    call_index: int
    """The index of the call among those of the entry."""
    names: tuple[str, ...]
    """The path of the value in the arguments: the names of members and the indexes of items."""


def find_cut_mark(arguments: JsonValue) -> str | None:
    """Return the handle in the first mark in a call's arguments; `None` without a mark.

    Args:
        arguments: An object, or the JSON text of one.
    """
    for value, _ in iterate_values(arguments):
        if isinstance(value, str) and (match := CUT_MARK.search(value)):
            return match[1]
    return None


def find_blocking_mark(tool_name: str, arguments: JsonValue) -> str | None:
    """Return the handle in a mark that prevents a call from being run; `None` if it can be run.

    Calls of `read_text` are run even with a mark: models read the whole text with them.

    Args:
        tool_name: The name of the tool, which may have a prefix of the host.
        arguments: An object, or the JSON text of one.
    """
    return None if tool_name.endswith("read_text") else find_cut_mark(arguments)


def cut_arguments_refusal(handle: str) -> str:
    """Return the result of a call with a cut argument, which is not run.

    Args:
        handle: The handle of the whole argument.
    """
    return (
        "The call was not run: a text in its arguments is only the beginning of one, copied from "
        f'where "[... characters left out ...]" stands. Call read_text with ref "{handle}" first, '
        "then make this call again with the whole text."
    )


def parse_argument_handle(text: str) -> ArgumentHandle | None:
    """Return the first handle of an argument in a text; `None` if there is none."""
    match = _ARGUMENT_HANDLE.search(text)
    if match is None:
        return None
    names = parse_json_pointer(unquote(match[3], errors="surrogatepass"))
    return None if names is None else ArgumentHandle(int(match[1]), int(match[2]), names)
