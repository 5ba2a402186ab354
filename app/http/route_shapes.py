"""Finds the route of a request by the shape of its path."""

from collections import defaultdict
from collections.abc import Iterable

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send


class RouteShapes:
    """Hands a request to the route that the router would find, among those of the same shape.

    The router below tries its routes in their order, each a regular expression, and those of
    routers within routers twice. With dozens of routes that takes longer than most of what they do.

    Args:
        routes: Those of the router, in its order, as `/api/pages/{page_id}/content`: every other
            name is no parameter, and a parameter is one name.
        router: Takes what no route is found for: other methods, other paths, other protocols.
    """

    def __init__(self, routes: Iterable[BaseRoute], router: ASGIApp) -> None:
        self._router = router
        self._shapes: defaultdict[tuple[str, ...], list[APIRoute]] = defaultdict(list)
        for route in routes:
            if isinstance(route, APIRoute):
                for method in route.methods or ():
                    self._shapes[_shape(method, route.path)].append(route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] == "http":
            for route in self._shapes.get(_shape(scope["method"], scope["path"]), ()):
                match, found = route.matches(scope)
                if match is Match.FULL:
                    scope.update(found)
                    await route.handle(scope, receive, send)
                    return
        await self._router(scope, receive, send)


def _shape(method: str, path: str) -> tuple[str, ...]:
    """Return what requests of one route have in common: `/api/pages/…/content`."""
    names = path.split("/")
    return (method, str(len(names)), *names[2::2])
