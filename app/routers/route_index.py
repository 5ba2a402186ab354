"""Finds the route of a request by the shape of its path, instead of trying one after the other.

The router below tries its routes in their order, each a regular expression, and those of routers
within routers twice. With dozens of routes that takes longer than most of what they do.
"""

from collections.abc import Iterable

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send


class RouteIndex:
    """Hands a request to the route that the router would find.

    Args:
        routes: Those of the router, in its order.
        router: Takes what no route is found for: other methods, other paths, other protocols.
    """

    def __init__(self, routes: Iterable[BaseRoute], router: ASGIApp) -> None:
        self._router = router
        self._routes: dict[tuple[str, ...], list[APIRoute]] = {}
        for route in routes:
            if isinstance(route, WebSocketRoute):
                continue
            if not isinstance(route, APIRoute) or not _is_alike(route.path):
                # What comes behind it may have to come second to it.
                break
            for method in route.methods or ():
                self._routes.setdefault(_shape(method, route.path), []).append(route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        # A path below another one is the router's to take apart, and a trace of a request its to
        # tell of.
        if scope["type"] == "http" and not scope["root_path"] and "fastapi.telemetry" not in scope:
            for route in self._routes.get(_shape(scope["method"], scope["path"]), ()):
                match, found = route.matches(scope)
                if match is Match.FULL:
                    scope.update(found)
                    await route.handle(scope, receive, send)
                    return
        await self._router(scope, receive, send)


def _shape(method: str, path: str) -> tuple[str, ...]:
    """What requests of one route have in common: `/api/sessions/<id>/messages/<seq>`."""
    names = path.split("/")
    return (method, str(len(names)), *names[2::2])


def _is_alike(path: str) -> bool:
    """Whether parameters stand only where a shape leaves them out, and for one name each."""
    return ":path}" not in path and not any("{" in name for name in path.split("/")[2::2])
