"""Check request bodies, the existence of records, and the condition of a write."""

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
"""Takes the digest of the stored version, or `None`; raises if it may not be replaced."""


def require_found(item: _Item | None, noun: str) -> _Item:
    """Return a record that was looked up; `noun` is its name in the message of the error.

    Raises:
        NotFoundError: The record is `None`.
    """
    if item is None:
        raise NotFoundError(noun)
    return item


def read_value(body: bytes, limits: Limits, *, keeps_spelling: bool = False) -> JsonValue:
    """Parse the JSON value of a body; see `parse_repaired_json` for lone surrogates.

    With `keeps_spelling`, numbers keep their spelling, such as `1.50`.

    Raises:
        InvalidJsonError: Not JSON, not UTF-8, or a number that is not finite.
        PayloadTooLargeError: Nested too deep, or too many values.
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
    """Parse the JSON object of a body; the arguments are those of `read_value`.

    Raises:
        InvalidPayloadError: The value is no object.
        InvalidJsonError, PayloadTooLargeError: As in `read_value`.
    """
    return as_object(read_value(body, limits, keeps_spelling=keeps_spelling))


def as_object(value: JsonValue) -> dict[str, JsonValue]:
    """Narrow a JSON value to an object.

    Raises:
        InvalidPayloadError: The value is no object.
    """
    if not isinstance(value, dict):
        raise InvalidPayloadError("The body has to be a JSON object.")
    return value


def validate_model(model: type[_Model], value: JsonValue, sentence: str) -> _Model:
    """Validate a JSON value of a request with a Pydantic model.

    Args:
        model: The class of the result.
        value: The value.
        sentence: The message of the error.

    Raises:
        InvalidPayloadError: The value is invalid. Each defect is a fault with its pointer.
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
