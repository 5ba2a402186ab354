"""The mark behind a cut argument of an old call, and the search for copies in new calls.

A long string keeps its beginning, followed by a mark with the handle of the whole string:
`[... 11800 characters left out; read_text @entry:12/arguments/1/content shows all of it ...]`. The
mark is ASCII without quotes and backslashes, so JSON in a string, however often it was escaped, has
it unchanged. A model that repeats an old call copies the mark. Running that call would store the
mark in place of the text.

Source: `context`, "Budget".
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from pagefault_dialects.json.pointers import parse_json_pointer
from pagefault_dialects.json.values import JsonValue, values_in

LONGEST_HANDLE = 400
"""In characters. A deeper value is named by the object or array that contains it."""
LONGEST_MARK = 2 * LONGEST_HANDLE
"""In characters; longer than any mark."""
_HANDLE = (
    rf"@entry:[0-9]{{1,15}}/arguments/[0-9]{{1,9}}(?:/[A-Za-z0-9_.~%/-]{{0,{LONGEST_HANDLE}}}+)?"
)
MARK_WORDS = b" characters left out; read_text @entry:"
"""Bytes of each mark, in any JSON."""
CUT_MARK = re.compile(
    rf"\[\.\.\. [0-9]{{1,15}} characters left out; read_text ({_HANDLE}) shows all of it \.\.\.\]"
)
# Models may leave the names of members unescaped.
_NAMED = re.compile(
    r"@?entry:([0-9]{1,15})/arguments/([0-9]{1,9})(?![0-9A-Za-z])((?:/[^\s\"\[\]]*+)?)"
)


@dataclass(frozen=True, slots=True)
class ArgumentHandle:
    """A value in the arguments of a call: the entry, the index of the call, and the path."""

    seq: int
    call_index: int
    names: tuple[str, ...]


def find_cut_mark(arguments: JsonValue) -> str | None:
    """Return the handle in the first cut mark of a call's arguments; `None` if there is none.

    Args:
        arguments: An object, or the JSON text of one.
    """
    for value, _ in values_in(arguments):
        if isinstance(value, str) and (found := CUT_MARK.search(value)):
            return found[1]
    return None


def find_refused(name: str, arguments: JsonValue) -> str | None:
    """Return the handle in the mark that prevents a call from being run; `None` if it may be run.

    `read_text` may be called with a mark, since it returns the whole text.

    Args:
        name: The tool.
        arguments: An object, or the JSON text of one.
    """
    return None if name.endswith("read_text") else find_cut_mark(arguments)


def cut_arguments_refusal(handle: str) -> str:
    """Return the answer to a call with a cut argument, which is not run.

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
    found = _NAMED.search(text)
    if found is None:
        return None
    names = parse_json_pointer(unquote(found[3], errors="surrogatepass"))
    return None if names is None else ArgumentHandle(int(found[1]), int(found[2]), names)
