"""Requests as data, with the decoders of their answers and the conditions of retries."""

import dataclasses
import json as _json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Generic, TypeAlias, TypeVar
from urllib.parse import quote

import httpx

from pagefault_client import values
from pagefault_client.errors import PagefaultError

T_co = TypeVar("T_co", covariant=True)

Body: TypeAlias = bytes | BinaryIO
"""Bytes, or a file that is read from its beginning."""

CONDITIONS = ("If-Match", "If-None-Match", "If-Unmodified-Since")


@dataclass(frozen=True, slots=True)
class Call(Generic[T_co]):
    """A request of one operation.

    Attributes:
        is_repeatable: The request is idempotent, so it can be retried.
        takes_key: The route accepts an `Idempotency-Key`, which makes the request repeatable.
        may_be_gone: The request is a deletion that returns a body, or None if an earlier attempt,
            whose answer was lost, has deleted the object.
    """

    method: str
    path: str
    decode: Callable[[httpx.Response], T_co]
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    json: Any = None
    content: Body | None = None
    content_type: str | None = None
    is_repeatable: bool = False
    takes_key: bool = False
    may_be_gone: bool = False

    def prepare(self) -> "Call[T_co]":
        """Return the call with its body as bytes, and an idempotency key if it needs one.

        Bytes, arrays, dataclasses and the like become JSON. Characters outside of ASCII are
        escaped, which preserves lone surrogates in tool results.

        Writes with a condition are not repeatable: after a successful first attempt, the condition
        fails for the second.

        Raises:
            UnstorableError: A value of the body has no form in JSON.
        """
        headers = {name: value for name, value in self.headers.items() if value is not None}
        call = dataclasses.replace(self, headers=headers)
        if self.json is not None:
            text = _json.dumps(values.jsonable(self.json), separators=(",", ":"))
            call = dataclasses.replace(
                call,
                json=None,
                content=text.encode(),
                content_type=self.content_type or "application/json",
            )
        names = {name.lower() for name in headers}
        if self.method not in {"GET", "HEAD"} and any(name.lower() in names for name in CONDITIONS):
            return dataclasses.replace(call, is_repeatable=False)
        if self.takes_key and "idempotency-key" not in names and not self.is_repeatable:
            headers["Idempotency-Key"] = str(uuid.uuid4())
        return dataclasses.replace(call, is_repeatable=self.is_repeatable or self.takes_key)

    def replace(self, **changes: Any) -> "Call[T_co]":  # noqa: ANN401 - as `dataclasses.replace`
        """Return a copy of the call with the given fields replaced."""
        return dataclasses.replace(self, **changes)

    def parameters(self) -> httpx.QueryParams:
        """Return the query. The name is repeated for each item of a list; None is omitted."""
        return httpx.QueryParams(
            [
                (name, _to_text(item))
                for name, value in self.query.items()
                if value is not None
                for item in (value if isinstance(value, list | tuple) else [value])
            ]
        )


def _to_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def segment(value: str | int) -> str:
    """Return an id as one segment of a path.

    Raises:
        ValueError: The id is empty or has a slash. An encoded slash would change the route as well.
    """
    text = str(value)
    if not text or "/" in text:
        raise ValueError(f"{text!r} is not an id: an id is not empty and has no slash")
    # The segments `.` and `..` would be removed from the path by the client or a proxy.
    return text.replace(".", "%2E") if text in {".", ".."} else quote(text, safe="")


def json_of(response: httpx.Response) -> Any:  # noqa: ANN401 - typed by each operation
    """Return the JSON of an answer.

    Raises:
        PagefaultError: The body is not JSON.
    """
    try:
        return response.json()
    except ValueError as error:
        kind = response.headers.get("Content-Type", "without a type")
        raise PagefaultError(
            f"{response.status_code} with a body that is not JSON ({kind}): the server is not "
            f"Pagefault. Check `base_url` and the proxies in between. The body begins with "
            f"{response.text[:100]!r}"
        ) from error


def text_of(response: httpx.Response) -> str:
    """Return the text of an answer."""
    return response.text


def bytes_of(response: httpx.Response) -> bytes:
    """Return the bytes of an answer."""
    return response.content


def headers_of(response: httpx.Response) -> httpx.Headers:
    """Return the headers of an answer."""
    return response.headers


def nothing_of(response: httpx.Response) -> None:
    """Return nothing, for an answer without a body."""
