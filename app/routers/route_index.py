"""Finds the route of a request by the shape of its path, instead of trying one after the other.

The router below tries its routes in their order, each a regular expression, and those of routers
within routers twice. With dozens of routes that takes longer than most of what they do.

What is found is held to the names that its query may have, before anything else is done.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.convertors import StringConvertor
from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute, Match, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from app.deps import caller_by_key
from app.errors import InvalidPayloadError
from app.routers.query_names import QueryNames
from app.routers.tus import PATH as TUS_PATH


@dataclass(frozen=True, slots=True)
class _Found:
    """A route of a shape: what else its paths have, by position, and the names of the rest."""

    route: APIRoute
    literals: tuple[tuple[int, str], ...]
    parameters: tuple[tuple[int, str], ...]
    query: QueryNames | None

    def read(self, names: Sequence[str]) -> dict[str, str] | None:
        """The parameters of a path of this shape; `None` if it is not the route's."""
        for index, literal in self.literals:
            if names[index] != literal:
                return None
        parameters = {name: names[index] for index, name in self.parameters}
        return parameters if all(parameters.values()) else None


class RouteIndex:
    """Hands a request to the route that the router would find.

    Args:
        routes: Those of the router, in its order.
        router: Takes what no route is found for: other methods, other paths, other protocols.
    """

    def __init__(self, routes: Iterable[BaseRoute], router: ASGIApp) -> None:
        self._router = router
        self._routes: dict[tuple[str, ...], list[_Found]] = {}
        self._sockets: list[tuple[APIWebSocketRoute, QueryNames]] = []
        for route in routes:
            if isinstance(route, WebSocketRoute):
                if isinstance(route, APIWebSocketRoute):
                    self._sockets.append((route, QueryNames(route.dependant)))
                continue
            if not isinstance(route, APIRoute) or not _is_alike(route):
                # What comes behind it may have to come second to it.
                break
            found = _found(route)
            for method in route.methods or ():
                shape = _shape(method, route.path.split("/"))
                self._routes.setdefault(shape, []).append(found)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection.

        Raises:
            InvalidPayloadError: The query has names that the route does not take.
            UnauthorizedError, QuotaExceededError: So it has, and its key is none that may ask.
        """
        # A path below another one is the router's to take apart.
        if scope["type"] == "http" and not scope["root_path"]:
            names = scope["path"].split("/")
            for found in self._routes.get(_shape(scope["method"], names), ()):
                parameters = found.read(names)
                if parameters is not None:
                    route = found.route
                    scope["path_params"] = parameters
                    scope["endpoint"], scope["route"] = route.endpoint, route
                    if scope.get("query_string") and found.query is not None:
                        await _judge(found.query, HTTPConnection(scope))
                    await route.handle(scope, receive, send)
                    return
        elif scope["type"] == "websocket" and scope.get("query_string"):
            for socket, query in self._sockets:
                if socket.matches(scope)[0] is Match.FULL:
                    await _judge(query, HTTPConnection(scope))
        await self._router(scope, receive, send)


async def _judge(query: QueryNames, connection: HTTPConnection) -> None:
    """Raise unless the query of a request has only what its route takes.

    Raises:
        InvalidPayloadError: It has not.
        UnauthorizedError, QuotaExceededError: Nor has it a key, or one that may send no more.
    """
    given = connection.scope["query_string"]
    try:
        query.check(given)
    except InvalidPayloadError:
        # Whoever may not ask is told that first, and whoever may is counted.
        if not query.has_credential(given):
            await caller_by_key(connection)
        raise


def _shape(method: str, names: Sequence[str]) -> tuple[str, ...]:
    """What requests of one route have in common: `/api/sessions/<id>/messages/<seq>`."""
    return (method, str(len(names)), *names[2::2])


def _found(route: APIRoute) -> _Found:
    places = [each for each in enumerate(route.path.split("/")) if each[0] % 2]
    return _Found(
        route,
        tuple((index, name) for index, name in places if not name.startswith("{")),
        tuple((index, name[1:-1]) for index, name in places if name.startswith("{")),
        QueryNames(route.dependant) if _is_checked(route.path) else None,
    )


def _is_checked(path: str) -> bool:
    """Whether a query is judged: not what browsers load, nor what other protocols may add."""
    return path.startswith("/api/") and not path.startswith(TUS_PATH)


def _is_alike(route: APIRoute) -> bool:
    """Whether parameters stand only where a shape leaves them out, each for one whole name."""
    are_whole = all(
        ("{" in name) == (name == f"{{{name[1:-1]}}}") and ("{" not in name or index % 2)
        for index, name in enumerate(route.path.split("/"))
    )
    return are_whole and all(
        isinstance(each, StringConvertor) for each in route.param_convertors.values()
    )
