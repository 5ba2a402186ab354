"""Names of settings, and suggestions for misspelt ones.

A misspelt variable is worse than a wrong value: its operator relies on a limit that does not exist.
So every variable `PAGEFAULT_…` must be a setting or one of the few names below.
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
"""Set by the Makefile, so that messages name its variables and not the options of a command."""
OF_CLIENTS = frozenset({"PAGEFAULT_URL", "PAGEFAULT_API_KEY"})
"""Settings of clients: the URL of the service and a key."""
# PAGEFAULT_CRASH_AT is set by tests.
_READ_ELSEWHERE = OF_CLIENTS | {"PAGEFAULT_CRASH_AT", STARTED_BY}
# Kubernetes sets these in every container for each service that exists before it: `pagefault`,
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


def misspelt(environment: Mapping[str, str], settings: type[BaseModel]) -> list[str]:
    """Return a sentence for each variable with our prefix that is not a setting.

    Args:
        environment: All variables; the case of their names does not matter.
        settings: The class of all settings.
    """
    known = [name for name, _ in variables_of(settings)]
    groups = {name.rpartition("__")[0] for name in known}
    return [
        _sentence(variable, name, known)
        for variable, value in sorted(environment.items())
        if (name := variable.upper()).startswith(PREFIX)
        and name not in known
        and name not in groups
        and name not in _READ_ELSEWHERE
        and not _OF_A_CLUSTER.fullmatch(name)
        and not (name.endswith("_PORT") and _ADDRESS_OF_A_CLUSTER.match(value))
    ]


def _sentence(variable: str, name: str, known: list[str]) -> str:
    printable = "".join(each for each in variable if each.isprintable())
    nearest = _nearest(name, known)
    if nearest is None:
        return f"{printable} is not a setting. docs/settings.md lists all of them"
    return f"{printable} is not a setting. Did you mean {nearest}?"


def _nearest(name: str, known: list[str]) -> str | None:
    # Missing underscores are the most frequent mistake.
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
