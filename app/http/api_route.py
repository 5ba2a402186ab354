"""The routes of the API: what they hold every request to, and how those asked most are called.

FastAPI finds out anew with every request what each dependency of a route is. That takes longer than
to look a record up. So a route that is asked most takes the request alone, and itself reads what it
is asked; its dependencies only declare that, for the document.
"""

import inspect
from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from app.http.authenticate import KeyScheme
from app.http.parameters import Parameters
from app.http.query_names import QueryNames, judge
from app.http.response_memory import counted

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class ApiRoute(APIRoute):
    """A route whose query holds what it takes, and whose long answers are counted."""

    def get_route_handler(self) -> _Handler:
        """FastAPI's handler, or the endpoint itself where that reads the request."""
        handler = self.endpoint if self._reads_the_request else super().get_route_handler()
        names = QueryNames(self.dependant)

        async def handle(request: Request) -> Response:
            if request.scope["query_string"]:
                await judge(names, request)
            return counted(await handler(request))

        return handle

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose path is the route's."""
        if self._shortest is None or scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        # Nothing is to be closed behind the answer, for which FastAPI makes two stacks.
        answer = await self._shortest(Request(scope, receive, send))
        await answer(scope, receive, send)

    @cached_property
    def _shortest(self) -> _Handler | None:
        return self.get_route_handler() if self._reads_the_request else None

    @property
    def _reads_the_request(self) -> bool:
        """Whether nothing has to be found for the endpoint but the request."""
        dependencies = [each.call for each in self.dependant.dependencies]
        return list(inspect.signature(self.endpoint).parameters) == ["request"] and all(
            # Neither does anything when it is called.
            isinstance(call, KeyScheme) or (isinstance(call, type) and issubclass(call, Parameters))
            for call in dependencies
        )
