"""By the shape of its path a request finds the route that the router would find."""

import re

import pytest
from fastapi import APIRouter, FastAPI, Response
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from starlette.requests import Request
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from app.features import find_features
from app.http.route_shapes import RouteShapes

ROUTERS = [router for feature in find_features() for router in feature.load(feature.routers)]
ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
ASKED = sorted({(method, route.path) for route in ROUTES for method in route.methods or ()})


class Noted:
    """Takes the place of the router, and of what routes do."""

    def __init__(self) -> None:
        self.by_router = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.by_router += 1


def scope_of(method: str, path: str) -> Scope:
    return {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}


@pytest.mark.anyio
@pytest.mark.parametrize(("method", "template"), ASKED)
async def test_every_route_is_found_as_the_router_finds_it(
    method: str, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = re.sub(r"\{[^}]*\}", "x", template)
    wanted = next(
        route for route in ROUTES if route.matches(scope_of(method, path))[0] is Match.FULL
    )
    handled: list[APIRoute] = []

    async def handle(self: APIRoute, *_: object) -> None:
        handled.append(self)

    monkeypatch.setattr(APIRoute, "handle", handle)
    for route_class in {type(route) for route in ROUTES}:
        monkeypatch.setattr(route_class, "handle", handle)
    router = Noted()
    routes = (route for each in ROUTERS for route in each.routes)
    scope = scope_of(method, path)
    await RouteShapes(routes, router)(scope, None, None)  # type: ignore[arg-type]
    assert (handled, router.by_router, scope["route"]) == ([wanted], 0, wanted)


def client_of(*paths: str) -> TestClient:
    """An application whose routes say their own path."""
    router = APIRouter()
    for path in paths:

        async def answer(request: Request) -> Response:
            return Response(request.scope["route"].path)

        router.add_api_route(path, answer, methods=["GET"])
    app = FastAPI()
    app.include_router(router)
    app.router.middleware_stack = RouteShapes(router.routes, app.router.middleware_stack)
    return TestClient(app)


@pytest.mark.parametrize(
    ("paths", "asked", "found"),
    [
        (("/a/b/search", "/a/b/{id}"), "/a/b/search", "/a/b/search"),
        (("/a/b/{id}", "/a/b/search"), "/a/b/search", "/a/b/{id}"),
        (("/a/b", "/{rest:path}"), "/a/b", "/a/b"),
        (("/a/{name}-{end}", "/a/b"), "/a/x-y", "/a/{name}-{end}"),
    ],
)
def test_first_of_the_routes_that_match_is_the_one(
    paths: tuple[str, ...], asked: str, found: str
) -> None:
    assert client_of(*paths).get(asked).text == found


@pytest.mark.parametrize(("method", "path", "status"), [("POST", "/a", 405), ("GET", "/b", 404)])
def test_what_no_route_takes_is_refused_by_the_router(method: str, path: str, status: int) -> None:
    assert client_of("/a").request(method, path).status_code == status
