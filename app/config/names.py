"""Names of settings: every variable that sets something, and what a misspelt one may have meant.

A variable that nobody reads is worse than a wrong value: a limit that its operator believes in is
not there. So every `PAGEFAULT_…` has to be a setting or one of the few names below.
"""

import difflib
import re
from collections.abc import Iterator, Mapping

from pydantic import BaseModel
from pydantic.fields import FieldInfo

PREFIX = "PAGEFAULT_"
RAW_RESULTS = "DECTO_DEBUG_TOOL_RESULT_RAW"
"""The one setting of another name: the specification's own."""
STARTED_BY = "PAGEFAULT_STARTED_BY"
"""Set by the Makefile, so that what is said of a start can be followed there."""
OF_CLIENTS = frozenset({"PAGEFAULT_URL", "PAGEFAULT_API_KEY"})
"""No settings of the service: where its clients find it, and their key."""
# The other one is where a test has it killed.
_READ_ELSEWHERE = OF_CLIENTS | {"PAGEFAULT_CRASH_AT", STARTED_BY}
# Kubernetes tells every container in these of the services that were there before it, `pagefault`,
# `pagefault-objects` …
_OF_A_CLUSTER = re.compile(
    r"PAGEFAULT_(?:\w+_)?"
    r"(?:SERVICE_(?:HOST|PORT(?:_\w+)?)|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)"
)
_ADDRESS_OF_A_CLUSTER = re.compile(r"(?:tcp|udp|sctp)://", re.IGNORECASE)


def variables_of(group: type[BaseModel], prefix: str = PREFIX) -> Iterator[tuple[str, FieldInfo]]:
    """Yield each variable of a group of settings and of those within it, with its field."""
    for name, field in group.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from variables_of(field.annotation, f"{prefix}{name.upper()}__")
        else:
            alias = field.validation_alias
            yield alias if isinstance(alias, str) else f"{prefix}{name.upper()}", field


def misspelt(given: Mapping[str, str], settings: type[BaseModel]) -> list[str]:
    """Return a sentence on each variable that starts like a setting and is none.

    Args:
        given: All variables of the environment; the case of their names does not matter.
        settings: The class of all settings.
    """
    known = [name for name, _ in variables_of(settings)]
    groups = {name.rpartition("__")[0] for name in known}
    return [
        _sentence(variable, name, known)
        for variable, value in sorted(given.items())
        if (name := variable.upper()).startswith(PREFIX)
        and name not in known
        and name not in groups
        and name not in _READ_ELSEWHERE
        and not _OF_A_CLUSTER.fullmatch(name)
        and not (name.endswith("_PORT") and _ADDRESS_OF_A_CLUSTER.match(value))
    ]


def _sentence(variable: str, name: str, known: list[str]) -> str:
    shown = "".join(each for each in variable if each.isprintable())
    nearest = _nearest(name, known)
    if nearest is None:
        return f"{shown} is not a setting. docs/settings.md lists all of them"
    return f"{shown} is not a setting. Did you mean {nearest}?"


def _nearest(name: str, known: list[str]) -> str | None:
    # First without what separates words, since that is what is forgotten most.
    joined = {each.replace("_", ""): each for each in known}
    if (same := joined.get(name.replace("_", ""))) is not None:
        return same
    rest = name.removeprefix(PREFIX).strip("_")
    # The name of a member without its group, such as PAGEFAULT_BODY_BYTES.
    members = [each for each in known if rest and each.endswith(f"__{rest}")]
    if len(members) == 1:
        return members[0]
    rests = {each.removeprefix(PREFIX): each for each in known}
    close = difflib.get_close_matches(rest, rests, 1, cutoff=0.7)
    return rests[close[0]] if close else None
