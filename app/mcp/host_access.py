"""Who may connect to a proxy over HTTP: where keys are asked for, those of its project."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import ServiceError, UnauthorizedError
from app.http.problem_responses import problem_response
from app.services.access.callers import Access


@dataclass(slots=True, eq=False)
class KeyGuard:
    """Answers 401 to requests without a key of the project."""

    app: ASGIApp
    """The application."""
    access: Access
    """Knows the keys."""
    project_id: str
    """The project."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] == "http":
            try:
                await self._check(scope)
            except ServiceError as exc:
                answer = problem_response(exc, instance=scope["path"], request_id="-")
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)

    async def _check(self, scope: Scope) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        authorization = headers.get(b"authorization", b"").decode("latin-1")
        caller = await self.access.caller_of(authorization)
        if caller.project_id != self.project_id:
            raise UnauthorizedError
