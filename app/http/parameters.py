"""Parameters of routes: their base class, and those that several routers share."""

from functools import cache
from typing import Annotated, Any, Self, get_type_hints

from fastapi import Depends, Header, Path, Query, Request, params
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter, ValidationError

from app.http.authenticate import BEARER
from pagefault_dialects.model.base import ClientId


class Parameters:
    """The base of frozen dataclasses whose fields are parameters of FastAPI's, each annotated."""

    @classmethod
    def as_dependencies(cls) -> list[params.Depends]:
        """Return dependencies that add these, and a key, to the operation in the document."""
        return [BEARER, Depends(cls)]

    @classmethod
    def read(cls, request: Request) -> Self:
        """Read those of a request.

        Raises:
            RequestValidationError: Some are not valid; it is FastAPI's own, for the same reasons.
        """
        # The checker takes the hash of instances for that of their class.
        adapter, places, headers = _find_reader(cls)  # type: ignore[arg-type]
        values: dict[str, Any] = {}
        if request.scope["query_string"]:
            values.update(request.query_params)
        for name in headers:
            if name in request.headers:
                values[name] = request.headers[name]
        values.update(request.path_params)
        try:
            read: Self = adapter.validate_python(values)
        except ValidationError as exc:
            faults = exc.errors(include_url=False)
            raise RequestValidationError(
                [{**fault, "loc": (places[fault["loc"][0]], *fault["loc"])} for fault in faults]
            ) from exc
        return read


@cache
def _find_reader(
    kind: type[Parameters],
) -> tuple[TypeAdapter[Any], dict[int | str, str], list[str]]:
    """Return their adapter, the place of each by its alias, and the names of headers."""
    places: dict[int | str, str] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        declared = next(each for each in hint.__metadata__ if isinstance(each, params.Param))
        places[declared.alias or name] = declared.in_.value
    headers = [str(name) for name, place in places.items() if place == "header"]
    return TypeAdapter(kind), places, headers


LimitQuery = Annotated[int, Query(ge=1, le=200, description="How many items a page holds.")]
SearchTextQuery = Annotated[
    str,
    Query(
        min_length=1,
        max_length=1_000,
        description='What to look for, as one asks: words, `"a phrase"`, `begin*`, an id, a name.',
    ),
]
CursorQuery = Annotated[str | None, Query(description="`nextCursor` of the page before.")]

IfMatchHeader = Annotated[
    str | None, Header(description="Write only over this version (its ETag), else 412.")
]
IfNoneMatchHeader = Annotated[
    str | None, Header(description="`*`: write only if there is no such page yet, else 412.")
]
IdempotencyKeyHeader = Annotated[
    str | None, Header(alias="idempotency-key", min_length=1, max_length=255)
]

SessionIdPath = Annotated[ClientId, Path()]
LARGEST_SEQ = 2**63 - 1
AfterSeqQuery = Annotated[
    int | None,
    Query(
        ge=0, le=LARGEST_SEQ, description="Begin behind the entry with this `seq`; no cursor then."
    ),
]
