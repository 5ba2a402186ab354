"""A query has the names that its route takes, each of them once, and nothing else."""

from typing import Annotated

import pytest
from fastapi import APIRouter, Depends, Query
from fastapi.routing import APIRoute
from pydantic import ConfigDict

from app.http.api_route import QueryNames, find_query_names
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.base import WireModel

router = APIRouter()


async def paging(limit: int = 1) -> int:
    return limit


@router.get("/some")
async def some(
    session_id: Annotated[str, Query(alias="sessionId")],
    token: str | None = None,
    _: int = Depends(paging),
) -> None: ...


class Options(WireModel):
    model_config = ConfigDict(extra="ignore")

    max_tokens: int | None = None


@router.get("/model")
async def model(options: Annotated[Options, Query()], since: int = 0) -> None: ...


@router.get("/none")
async def none() -> None: ...


SOME, MODEL, NONE = (
    QueryNames(find_query_names(route.dependant))
    for route in router.routes
    if isinstance(route, APIRoute)
)


def refused(names: QueryNames, query: bytes) -> tuple[Fault, ...]:
    with pytest.raises(InvalidPayloadError) as error:
        names.check(query)
    assert error.value.problem_code == "unknown-parameter"
    return error.value.faults


def test_names_of_a_model_are_those_of_its_members_in_json() -> None:
    MODEL.check(b"maxTokens=5&since=3")
    fault = Fault(
        "/query/max_tokens",
        "is no parameter of this route; did you mean `maxTokens`? It takes `maxTokens`, `since`",
    )
    assert refused(MODEL, b"max_tokens=5") == (fault,)
    assert refused(MODEL, b"maxTokens=5&maxTokens=6") == (
        Fault("/query/maxTokens", "is given more than once, and is taken once"),
    )


@pytest.mark.parametrize(
    "query",
    [
        b"sessionId=a&limit=3",
        b"sess%69onId=a",
        b"sessionId=&limit=",
        b"&limit=1&",
        b"limit",
        b"token=%FF",
    ],
)
def test_names_of_the_route_are_taken(query: bytes) -> None:
    SOME.check(query)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("session_id", "sessionId"),
        ("SESSIONID", "sessionId"),
        ("sessionid", "sessionId"),
        ("sesionId", "sessionId"),
        ("limits", "limit"),
    ],
)
def test_misspelt_name_is_told_with_the_right_one(given: str, meant: str) -> None:
    (fault,) = refused(SOME, f"sessionId=a&{given}=b".encode())
    assert fault.pointer == f"/query/{given}"
    assert f"did you mean `{meant}`?" in fault.detail


def test_other_name_is_not_repeated() -> None:
    assert refused(SOME, b"limit=1&_=17&pf_secret") == (
        *(
            Fault("/query", f"has parameter {number}, which is none of {_taken()}")
            for number in (2, 3)
        ),
    )
    assert refused(NONE, b"a=1") == (
        Fault("/query", "has parameter 1, where this route takes none"),
    )


def _taken() -> str:
    (fault,) = refused(SOME, b"limits=1")
    return fault.detail.partition("It takes ")[2]


def test_name_that_is_taken_once_is_given_once() -> None:
    assert refused(SOME, b"limit=1&limit=1&limit=2") == (
        Fault("/query/limit", "is given more than once, and is taken once"),
    )


def test_long_and_many_names_are_cut() -> None:
    query = b"&".join(b"sessionId%d" % number for number in range(1_000))
    assert len(refused(SOME, query)) == 20
    (fault,) = refused(SOME, b"limit" + b"~" * 100_000)
    assert len(fault.pointer) < 200


def test_link_may_have_names_that_others_add_to_it() -> None:
    SOME.check(b"token=a&fbclid=b&_=17")
    assert refused(SOME, b"token=a&token=b") == (
        Fault("/query/token", "is given more than once, and is taken once"),
    )


@pytest.mark.parametrize(
    ("query", "has_one"), [(b"token=a&x=1", True), (b"x=token", False), (b"ticket=a", False)]
)
def test_credential_is_one_that_the_route_takes(query: bytes, *, has_one: bool) -> None:
    assert SOME.has_credential(query) == has_one
