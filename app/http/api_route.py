"""The routes of the API: they check the query of each request, and call their endpoints.

A query holds only names that its route takes. Any other is an error: if it were ignored,
`?session_id=` beside `sessionId` would be answered with records of other sessions.

FastAPI resolves the dependencies of a route anew with every request. This takes longer than all the
rest of reading a record. So the routes with most requests take the request alone, and read their
parameters themselves; their dependencies only declare these, for the document.
"""

import difflib
import inspect
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import cached_property
from typing import Any, get_args, get_origin
from urllib.parse import parse_qsl

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send

from app.http.authenticate import KeyScheme, authenticate
from app.http.parameters import Parameters
from app.http.response_memory import count_response
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.pointers import child_pointer

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]

# Of signed links, and of streams that browsers open.
_LINK = b"token"
_CREDENTIALS = frozenset({_LINK, b"ticket"})
_MANY = (list, tuple, set, frozenset)
# Names are compared with each other only as far as that.
_COMPARED_CHARS = 64
_MOST_FAULTS = 20
_DIFFERING = str.maketrans("", "", "_-. ")


class ApiRoute(APIRoute):
    """A route that checks its query, and counts long answers."""

    def get_route_handler(self) -> _Handler:
        """Return FastAPI's handler, or the endpoint itself where that reads the request."""
        handler = self.endpoint if self._reads_the_request else super().get_route_handler()
        names = QueryNames(self.dependant)

        async def handle(request: Request) -> Response:
            if request.scope["query_string"]:
                await check_query(names, request)
            return count_response(await handler(request))

        return handle

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose path is the route's."""
        if self._shortest is None or scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        # Nothing is to be closed behind the answer, for which FastAPI makes two stacks.
        answer = await self._shortest(Request(scope, receive, send))
        await answer(scope, receive, send)

    @cached_property
    def _shortest(self) -> _Handler | None:
        return self.get_route_handler() if self._reads_the_request else None

    @property
    def _reads_the_request(self) -> bool:
        """Tell whether nothing has to be found for the endpoint but the request."""
        dependencies = [each.call for each in self.dependant.dependencies]
        return list(inspect.signature(self.endpoint).parameters) == ["request"] and all(
            # Neither does anything when it is called.
            isinstance(call, KeyScheme) or (isinstance(call, type) and issubclass(call, Parameters))
            for call in dependencies
        )


class QueryNames:
    """The names that the query of one route may have.

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
        found = [each.partition(b"=")[0] for each in query.split(b"&") if each]
        # Nearly always: no escape in any name, and no error.
        if self._single.issuperset(found) and len(found) == len(set(found)):
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
        """Tell whether a query has a credential that the route takes instead of a key."""
        found = {each.partition(b"=")[0] for each in query.split(b"&")}
        return not found.isdisjoint(_CREDENTIALS & self._single)

    def _faults(self, names: Sequence[str]) -> Iterator[Fault]:
        seen: set[str] = set()
        reported: set[str] = set()
        for number, name in enumerate(names, start=1):
            if len(reported) == _MOST_FAULTS:
                return
            is_twice = name in seen and name not in self._many
            seen.add(name)
            if name in reported or (name in self._names and not is_twice):
                continue
            reported.add(name)
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


async def check_query(names: QueryNames, connection: HTTPConnection) -> None:
    """Raise unless the query of a request has only what its route takes.

    Raises:
        InvalidPayloadError: It has not.
        UnauthorizedError, QuotaExceededError: Nor has it a key, or one that may send no more.
    """
    query = connection.scope["query_string"]
    try:
        names.check(query)
    except InvalidPayloadError:
        # A request without a valid key is a 401 whatever its query, and one with a key is counted.
        if not names.has_credential(query):
            await authenticate(connection)
        raise


def _letters(name: str) -> str:
    return name[:_COMPARED_CHARS].lower().translate(_DIFFERING)


def _parameters(dependant: Dependant) -> Iterator[tuple[str, object]]:
    """Yield name and type of the parameters of a function and of all it depends on."""
    for parameter in dependant.query_params:
        yield parameter.alias, parameter.field_info.annotation
    for other in dependant.dependencies:
        yield from _parameters(other)


def _is_many(annotation: object) -> bool:
    kinds = (annotation, *get_args(annotation))
    return any(kind in _MANY or get_origin(kind) in _MANY for kind in kinds)
