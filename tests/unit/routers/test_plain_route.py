"""Plain routes answer as FastAPI's own do, and ask their dependencies once."""

from collections.abc import Iterator
from typing import Annotated, Literal

import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from starlette.requests import HTTPConnection

from app.routers.plain_route import PlainRoute


class Asked:
    """How often the dependency that others share was asked."""

    times = 0


async def shared(connection: HTTPConnection) -> str:
    Asked.times += 1
    return connection.url.path


async def place(shared: Annotated[str, Depends(shared)], after: int = 7) -> tuple[str, int]:
    return shared, after


SharedDep = Annotated[str, Depends(shared)]
PlaceDep = Annotated[tuple[str, int], Depends(place)]


def router_of(route_class: type[APIRoute]) -> APIRouter:
    """The same routes, of one class or of the other."""
    router = APIRouter(route_class=route_class)

    @router.get("/plain/{name}")
    async def plain(
        request: Request,
        name: Annotated[str, Path(pattern="^[a-z]+$")],
        shared: SharedDep,
        place: PlaceDep,
        limit: Annotated[int, Query(ge=1, le=9, alias="most")] = 5,
        media: Literal["inline", "reference"] = "reference",
        wanted: str | None = None,
    ) -> Response:
        return Response(repr((request.method, name, shared, place, limit, media, wanted)))

    @router.get("/missing")
    async def missing(needed: int) -> Response:
        return Response(str(needed))

    @router.get("/headers")
    async def headers(x_word: Annotated[str, Header()] = "none") -> Response:
        return Response(x_word)

    @router.get("/many")
    async def many(each: Annotated[list[str], Query()]) -> Response:
        return Response(",".join(each))

    @router.get("/model")
    async def model() -> dict[str, int]:
        return {"a": 1}

    @router.get("/fails")
    async def fails() -> Response:
        raise LookupError

    return router


@pytest.fixture(params=[APIRoute, PlainRoute])
def client(request: pytest.FixtureRequest) -> Iterator[TestClient]:
    app = FastAPI()
    app.include_router(router_of(request.param))

    @app.exception_handler(LookupError)
    async def answer(_: Request, __: LookupError) -> Response:
        return Response("handled", status_code=418)

    with TestClient(app) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/plain/ab", ("GET", "ab", "/plain/ab", ("/plain/ab", 7), 5, "reference", None)),
        (
            "/plain/ab?most=9&media=inline&wanted=&after=3&after=4&other=x",
            ("GET", "ab", "/plain/ab", ("/plain/ab", 4), 9, "inline", ""),
        ),
    ],
)
def test_values_come_from_path_and_query(
    client: TestClient, path: str, answer: tuple[object, ...]
) -> None:
    Asked.times = 0
    assert client.get(path).text == repr(answer)
    assert Asked.times == 1


@pytest.mark.parametrize(
    "path",
    ["/plain/A", "/plain/ab?most=10", "/plain/ab?media=x", "/plain/ab?after=x", "/missing"],
)
def test_value_that_is_not_valid_is_named(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, len(answer.json()["detail"])) == (422, 1)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/headers", "word"),
        ("/many?each=a&each=b", "a,b"),
        ("/model", '{"a":1}'),
        ("/fails", "handled"),
    ],
)
def test_what_is_not_plain_is_left_to_the_framework(
    client: TestClient, path: str, answer: str
) -> None:
    assert client.get(path, headers={"X-Word": "word"}).text == answer


def test_other_method_is_refused_with_those_that_are_taken(client: TestClient) -> None:
    answer = client.post("/plain/ab")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
