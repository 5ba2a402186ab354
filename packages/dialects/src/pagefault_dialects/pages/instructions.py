"""The instructions for using the memory, for a model's prompt.

Source: design document `agents.md`, "Tools for models".
"""

from typing import Literal

from typing_extensions import TypeAliasType

from pagefault_dialects.model.page import LEVEL_NAMES

InstructionStyle = TypeAliasType("InstructionStyle", Literal["strict", "relaxed"])

_RULES = (
    "You have a memory of pages and media outside this conversation.",
    "Listed pages are summaries. Before you rely on a page's details, call "
    "page_fault(page_id, target_level). Levels: " + LEVEL_NAMES + ".",
    "A page shown at level 0 is complete, unless a line in it says what was left out: do not fault "
    "it again, read_text reads the rest.",
    "Nothing listed fits: call search_pages with a few words.",
    "[image @blob:… shot.png 320\N{MULTIPLICATION SIGN}180] names a stored medium. Put its @blob:… "
    "into the arguments of a tool, as it stands, to use it; never write one you have not seen.",
    "[text @blob:… 12,345 characters] names a long text. Where it is cut, read_text reads the "
    "rest; do not ask for the whole again.",
    "Where an image was left out, view_media shows it.",
    "Where an argument of an old call is cut, read_text reads it: never repeat the cut text.",
)
_STRICT = (
    "Do not answer from a summary what only the page can say.",
    "Cite what you use: [ref: page_id], or the @blob:… of a medium.",
    "If a call fails, do what its message says, once; then go on without it.",
)
_RELAXED = ("Cite pages as [ref: page_id] where it helps.",)


def instructions(style: InstructionStyle) -> str:
    """Return the rules of the memory for a model, one per line."""
    rules = [*_RULES, *(_STRICT if style == "strict" else _RELAXED)]
    return "\n".join([rules[0], *(f"- {rule}" for rule in rules[1:])])
