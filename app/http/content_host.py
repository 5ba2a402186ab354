"""The host of the content URL, which serves only content with signed links.

The process serves two host names, which are two origins for browsers. If stored content runs a
script in spite of its headers, the script runs in an origin without viewer, API and keys. The host
is selected by `Host`; `X-Forwarded-Host` is ignored. Requests with any other `Host` are for the
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
from app.http.content_headers import build_safe_headers
from app.http.docs_page import CONTENT_HOST_STATE_KEY
from app.services.access.published_content import ResourcePolicy

_READ_METHODS = ("GET", "HEAD")
_HEALTH_PATH = "/healthz"


class ContentHost:
    """Middleware that serves content and everything else on separate hosts.

    The content URL serves content with signed links, and `/healthz`. API keys are not accepted
    there, even if authentication is off. Other hosts serve everything else, and redirect requests
    with a signed link to the content URL.

    Args:
        router: The router of the application.
        content: The route of the API that sends content.
        url: The content URL, which is an origin.
        hosts: The values of `Host` in requests to the content URL, in lower case.
        resource_policy: The value of `Cross-Origin-Resource-Policy` for redirects.
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
        self._headers = {"Cache-Control": "no-store", **build_safe_headers(resource_policy)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection.

        Raises:
            HTTPException: The content URL does not serve this path.
            UnauthorizedError: A request for content at the content URL has no token.
        """
        if scope["type"] in ("http", "websocket"):
            if self._is_for_content_host(scope):
                self._check_request(scope)
            elif self._is_signed_link(scope):
                scope["route"] = self._content
                await self._redirect(scope)(scope, receive, send)
                return
        await self._router(scope, receive, send)

    def _is_for_content_host(self, scope: Scope) -> bool:
        # If one of several `Host` headers is the content host, only content is served.
        return any(
            name == b"host" and value.strip().lower() in self._hosts
            for name, value in scope["headers"]
        )

    def _redirect(self, scope: Scope) -> Response:
        # The URL begins with the configured origin, so a request cannot redirect to another host.
        path = quote(_get_path(scope), safe="/:", errors="replace")
        query = scope["query_string"].decode("latin-1")
        headers = {"Location": f"{self._url}{path}?{query}", **self._headers}
        return Response(status_code=HTTPStatus.TEMPORARY_REDIRECT, headers=headers)

    def _check_request(self, scope: Scope) -> None:
        """Check that the content host serves a request. Raises as `__call__` does."""
        is_http = scope["type"] == "http"
        if is_http and _get_path(scope) == _HEALTH_PATH:
            return
        is_read = is_http and scope["method"] in (*_READ_METHODS, "OPTIONS")
        if not is_read or not self._is_content_path(scope):
            scope.setdefault("state", {})[CONTENT_HOST_STATE_KEY] = True
            raise HTTPException(HTTPStatus.NOT_FOUND)
        if scope["method"] in _READ_METHODS and not _has_token(scope):
            raise UnauthorizedError

    def _is_signed_link(self, scope: Scope) -> bool:
        """Return whether this is a request for content with a signed link."""
        return (
            scope["type"] == "http"
            and scope["method"] in _READ_METHODS
            and _has_token(scope)
            and self._is_content_path(scope)
        )

    def _is_content_path(self, scope: Scope) -> bool:
        return self._content.path_regex.fullmatch(_get_path(scope)) is not None


def _has_token(scope: Scope) -> bool:
    # The route parses the query in the same way. Most requests have no query.
    query = scope["query_string"]
    return bool(query) and "token" in QueryParams(query)


def _get_path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))
