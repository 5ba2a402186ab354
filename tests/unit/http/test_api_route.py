"""A route that reads the request itself is told what FastAPI would tell it, or refuses the same."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.testclient import TestClient

from app.http.api_route import ApiRoute
from app.http.authenticate import BearerDep
from app.http.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Asked(Parameters):
    name: Annotated[str, Path(pattern="^[a-z]+$")]
    limit: Annotated[int, Query(ge=1, le=9, alias="most")] = 5
    media: Annotated[Literal["inline", "reference"] | None, Query(description="How.")] = None
    is_short: Annotated[bool, Query()] = False
    key: Annotated[str | None, Header(alias="x-key", max_length=3)] = None


def client_of(router: APIRouter) -> TestClient:
    app = FastAPI()
    app.include_router(router)
    return TestClient(app)


def by_the_framework() -> TestClient:
    router = APIRouter()

    @router.get("/things/{name}", name="get_thing")
    async def get_thing(asked: Annotated[Asked, Depends()], _: BearerDep) -> Response:
        return Response(repr(asdict(asked)))

    return client_of(router)


def by_itself() -> TestClient:
    router = APIRouter(route_class=ApiRoute)

    @router.get("/things/{name}", name="get_thing", dependencies=Asked.as_dependencies())
    async def get_thing(request: Request) -> Response:
        return Response(repr(asdict(Asked.read(request))))

    return client_of(router)


def told(client: TestClient, path: str, headers: dict[str, str]) -> object:
    answer = client.get(path, headers=headers)
    if answer.status_code != 422:
        return answer.status_code, answer.text
    return [(fault["type"], fault["loc"], fault["msg"]) for fault in answer.json()["detail"]]


@pytest.mark.parametrize("key", [None, "", "abc", "abcd"])
@pytest.mark.parametrize(
    "path",
    [
        "/things/ab",
        "/things/A",
        "/things/ab?most=9&media=inline&is_short=yes",
        "/things/ab?most=10",
        "/things/ab?most=",
        "/things/ab?most=5.0&is_short=on",
        "/things/ab?media=&is_short=2",
        "/things/ab?media=%00",
        "/things/A?most=x&media=x&is_short=x",
    ],
)
def test_values_and_faults_are_those_of_the_framework(path: str, key: str | None) -> None:
    headers = {} if key is None else {"X-Key": key}
    assert told(by_itself(), path, headers) == told(by_the_framework(), path, headers)


def test_path_is_not_what_the_query_says() -> None:
    router = APIRouter()

    @router.get("/things/{name}")
    async def get_thing(request: Request) -> Response:
        return Response(Asked.read(request).name)

    assert client_of(router).get("/things/ab?name=cd").text == "ab"


def test_document_is_that_of_the_framework() -> None:
    one, other = (
        client.get("/openapi.json").json() for client in (by_itself(), by_the_framework())
    )
    assert one == other


def test_what_is_more_than_a_declaration_is_called() -> None:
    calls: list[str] = []

    async def check(request: Request) -> None:
        calls.append(request.url.path)

    router = APIRouter(route_class=ApiRoute)

    @router.get("/things/{name}", dependencies=[*Asked.as_dependencies(), Depends(check)])
    async def get_thing(request: Request) -> Response:
        return Response(request.url.path)

    assert client_of(router).get("/things/ab").text == "/things/ab"
    assert calls == ["/things/ab"]


@pytest.mark.parametrize("make", [by_the_framework, by_itself])
def test_other_method_is_refused_with_those_that_are_taken(make: Callable[[], TestClient]) -> None:
    answer = make().post("/things/ab")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
