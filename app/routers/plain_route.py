"""Routes whose parameters are plain values of the path and the query.

FastAPI finds out anew with every request what each dependency is: a generator, a function for a
thread, a scheme of security, one that is overridden. That takes longer than to look a record up. A
plain route finds it out once. Whatever is out of the ordinary, a value that is not valid above all,
is left to FastAPI, which answers it as ever.
"""

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Literal, Protocol, Union, cast, get_args, get_origin, get_type_hints

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic.fields import FieldInfo
from starlette.types import Receive, Scope, Send

from app.deps import KeyScheme
from app.routers.held_answers import counted

_SINGLE = (str, int, float, bool, NoneType)


class _Parameter(Protocol):
    """What FastAPI knows of a parameter."""

    name: str
    field_info: FieldInfo

    @property
    def alias(self) -> str: ...

    @property
    def default(self) -> object: ...

    def validate(self, value: object) -> tuple[object, Sequence[object]]: ...


@dataclass(frozen=True, slots=True)
class _Value:
    """A parameter that stands in the path or in the query."""

    name: str
    alias: str
    is_required: bool
    is_any_text: bool
    default: object
    validate: Callable[[object], tuple[object, Sequence[object]]]


@dataclass(frozen=True, slots=True)
class _Step:
    """A function to call, and where its arguments come from."""

    call: Callable[..., Awaitable[Any]]
    of_path: tuple[_Value, ...]
    of_query: tuple[_Value, ...]
    of_request: tuple[str, ...]
    nothing: dict[str, None]
    made_before: tuple[tuple[str, int], ...] = field(default=())

    def values(self, request: Request) -> dict[str, Any] | None:
        """The arguments that the request has; `None` if one is missing or not valid."""
        values: dict[str, Any] = {**self.nothing}
        for name in self.of_request:
            values[name] = request
        if self.of_path and not _read(self.of_path, request.scope["path_params"], values):
            return None
        if self.of_query:
            given = request.query_params if request.scope["query_string"] else {}
            if not _read(self.of_query, given, values):
                return None
        return values


def _read(wanted: tuple[_Value, ...], given: Mapping[str, Any], values: dict[str, Any]) -> bool:
    for each in wanted:
        text = given.get(each.alias)
        if text is None:
            if each.is_required:
                return False
            values[each.name] = each.default
            continue
        value, faults = (text, ()) if each.is_any_text else each.validate(text)
        if faults:
            return False
        values[each.name] = value
    return True


class PlainRoute(APIRoute):
    """A route that calls its dependencies and its endpoint itself, where all of them are plain.

    Plain are coroutine functions that take the request, each other, and values of path and query.
    The endpoint returns a `Response`.
    """

    @cached_property
    def _steps(self) -> list[_Step] | None:
        """The functions to call, the endpoint last; `None` if one is not plain."""
        steps: list[_Step] = []
        is_plain = not self.body_field and _answers_itself(self.endpoint)
        return steps if is_plain and _are_plain(self.dependant, steps) else None

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose path is the route's."""
        if self._steps is not None and scope["method"] in (self.methods or ()):
            request = Request(scope, receive, send)
            answer = await _answer(self._steps, request)
            if answer is not None:
                await counted(answer)(scope, receive, send)
                return
        await super().handle(scope, receive, send)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, whose long answers are counted as those of plain routes."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return counted(await handler(request))

        return handle


async def _answer(steps: list[_Step], request: Request) -> Response | None:
    """What the last of the steps returns; `None` if the request has not what they take."""
    given: list[tuple[_Step, dict[str, Any]]] = []
    for step in steps:
        values = step.values(request)
        if values is None:
            return None
        given.append((step, values))
    made: list[Any] = []
    for step, values in given:
        for name, index in step.made_before:
            values[name] = made[index]
        made.append(await step.call(**values))
    answer: Response = made[-1]
    return answer


def _answers_itself(endpoint: Callable[..., Any]) -> bool:
    hinted = get_type_hints(endpoint).get("return")
    return inspect.isclass(hinted) and issubclass(hinted, Response)


def _are_plain(dependant: Dependant, steps: list[_Step]) -> bool:
    """Whether a function and all it depends on are plain; adds them in the order of the calls."""
    if not _is_plain(dependant):
        return False
    made_before = []
    nothing: dict[str, None] = {}
    for other in dependant.dependencies:
        if isinstance(other.call, KeyScheme):
            # It is for the document alone.
            nothing[other.name or ""] = None
            continue
        known = [index for index, step in enumerate(steps) if step.call == other.call]
        if not known and not _are_plain(other, steps):
            return False
        if other.name is not None:
            made_before.append((other.name, known[0] if known else len(steps) - 1))
    names = (dependant.request_param_name, dependant.http_connection_param_name)
    steps.append(
        _Step(
            cast(Callable[..., Awaitable[Any]], dependant.call),
            tuple(map(_value, dependant.path_params)),
            tuple(map(_value, dependant.query_params)),
            tuple(name for name in names if name is not None),
            nothing,
            tuple(made_before),
        )
    )
    return True


def _is_plain(dependant: Dependant) -> bool:
    call = dependant.call
    is_coroutine = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(
        getattr(call, "__call__", None)  # noqa: B004 - an object that is called
    )
    asks_for_more = (
        dependant.header_params
        or dependant.cookie_params
        or dependant.body_params
        or dependant.response_param_name
        or dependant.background_tasks_param_name
        or dependant.security_scopes_param_name
        or dependant.websocket_param_name
        or dependant.concurrency
        or not dependant.use_cache
    )
    values = (*dependant.path_params, *dependant.query_params)
    return is_coroutine and not asks_for_more and all(map(_is_single, values))


def _value(parameter: _Parameter) -> _Value:
    return _Value(
        name=parameter.name,
        alias=parameter.alias,
        is_required=parameter.field_info.is_required(),
        is_any_text=parameter.field_info.annotation is str and not parameter.field_info.metadata,
        default=parameter.default,
        validate=parameter.validate,
    )


def _is_single(parameter: _Parameter) -> bool:
    """Whether a parameter has one value, made of one text."""
    annotation = parameter.field_info.annotation
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else [annotation]
    return all(kind in _SINGLE or get_origin(kind) is Literal for kind in kinds)
