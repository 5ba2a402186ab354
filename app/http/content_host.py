"""The host of the content URL: what signed links lead to, and nothing else.

One process answers for two names. A browser keeps what it loads from the one apart from the other:
whatever stored content might do in spite of its headers, it would do it where there is no viewer,
no API and no key. Which name a request means is what its `Host` says; no `X-Forwarded-Host` is
read. Anything but the content URL, or nothing, means the service itself.
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
    """Keeps content and everything else on hosts of their own, each request before its route.

    On the content URL: content behind a signed link, and `/healthz`. API keys are not accepted
    there, even if authentication is off. On any other host: everything else, and a redirect to the
    content URL for requests with a link.

    Args:
        router: Takes the requests that are in the right place.
        content: The route of content.
        url: The content URL, an origin.
        hosts: What `Host` says on requests to it, in lower case.
        resource_policy: Who may embed what a link leads to; redirects need it as well.
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
            UnauthorizedError: Content is asked for there without a link.
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
        # A server may pass on several; one of them is enough not to be served anything else.
        return any(
            name == b"host" and value.strip().lower() in self._hosts
            for name, value in scope["headers"]
        )

    def _redirect(self, scope: Scope) -> Response:
        # Put together anew: what a caller has sent cannot make it lead to another host.
        path = quote(_path(scope), safe="/:", errors="replace")
        query = scope["query_string"].decode("latin-1")
        headers = {"Location": f"{self._url}{path}?{query}", **self._headers}
        return Response(status_code=HTTPStatus.TEMPORARY_REDIRECT, headers=headers)

    def _check(self, scope: Scope) -> None:
        """Refuse what the content URL is not for."""
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
    # Read as the route reads it, after a look that spares most requests this.
    query = scope["query_string"]
    return bool(query) and "token" in QueryParams(query)


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))
