"""Declares the routes of the API: parameters, answers and errors of each.

What routes of one kind have in common is said here, once: which statuses they answer with, and
which errors each of them has. The document is made of it.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from fastapi import APIRouter, Response
from pydantic import BaseModel

from app.errors import (
    InvalidCursorError,
    MalformedRequestError,
    NotFoundError,
    SlowBodyError,
    UnsupportedMediaError,
)
from app.http.api_route import ApiRoute
from app.http.openapi_operations import (
    ANY_FILE,
    CONTENT_CONDITIONS,
    CONTENT_HEADERS,
    CONTENT_RANGES,
    PLAIN_TEXT,
    RANGE_HEADERS,
    json_body,
    operation_id,
)
from app.http.parameters import Parameters
from app.http.problem_types import problem_responses, read_responses
from pagefault_dialects.errors import InvalidPayloadError, PagefaultError, PayloadTooLargeError

WRITE_FAULTS = (
    MalformedRequestError,
    SlowBodyError,
    PayloadTooLargeError,
    UnsupportedMediaError,
    InvalidPayloadError,
)
"""Errors of a write that are due to its body."""
RECORD_ERRORS = (NotFoundError, PayloadTooLargeError, InvalidPayloadError)
"""Errors of a read of a record that is made for the caller, in memory."""

_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])
_Error = type[PagefaultError]


class ApiRouter(APIRouter):
    """Routes of the API below one path; each method is a decorator of what answers.

    Args:
        prefix: The beginning of all paths.
        tag: The section of the document.
    """

    def __init__(self, prefix: str, tag: str) -> None:
        super().__init__(
            prefix=prefix,
            tags=[tag],
            route_class=ApiRoute,
            generate_unique_id_function=operation_id,
        )

    def reads(
        self,
        path: str,
        model: object,
        *errors: _Error,
        parameters: type[Parameters] | None = None,
        text: str | None = None,
        with_head: bool = False,
    ) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a GET that answers 200, or 304 to callers that have the record already.

        Args:
            path: The path behind the prefix.
            model: The record.
            errors: How it may fail.
            parameters: Those of a route that reads the request itself.
            text: The description of the answer as plain text, for callers that accept it.
            with_head: Declare a HEAD as well. It is a route of its own: on one route with GET, both
                would carry one operation id.
        """
        errors_or_304 = read_responses(*errors)
        answers = errors_or_304
        if text is not None:
            answers = {200: {"content": PLAIN_TEXT, "description": text}, **errors_or_304}
        dependencies = parameters.as_dependencies() if parameters else None

        def declare(endpoint: _Endpoint) -> _Endpoint:
            if with_head:
                self.head(
                    path,
                    name=f"head_{endpoint.__name__.removeprefix('get_')}",
                    dependencies=dependencies,
                    response_class=Response,
                    responses=errors_or_304,
                )(endpoint)
            get = self.get(path, response_model=model, dependencies=dependencies, responses=answers)
            return get(endpoint)

        return declare

    def lists(
        self,
        path: str,
        model: object,
        *errors: _Error,
        parameters: type[Parameters] | None = None,
    ) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a GET of a page of a list; see `reads`."""
        return self.reads(
            path, model, InvalidCursorError, *errors, InvalidPayloadError, parameters=parameters
        )

    def writes(
        self,
        method: str,
        path: str,
        model: object,
        *errors: _Error,
        body: type[BaseModel] | None = None,
        responses: Mapping[int, str | dict[str, Any]] | None = None,
        **others: Any,  # noqa: ANN401 - whatever FastAPI takes
    ) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a write that answers with a record.

        Args:
            method: POST, PUT or PATCH.
            path: The path behind the prefix.
            model: The record.
            errors: How it may fail beside what may be wrong with its body.
            body: The JSON that it takes, read as a stream.
            responses: What the other status of success means. With 200 described, new records are
                answered with 201; with 201 described, others are answered with 200. One with
                another body is a dictionary, as FastAPI takes it.
            others: Further arguments of FastAPI's.
        """
        answers: dict[int | str, dict[str, Any]] = {
            status: {"model": model, "description": meaning}
            if isinstance(meaning, str)
            else meaning
            for status, meaning in (responses or {}).items()
        }
        if body is not None:
            others["openapi_extra"] = json_body(body)
        if 200 in answers:
            others["status_code"] = 201
        return self.api_route(
            path,
            methods=[method],
            response_model=model,
            responses={**answers, **problem_responses(*errors, *WRITE_FAULTS)},
            **others,
        )

    def sends(
        self,
        path: str,
        what: str,
        *errors: _Error,
        names: tuple[str, str],
        parameters: type[Parameters] | None = None,
        offload_location: tuple[str, str] | None = None,
    ) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a GET and a HEAD of bytes: whole, in ranges, or not if the caller has them.

        Args:
            path: The path behind the prefix.
            what: The name of the bytes in the document.
            errors: How it may fail.
            names: Of the two operations.
            parameters: Those of a route that reads the request itself.
            offload_location: The description of the 307 of either operation, if they have one.
        """
        dependencies = parameters.as_dependencies() if parameters else None
        whole = {"content": ANY_FILE, "headers": CONTENT_HEADERS}
        get: dict[int | str, dict[str, Any]] = {
            200: {"description": f"The {what}.", **whole},
            206: {
                "description": "The asked ranges.",
                "content": ANY_FILE,
                "headers": RANGE_HEADERS,
            },
        }
        head: dict[int | str, dict[str, Any]] = {
            200: {"description": f"The headers of the {what}.", "headers": CONTENT_HEADERS}
        }
        for answers, place in zip((get, head), offload_location or (), strict=False):
            answers[307] = {"description": place}

        def declare(endpoint: _Endpoint) -> _Endpoint:
            for method, answers, ranges, name in (
                (self.head, head, (), names[1]),
                (self.get, get, CONTENT_RANGES, names[0]),
            ):
                method(
                    path,
                    name=name,
                    dependencies=dependencies,
                    response_class=Response,
                    openapi_extra={"parameters": [*CONTENT_CONDITIONS, *ranges]},
                    responses={**answers, **read_responses(*errors)},
                )(endpoint)
            return endpoint

        return declare

    def removes(self, path: str, *errors: _Error) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a DELETE that answers 204."""
        return self.delete(path, status_code=204, responses=problem_responses(*errors))
