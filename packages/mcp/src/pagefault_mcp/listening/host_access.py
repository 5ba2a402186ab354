"""A guard for a proxy over HTTP that requires keys of its project."""

from dataclasses import dataclass

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import StoreUnavailableError, UnauthorizedError
from app.http.problem_responses import problem_response
from pagefault_dialects.errors import PagefaultError
from pagefault_mcp.service_client.service_exchange import NoAnswerError
from pagefault_mcp.service_client.service_store import ServiceStore
from pagefault_mcp.service_client.shared_folder import KEY_PATH


@dataclass(slots=True, eq=False)
class KeyGuard:
    """Answers 401 to requests without a key of the project."""

    app: ASGIApp
    """The application."""
    store: ServiceStore
    """The client of the service that has the keys."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] == "http":
            try:
                await self._check(scope)
            except PagefaultError as exc:
                answer = problem_response(exc, instance=scope["path"], request_id="-")
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)

    async def _check(self, scope: Scope) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        authorization = headers.get(b"authorization")
        if authorization is None:
            raise UnauthorizedError
        try:
            answer = await self.store.client.get(
                KEY_PATH, headers={b"authorization": authorization}
            )
        except (NoAnswerError, httpx.HTTPError) as exc:
            raise StoreUnavailableError("keys") from exc
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            raise UnauthorizedError
        if not answer.is_success:
            raise StoreUnavailableError("keys")
