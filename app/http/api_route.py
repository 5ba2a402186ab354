"""`ApiRoute`, the class of the API's routes: it checks query names, and reserves response memory.

A query may have only parameters of its route, each of them once. If unknown names were ignored,
`?session_id=` instead of `sessionId` would return records of other sessions.
"""

import difflib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import parse_qsl

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import HTTPConnection

from app.http.dependencies import authenticate
from app.http.response_memory import reserve_response_memory
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.pointers import child_pointer

# The parameters with a credential: `token` of signed links, and `ticket` of event streams.
_LINK_TOKEN = b"token"
_CREDENTIALS = frozenset({_LINK_TOKEN, b"ticket"})
_MAX_COMPARED_CHARS = 64
_MAX_FAULTS = 20
_IGNORED_IN_COMPARISON = str.maketrans("", "", "_-. ")


class QueryNames:
    """The names that the query of one route may have, each at most once.

    Args:
        names: The names, in the order in which error messages list them.
    """

    def __init__(self, names: Iterable[str]) -> None:
        # Two dependencies of a route may declare the same parameter.
        self._names = tuple(dict.fromkeys(names))
        self._encoded = frozenset(name.encode() for name in self._names)

    def check(self, query: bytes) -> None:
        """Raise InvalidPayloadError if a query has an unknown name, or the same name twice."""
        encoded = [pair.partition(b"=")[0] for pair in query.split(b"&") if pair]
        # The fast path: most queries have no escapes in names, and are valid.
        if self._encoded.issuperset(encoded) and len(encoded) == len(set(encoded)):
            return
        names = [name for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True)]
        if _LINK_TOKEN in self._encoded and _LINK_TOKEN.decode() in names:
            # Mail and chat programs add their own parameters to links.
            names = [name for name in names if name in self._names]
        faults = list(self._find_faults(names))
        if faults:
            raise InvalidPayloadError(
                "The address has parameters that are not taken as they are; `errors` says which, "
                "and what is taken. Nothing was done.",
                faults=faults,
                code="unknown-parameter",
            )

    def has_credential(self, query: bytes) -> bool:
        """Return whether a query has a credential that the route accepts instead of a key."""
        encoded = {pair.partition(b"=")[0] for pair in query.split(b"&")}
        return not encoded.isdisjoint(_CREDENTIALS & self._encoded)

    def _find_faults(self, names: Sequence[str]) -> Iterator[Fault]:
        previous: set[str] = set()
        reported: set[str] = set()
        for number, name in enumerate(names, start=1):
            if len(reported) == _MAX_FAULTS:
                return
            is_known, is_repeated = name in self._names, name in previous
            previous.add(name)
            if name in reported or (is_known and not is_repeated):
                continue
            reported.add(name)
            if is_known:
                yield Fault(f"/query/{name}", "is given more than once, and is taken once")
            else:
                yield self._describe_unknown_name(number, name)

    def _describe_unknown_name(self, number: int, name: str) -> Fault:
        if not self._names:
            return Fault("/query", f"has parameter {number}, where this route takes none")
        names = ", ".join(f"`{text}`" for text in self._names)
        by_letters = {_normalise_name(item): item for item in self._names}
        similar = difflib.get_close_matches(_normalise_name(name), by_letters, n=1)
        if not similar:
            # The name could be a secret, such as a key, so the message does not repeat it.
            return Fault("/query", f"has parameter {number}, which is none of {names}")
        return Fault(
            child_pointer("/query", name[:_MAX_COMPARED_CHARS]),
            f"is no parameter of this route; did you mean `{by_letters[similar[0]]}`? It takes "
            f"{names}",
        )


def find_query_names(dependant: Dependant) -> Iterator[str]:
    """Yield the names of the query parameters of a route, of its models and its dependencies."""
    for parameter in dependant.query_params:
        annotation = parameter.field_info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            fields = annotation.model_fields.items()
            yield from (field.alias or name for name, field in fields)
        else:
            yield parameter.alias
    for dependency in dependant.dependencies:
        yield from find_query_names(dependency)


async def check_query(names: QueryNames, connection: HTTPConnection) -> None:
    """Check the names in the query of a request.

    Raises:
        InvalidPayloadError: The query has an unknown name, or the same name twice.
        UnauthorizedError: The query is invalid, and the request has no valid key.
        QuotaExceededError: The query is invalid, and the key has sent too many requests.
    """
    query = connection.scope["query_string"]
    try:
        names.check(query)
    except InvalidPayloadError:
        # Without a valid key, the response must not describe the parameters of the route.
        if not names.has_credential(query):
            await authenticate(connection)
        raise


def _normalise_name(name: str) -> str:
    return name[:_MAX_COMPARED_CHARS].lower().translate(_IGNORED_IN_COMPARISON)


class ApiRoute(APIRoute):
    """A route that refuses unknown query parameters, and reserves memory for long responses."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler, with a check of the query before it."""
        handler = super().get_route_handler()
        names = QueryNames(find_query_names(self.dependant))

        async def handle(request: Request) -> Response:
            if request.scope["query_string"]:
                await check_query(names, request)
            return reserve_response_memory(await handler(request))

        return handle
