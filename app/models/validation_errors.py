"""What a schema library complains about, as faults that are safe to answer with."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from app.errors import Fault
from app.models.json_pointer import json_pointer

# Pydantic's messages for these quote the input; `{…}` is filled from what we declared.
_QUOTING_MESSAGES = {
    "union_tag_invalid": "Input should be told apart by one of {expected_tags}",
    "uuid_parsing": "Input should be a valid UUID",
}


def faults_of(exc: ValidationError) -> list[Fault]:
    """Everything a model complains about."""
    return [fault_of(error) for error in exc.errors(include_url=False, include_input=False)]


def fault_of(error: Mapping[str, Any]) -> Fault:
    """One of pydantic's errors as a JSON pointer and a sentence that repeats no input."""
    return Fault(_pointer(error), _message(error))


def _pointer(error: Mapping[str, Any]) -> str:
    if error["type"] == "json_invalid":
        # Its location is a position in the text and not a place in a value.
        return ""
    location = tuple(error["loc"])
    return json_pointer(location[1:] if location[:1] == ("body",) else location)


def _message(error: Mapping[str, Any]) -> str:
    if template := _QUOTING_MESSAGES.get(error["type"]):
        return template.format_map(error.get("ctx", {}))
    # What our own validators say, without the schema library's introduction.
    return str(error["msg"]).removeprefix("Value error, ")
