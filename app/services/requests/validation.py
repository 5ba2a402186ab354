"""Checks of bodies, of named records, and of the version that a write changes."""

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
"""Judges the digest of the stored version, `None` if there is none; raises if it may not change."""


def require_found(item: _Item | None, noun: str) -> _Item:
    """Return a record, if it was found.

    Raises:
        NotFoundError: It is `None`; `noun` is its name in the message.
    """
    if item is None:
        raise NotFoundError(noun)
    return item


def read_value(body: bytes, limits: Limits, *, spelled: bool = False) -> JsonValue:
    """Return the JSON value of a body, lone surrogates repaired; see `parse_repaired_json`.

    Raises:
        InvalidJsonError: Not JSON, not UTF-8, or a number that is not finite.
        PayloadTooLargeError: Nested too deep, or too many values.
    """
    return parse_repaired_json(
        body, max_depth=limits.json_depth, max_nodes=limits.json_nodes, spelled=spelled
    )


def read_object(body: bytes, limits: Limits, *, spelled: bool = False) -> dict[str, JsonValue]:
    """Return the JSON object of a body; `spelled` as in `parse_repaired_json`.

    Raises:
        InvalidPayloadError: It is another value; and as `read_value`.
    """
    return as_object(read_value(body, limits, spelled=spelled))


def as_object(value: JsonValue) -> dict[str, JsonValue]:
    """Return the value, which is an object.

    Raises:
        InvalidPayloadError: It is not.
    """
    if not isinstance(value, dict):
        raise InvalidPayloadError("The body has to be a JSON object.")
    return value


def validated(model: type[_Model], value: JsonValue, sentence: str) -> _Model:
    """Return the value as a model.

    Args:
        model: The model.
        value: The value of the request.
        sentence: The message if it is invalid.

    Raises:
        InvalidPayloadError: The value is invalid; the faults point to the defects.
    """
    is_closed = model.model_config.get("extra") == "forbid"
    if is_closed and isinstance(value, dict) and len(value) > _MAX_MEMBERS:
        # The schema library would make an error of each that it does not know.
        fault = Fault("", f"has {len(value):,} members; at most {_MAX_MEMBERS:,} are looked at")
        raise InvalidPayloadError(sentence, faults=[fault])
    try:
        return model.model_validate(value)
    except ValidationError as exc:
        raise InvalidPayloadError(sentence, faults=faults_of(exc)) from exc
