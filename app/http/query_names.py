"""The names that may stand in the query of a route: any other is a mistake, and is told.

Passed over in silence, `?session_id=` beside `sessionId` would answer with what was not asked for.
"""

import difflib
from collections.abc import Iterator, Sequence
from typing import get_args, get_origin
from urllib.parse import parse_qsl

from fastapi.dependencies.models import Dependant
from starlette.requests import HTTPConnection

from app.errors import Fault, InvalidPayloadError
from app.http.authenticate import authenticate
from app.models.json_pointer import child_pointer

# Of signed links, and of streams that browsers open.
_LINK = b"token"
_CREDENTIALS = frozenset({_LINK, b"ticket"})
_MANY = (list, tuple, set, frozenset)
# Names are compared with each other only as far as that.
_COMPARED_CHARS = 64
_MOST_FAULTS = 20
_DIFFERING = str.maketrans("", "", "_-. ")


class QueryNames:
    """What the query of one route may hold.

    Args:
        dependant: What FastAPI knows of the route.
    """

    def __init__(self, dependant: Dependant) -> None:
        parameters = list(_parameters(dependant))
        # Two functions of a route may take the same one.
        self._names = tuple(dict.fromkeys(alias for alias, _ in parameters))
        self._many = frozenset(alias for alias, annotation in parameters if _is_many(annotation))
        self._single = frozenset(name.encode() for name in self._names) - {
            name.encode() for name in self._many
        }

    def check(self, query: bytes) -> None:
        """Raise unless a query has no names but these, and each but once where one is taken.

        Raises:
            InvalidPayloadError: It has others, or one twice.
        """
        given = [each.partition(b"=")[0] for each in query.split(b"&") if each]
        # Nearly always: no escape in any name, and nothing to be told.
        if self._single.issuperset(given) and len(given) == len(set(given)):
            return
        names = [name for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True)]
        if _LINK in self._single and _LINK.decode() in names:
            # A link passes through mail and chat, which add names of their own.
            names = [name for name in names if name in self._names]
        faults = list(self._faults(names))
        if faults:
            raise InvalidPayloadError(
                "The address has parameters that are not taken as they are; `errors` says which, "
                "and what is taken. Nothing was done.",
                faults=faults,
                code="unknown-parameter",
            )

    def has_credential(self, query: bytes) -> bool:
        """Whether a query has what the route takes in the place of a key."""
        given = {each.partition(b"=")[0] for each in query.split(b"&")}
        return not given.isdisjoint(_CREDENTIALS & self._single)

    def _faults(self, names: Sequence[str]) -> Iterator[Fault]:
        seen: set[str] = set()
        told: set[str] = set()
        for number, name in enumerate(names, start=1):
            if len(told) == _MOST_FAULTS:
                return
            is_twice = name in seen and name not in self._many
            seen.add(name)
            if name in told or (name in self._names and not is_twice):
                continue
            told.add(name)
            if name in self._names:
                yield Fault(f"/query/{name}", "is given more than once, and is taken once")
            else:
                yield self._unknown(number, name)

    def _unknown(self, number: int, name: str) -> Fault:
        if not self._names:
            return Fault("/query", f"has parameter {number}, where this route takes none")
        taken = ", ".join(f"`{each}`" for each in self._names)
        by_letters = {_letters(each): each for each in self._names}
        near = difflib.get_close_matches(_letters(name), by_letters, n=1)
        if not near:
            # It may be anything, a key even, and is not repeated.
            return Fault("/query", f"has parameter {number}, which is none of {taken}")
        return Fault(
            child_pointer("/query", name[:_COMPARED_CHARS]),
            f"is no parameter of this route; did you mean `{by_letters[near[0]]}`? It takes "
            f"{taken}",
        )


async def judge(names: QueryNames, connection: HTTPConnection) -> None:
    """Raise unless the query of a request has only what its route takes.

    Raises:
        InvalidPayloadError: It has not.
        UnauthorizedError, QuotaExceededError: Nor has it a key, or one that may send no more.
    """
    given = connection.scope["query_string"]
    try:
        names.check(given)
    except InvalidPayloadError:
        # Whoever may not ask is told that first, and whoever may is counted.
        if not names.has_credential(given):
            await authenticate(connection)
        raise


def _letters(name: str) -> str:
    return name[:_COMPARED_CHARS].lower().translate(_DIFFERING)


def _parameters(dependant: Dependant) -> Iterator[tuple[str, object]]:
    """The parameters of a function and of all it depends on: their names, and what they are."""
    for parameter in dependant.query_params:
        yield parameter.alias, parameter.field_info.annotation
    for other in dependant.dependencies:
        yield from _parameters(other)


def _is_many(annotation: object) -> bool:
    kinds = (annotation, *get_args(annotation))
    return any(kind in _MANY or get_origin(kind) in _MANY for kind in kinds)
