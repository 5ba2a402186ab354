"""The class of the API's routes: it checks query names and counts long answers."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from app.http.query_names import QueryNames, check_query, query_names
from app.http.response_memory import count_response


class ApiRoute(APIRoute):
    """A route whose requests have only known query parameters, and whose answers are counted."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler between the check of the query and the count of the answer."""
        handler = super().get_route_handler()
        names = QueryNames(query_names(self.dependant))

        async def handle(request: Request) -> Response:
            if request.scope["query_string"]:
                await check_query(names, request)
            return count_response(await handler(request))

        return handle
