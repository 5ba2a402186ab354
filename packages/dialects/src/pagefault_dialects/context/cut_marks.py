"""The mark behind a cut argument of an old call, and how a copy of it is found in a new call.

A long string keeps its beginning, followed by a mark with the handle that leads to the whole of it:
`[... 11800 characters left out; read_text @entry:12/arguments/1/content shows all of it ...]`. The
mark is ASCII without quotes and backslashes, so JSON in a string, however often it was escaped, has
it unchanged. A model that repeats an old call copies the mark, and running that call would store it
in the place of the text.

Source: `context`, "Budget".
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from pagefault_dialects.json.pointers import parse_json_pointer
from pagefault_dialects.json.values import JsonValue, values_in

LONGEST_HANDLE = 400
"""Characters; what lies deeper is named by the object or array around it."""
LONGEST_MARK = 2 * LONGEST_HANDLE
"""Characters, and more than any mark has."""
_HANDLE = (
    rf"@entry:[0-9]{{1,15}}/arguments/[0-9]{{1,9}}(?:/[A-Za-z0-9_.~%/-]{{0,{LONGEST_HANDLE}}}+)?"
)
MARK_WORDS = b" characters left out; read_text @entry:"
"""Words of each mark, as they stand in any JSON."""
CUT_MARK = re.compile(
    rf"\[\.\.\. [0-9]{{1,15}} characters left out; read_text ({_HANDLE}) shows all of it \.\.\.\]"
)
# As models write it, who may leave the names of members unescaped.
_NAMED = re.compile(
    r"@?entry:([0-9]{1,15})/arguments/([0-9]{1,9})(?![0-9A-Za-z])((?:/[^\s\"\[\]]*+)?)"
)


@dataclass(frozen=True, slots=True)
class ArgumentHandle:
    """A value in the arguments of a call: the entry, which of its calls, and where it stands."""

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
    """Return the handle in the mark for which a call is not run; `None` if it may be run.

    `read_text` is how a model gets the whole, so it may be called with a mark.

    Args:
        name: The tool.
        arguments: An object, or the JSON text of one.
    """
    return None if name.endswith("read_text") else find_cut_mark(arguments)


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
