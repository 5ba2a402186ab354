"""`ApiRequestDep`: the authenticated request of a route, with methods that read its body."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from pydantic import BaseModel

from app.http.bodies import read_small_json, require_json, stream_body
from app.http.conditions import make_write_check
from app.http.dependencies import BearerDep, authenticate, get_services
from app.models.limits import Limits
from app.services.requests.validation import validate_model

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """An authenticated request, the project of its API key, and the limits of the service."""

    request: Request
    project_id: str
    limits: Limits

    def stream_body(
        self, max_bytes: int | None = None, *, keeps_received: bool = False
    ) -> AsyncIterator[bytes]:
        """Yield the chunks of the body, at most `max_bytes`; see `bodies.stream_body`."""
        limits = self.limits
        if max_bytes is not None:
            limits = limits.model_copy(update={"body_bytes": max_bytes})
        return stream_body(self.request, limits, keeps_received=keeps_received)

    def stream_json(self, max_bytes: int | None = None) -> AsyncIterator[bytes]:
        """Yield the chunks of a body that must be declared as JSON; see `bodies.require_json`."""
        require_json(self.request)
        return self.stream_body(max_bytes)

    async def read_model(self, model: type[_Model], *, is_optional: bool = True) -> _Model:
        """Read a small JSON body as a model. An optional body may be empty, like an empty object.

        Raises:
            PayloadTooLargeError: The body is longer than 64 KiB, or nested too deep.
            InvalidJsonError: The body is not JSON.
            InvalidPayloadError: The body is not valid for the model.
        """
        value = await read_small_json(self.request, self.limits, is_optional=is_optional)
        return validate_model(
            model, value, "The body is not what the route takes; `errors` says where."
        )

    def make_write_check(self) -> Callable[[str | None], None]:
        """Return the check of `If-Match` and `If-None-Match`; see `conditions.make_write_check`."""
        return make_write_check(self.request.headers, self.request.method)


async def get_api_request(request: Request, _: BearerDep) -> ApiRequest:
    """Authenticate a request. Raises as `authenticate` does."""
    return ApiRequest(request, await authenticate(request), get_services(request)[Limits])


ApiRequestDep = Annotated[ApiRequest, Depends(get_api_request)]
