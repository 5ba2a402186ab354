"""Parses and validates request bodies, and raises an error for records that do not exist."""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from app.errors import NotFoundError
from app.models.limits import Limits
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue, parse_repaired_json
from pagefault_dialects.model.base import faults_of

_MAX_MEMBERS = 10_000
_Item = TypeVar("_Item")
_Model = TypeVar("_Model", bound=BaseModel)
WriteCondition: TypeAlias = Callable[[str | None], None]
"""Checks `If-Match` and `If-None-Match` before a write, and raises PreconditionFailedError.

The argument is the digest of the stored version; `None` if nothing is stored.
"""


def require_found(item: _Item | None, noun: str) -> _Item:
    """Return a record; raise an error if it is `None`.

    Args:
        item: The record that was looked up.
        noun: The kind of the record, for the text of the error.

    Raises:
        NotFoundError: The record is `None`.
    """
    if item is None:
        raise NotFoundError(noun)
    return item


def read_value(body: bytes, limits: Limits, *, keeps_spelling: bool = False) -> JsonValue:
    """Parse the JSON value of a body, and replace lone surrogates by U+FFFD.

    Args:
        body: The body.
        limits: The limits of depth and of the number of values.
        keeps_spelling: True to keep the spelling of numbers, such as `1.50`.

    Raises:
        InvalidJsonError: The body is not JSON, is not UTF-8, or has a number that is not finite.
        PayloadTooLargeError: The body is nested too deep, or has too many values.
    """
    return parse_repaired_json(
        body,
        max_depth=limits.json_depth,
        max_nodes=limits.json_nodes,
        keeps_spelling=keeps_spelling,
    )


def read_object(
    body: bytes, limits: Limits, *, keeps_spelling: bool = False
) -> dict[str, JsonValue]:
    """Parse the JSON object of a body; see `read_value` for the arguments.

    Raises:
        InvalidPayloadError: The value is not an object.
        InvalidJsonError, PayloadTooLargeError: See `read_value`.
    """
    return as_object(read_value(body, limits, keeps_spelling=keeps_spelling))


def as_object(value: JsonValue) -> dict[str, JsonValue]:
    """Return a JSON value that has to be an object.

    Raises:
        InvalidPayloadError: The value is not an object.
    """
    if not isinstance(value, dict):
        raise InvalidPayloadError("The body has to be a JSON object.")
    return value


def validate_model(model: type[_Model], value: JsonValue, sentence: str) -> _Model:
    """Validate a JSON value of a request, and return it as an instance of a Pydantic model.

    Args:
        model: The class of the model.
        value: The value.
        sentence: The text of the error.

    Raises:
        InvalidPayloadError: The value is invalid. Each error of Pydantic is a fault with a pointer.
    """
    is_closed = model.model_config.get("extra") == "forbid"
    if is_closed and isinstance(value, dict) and len(value) > _MAX_MEMBERS:
        # Pydantic would create an error for each unknown member.
        fault = Fault("", f"has {len(value):,} members; at most {_MAX_MEMBERS:,} are looked at")
        raise InvalidPayloadError(sentence, faults=[fault])
    try:
        return model.model_validate(value)
    except ValidationError as exc:
        raise InvalidPayloadError(sentence, faults=faults_of(exc)) from exc
