"""The authenticated request of a route: `ApiRequestDep`, with the methods that read its body."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from pydantic import BaseModel

from app.http.bodies import read_small_json, require_json, stream_body
from app.http.conditions import write_condition
from app.http.dependencies import BearerDep, authenticate, services_of
from app.models.limits import Limits
from app.services.requests.validation import validate_model

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """An authenticated request, the project of its API key, and the limits of the service."""

    request: Request
    project_id: str
    limits: Limits

    def body(
        self, max_bytes: int | None = None, *, keeps_received: bool = False
    ) -> AsyncIterator[bytes]:
        """Return the chunks of the body, at most `max_bytes`; see `stream_body`."""
        limits = self.limits
        if max_bytes is not None:
            limits = limits.model_copy(update={"body_bytes": max_bytes})
        return stream_body(self.request, limits, keeps_received=keeps_received)

    def json_body(self, max_bytes: int | None = None) -> AsyncIterator[bytes]:
        """Return the chunks of a body that is declared as JSON; see `require_json`."""
        require_json(self.request)
        return self.body(max_bytes)

    async def model(self, model: type[_Model], *, is_optional: bool = True) -> _Model:
        """Read a small JSON body as a model. If it is optional, no body is an empty object.

        Raises:
            PayloadTooLargeError: It is longer than 64 KiB, or nested too deep.
            InvalidJsonError, InvalidPayloadError: It is invalid JSON, or not valid for the model.
        """
        value = await read_small_json(self.request, self.limits, is_optional=is_optional)
        return validate_model(
            model, value, "The body is not what the route takes; `errors` says where."
        )

    def condition(self) -> Callable[[str | None], None]:
        """Return the check of `If-Match` and `If-None-Match` for a write; see `write_condition`."""
        return write_condition(self.request.headers, self.request.method)


async def get_api_request(request: Request, _: BearerDep) -> ApiRequest:
    """Authenticate a request; the errors are those of `authenticate`."""
    return ApiRequest(request, await authenticate(request), services_of(request)[Limits])


ApiRequestDep = Annotated[ApiRequest, Depends(get_api_request)]
