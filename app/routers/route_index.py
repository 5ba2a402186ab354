"""Finds the route of a request by the shape of its path, instead of trying one after the other.

The router below tries its routes in their order, each a regular expression, and those of routers
within routers twice. With dozens of routes that takes longer than most of what they do.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fastapi.routing import APIRoute
from starlette.convertors import StringConvertor
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send


@dataclass(frozen=True, slots=True)
class _Found:
    """A route of a shape: what else its paths have, by position, and the names of the rest."""

    route: APIRoute
    literals: tuple[tuple[int, str], ...]
    parameters: tuple[tuple[int, str], ...]

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
        for route in routes:
            if isinstance(route, WebSocketRoute):
                continue
            if not isinstance(route, APIRoute) or not _is_alike(route):
                # What comes behind it may have to come second to it.
                break
            found = _found(route)
            for method in route.methods or ():
                shape = _shape(method, route.path.split("/"))
                self._routes.setdefault(shape, []).append(found)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        # A path below another one is the router's to take apart.
        if scope["type"] == "http" and not scope["root_path"]:
            names = scope["path"].split("/")
            for found in self._routes.get(_shape(scope["method"], names), ()):
                parameters = found.read(names)
                if parameters is not None:
                    route = found.route
                    scope["path_params"] = parameters
                    scope["endpoint"], scope["route"] = route.endpoint, route
                    await route.handle(scope, receive, send)
                    return
        await self._router(scope, receive, send)


def _shape(method: str, names: Sequence[str]) -> tuple[str, ...]:
    """What requests of one route have in common: `/api/sessions/<id>/messages/<seq>`."""
    return (method, str(len(names)), *names[2::2])


def _found(route: APIRoute) -> _Found:
    places = [each for each in enumerate(route.path.split("/")) if each[0] % 2]
    return _Found(
        route,
        tuple((index, name) for index, name in places if not name.startswith("{")),
        tuple((index, name[1:-1]) for index, name in places if name.startswith("{")),
    )


def _is_alike(route: APIRoute) -> bool:
    """Whether parameters stand only where a shape leaves them out, each for one whole name."""
    are_whole = all(
        ("{" in name) == (name == f"{{{name[1:-1]}}}") and ("{" not in name or index % 2)
        for index, name in enumerate(route.path.split("/"))
    )
    return are_whole and all(
        isinstance(each, StringConvertor) for each in route.param_convertors.values()
    )
