"""One request as data: what to send, how to read the answer, and whether it may be sent again."""

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
        is_repeatable: Sent twice, it does what it does once.
        takes_key: The route takes an `Idempotency-Key`, which makes it repeatable.
        may_be_gone: It is a deletion, and decodes as None if an attempt before, whose answer was
            lost, has done it. One that returns nothing anyway needs not say so.
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

    def prepared(self) -> "Call[T_co]":
        """Return the call with an idempotency key, if it needs one to be repeatable.

        A condition makes a call unfit for repetition: when the first one has come through, it
        does not hold for the second.
        """
        headers = {name: value for name, value in self.headers.items() if value is not None}
        names = {name.lower() for name in headers}
        if any(name.lower() in names for name in CONDITIONS):
            return dataclasses.replace(self, headers=headers, is_repeatable=False)
        if self.takes_key and "idempotency-key" not in names and not self.is_repeatable:
            headers["Idempotency-Key"] = str(uuid.uuid4())
        if self.takes_key:
            return dataclasses.replace(self, headers=headers, is_repeatable=True)
        return dataclasses.replace(self, headers=headers)

    def changed(self, **changes: Any) -> "Call[T_co]":  # noqa: ANN401 - as `dataclasses.replace`
        """Return the call with other values."""
        return dataclasses.replace(self, **changes)

    def payload(self) -> tuple[Body | None, str | None]:
        """Return the body and its type. Bytes, dataclasses and the like become JSON.

        Everything beyond ASCII is escaped, so that a lone surrogate in a tool's result arrives.

        Raises:
            ValueError: The body has a number that JSON does not have.
        """
        if self.json is None:
            return self.content, self.content_type
        text = _json.dumps(
            self.json, separators=(",", ":"), allow_nan=False, default=values.jsonable
        )
        return text.encode(), self.content_type or "application/json"

    def parameters(self) -> httpx.QueryParams:
        """Return the query: lists repeat their name, what is `None` is left out."""
        return httpx.QueryParams(
            [
                (name, _spelled(each))
                for name, value in self.query.items()
                if value is not None
                for each in (value if isinstance(value, list | tuple) else [value])
            ]
        )


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def segment(value: str | int) -> str:
    """Return an id as one segment of a path.

    Raises:
        ValueError: It is empty or has a slash, which even encoded would lead to something else.
    """
    text = str(value)
    if not text or "/" in text:
        raise ValueError(f"{text!r} is no id: an id is not empty and has no slash")
    # `.` and `..` would be taken out of the path with what stands before them.
    return text.replace(".", "%2E") if text in {".", ".."} else quote(text, safe="")


def json_of(response: httpx.Response) -> Any:  # noqa: ANN401 - each operation says its type
    """Return the JSON of an answer.

    Raises:
        PagefaultError: It is something else.
    """
    try:
        return response.json()
    except ValueError as error:
        kind = response.headers.get("Content-Type", "without a type")
        raise PagefaultError(
            f"{response.status_code} with an answer that is no JSON ({kind}): what answers is not "
            f"Pagefault. Look at `base_url`, and at proxies in between. It begins with "
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
