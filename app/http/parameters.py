"""What a route takes of its path, query and headers: declared once, documented and read by that."""

from functools import cache
from typing import Any, Self, get_type_hints

from fastapi import Depends, Request, params
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter, ValidationError

from app.http.authenticate import BEARER


class Parameters:
    """The base of frozen dataclasses whose fields are parameters of FastAPI's, each annotated."""

    @classmethod
    def documented(cls) -> list[params.Depends]:
        """What says in the document that a route takes these, and a key."""
        return [BEARER, Depends(cls)]

    @classmethod
    def of(cls, request: Request) -> Self:
        """Those of a request.

        Raises:
            RequestValidationError: Some are not valid; it is FastAPI's own, for the same reasons.
        """
        # The checker takes the hash of instances for that of their class.
        adapter, places, headers = _reading(cls)  # type: ignore[arg-type]
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
def _reading(
    kind: type[Parameters],
) -> tuple[TypeAdapter[Any], dict[int | str, str], list[str]]:
    """What reads them, the place of each by its name there, and the names of headers."""
    places: dict[int | str, str] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        declared = next(each for each in hint.__metadata__ if isinstance(each, params.Param))
        places[declared.alias or name] = declared.in_.value
    headers = [str(name) for name, place in places.items() if place == "header"]
    return TypeAdapter(kind), places, headers
