"""The host of the content URL, which serves the content behind signed links and nothing else.

One process serves two host names, which are two origins to browsers. If stored content runs a
script in spite of its headers, the script runs in an origin without viewer, API and keys. `Host`
alone selects the origin; `X-Forwarded-Host` is not read. Requests with any other `Host` go to the
service itself.
"""

from collections.abc import Collection
from http import HTTPStatus
from urllib.parse import quote

from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import UnauthorizedError
from app.http.content_headers import safe_headers
from app.http.docs_page import ON_CONTENT_URL
from app.services.access.published_content import ResourcePolicy

_READING = ("GET", "HEAD")
_HEALTH_PATH = "/healthz"


class ContentHost:
    """Middleware that separates content from everything else by host, before routing.

    The content URL has content behind signed links, and `/healthz`. API keys are not accepted
    there, even if authentication is off. Other hosts have everything else, and redirect requests
    with a link to the content URL.

    Args:
        router: Handles the requests that are on the right host.
        content: The route of content.
        url: The content URL, an origin.
        hosts: The values of `Host` in requests to it, in lower case.
        resource_policy: The pages that may embed linked content; redirects need it as well.
    """

    def __init__(
        self,
        router: ASGIApp,
        *,
        content: APIRoute,
        url: str,
        hosts: Collection[str],
        resource_policy: ResourcePolicy,
    ) -> None:
        self._router = router
        self._content = content
        self._url = url
        self._hosts = frozenset(name.encode() for name in hosts)
        self._headers = {"Cache-Control": "no-store", **safe_headers(resource_policy)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection.

        Raises:
            HTTPException: There is nothing at this address of the content URL.
            UnauthorizedError: A request for content there has no link.
        """
        if scope["type"] in ("http", "websocket"):
            if self._is_here(scope):
                self._check(scope)
            elif self._is_linked(scope):
                scope["route"] = self._content
                await self._redirect(scope)(scope, receive, send)
                return
        await self._router(scope, receive, send)

    def _is_here(self, scope: Scope) -> bool:
        # A server may pass on several. If one is the content host, nothing else is served.
        return any(
            name == b"host" and value.strip().lower() in self._hosts
            for name, value in scope["headers"]
        )

    def _redirect(self, scope: Scope) -> Response:
        # Built from checked parts, so no request can make it lead to another host.
        path = quote(_path(scope), safe="/:", errors="replace")
        query = scope["query_string"].decode("latin-1")
        headers = {"Location": f"{self._url}{path}?{query}", **self._headers}
        return Response(status_code=HTTPStatus.TEMPORARY_REDIRECT, headers=headers)

    def _check(self, scope: Scope) -> None:
        """Refuse requests that the content URL does not serve."""
        is_http = scope["type"] == "http"
        if is_http and _path(scope) == _HEALTH_PATH:
            return
        is_read = is_http and scope["method"] in (*_READING, "OPTIONS")
        if not is_read or not self._is_content(scope):
            scope.setdefault("state", {})[ON_CONTENT_URL] = True
            raise HTTPException(HTTPStatus.NOT_FOUND)
        if scope["method"] in _READING and not _has_token(scope):
            raise UnauthorizedError

    def _is_linked(self, scope: Scope) -> bool:
        """Return whether this is a request for content by a link."""
        return (
            scope["type"] == "http"
            and scope["method"] in _READING
            and _has_token(scope)
            and self._is_content(scope)
        )

    def _is_content(self, scope: Scope) -> bool:
        return self._content.path_regex.fullmatch(_path(scope)) is not None


def _has_token(scope: Scope) -> bool:
    # Parsed as the route does; most requests have no query at all.
    query = scope["query_string"]
    return bool(query) and "token" in QueryParams(query)


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))
