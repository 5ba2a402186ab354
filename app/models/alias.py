"""Aliases: ids that other systems have for files, as names of resources inside a project.

An alias has no slash, so that it is one segment of a path, and never the form of a resource's id
or URI, so that it cannot stand in for one.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from app.errors import InvalidPayloadError
from app.models.resource import Resource

_CHARACTERS = r"!#-.0-\[\]-~"
ALIAS_PATTERN = rf"^(?!\.{{1,2}}$)[{_CHARACTERS}]{{1,256}}$"
"""Visible ASCII without the slash, the backslash and the quotation mark; not `.` and not `..`."""
_MOST_CHARS = 256
MOST_ALIASES = 1_000
"""How many aliases one resource may have: a file that came often has as many ids elsewhere."""

_FORM = re.compile(ALIAS_PATTERN.replace("$", r"\Z"))
_FOREIGN = re.compile(f"[^{_CHARACTERS}]")
# In any case of letters: a URI that was changed on its way is no alias either.
_OF_RESOURCE = re.compile(r"@?blob:|[0-9a-f]{32}\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Alias:
    """An alias, the resource it names, and since when it names that one."""

    alias: str
    resource: Resource
    created_at: datetime


def is_alias(text: str) -> bool:
    """Say whether a text has the form of an alias; nothing else has to be looked up."""
    return _FORM.match(text) is not None and _OF_RESOURCE.match(text) is None


def check_alias(text: str) -> None:
    """Refuse a text that cannot be an alias.

    Raises:
        InvalidPayloadError: It has other characters, is too long, or looks like a resource's id.
    """
    if is_alias(text):
        return
    if _FORM.match(text):
        detail = (
            "An alias cannot have the form of a resource's id (32 hex digits) or URI (`blob:…`): "
            "it would shadow one. Put something in front of it, as in `doc-…`."
        )
    else:
        detail = (
            f"An alias has 1 to {_MOST_CHARS} visible ASCII characters, none of them `/`, `\\` or "
            f'`"`; {_what_is_wrong(text)}. In a path or a query it is percent-encoded.'
        )
    raise InvalidPayloadError(f"{detail} Nothing was stored.", code="invalid-alias")


def _what_is_wrong(text: str) -> str:
    if foreign := _FOREIGN.search(text):
        return f"character {foreign.start() + 1} of this one is U+{ord(foreign[0]):04X}"
    if text in (".", ".."):
        return f"`{text}` is a step in a path, which is taken out of it on the way"
    return f"this one has {len(text)}"
