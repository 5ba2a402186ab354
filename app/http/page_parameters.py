"""Parameters of the routes of pages: id and level."""

from typing import Annotated

from fastapi import Depends, Path, Query
from pydantic import BeforeValidator, Field

from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.base import ClientId
from pagefault_dialects.model.page import LEVEL_NAMES, Level, LevelName, parse_level

# Numbers are accepted as well, but not every generator supports unions in an address.
_LEVELS = f"{LEVEL_NAMES}; by name, in any case, or by number."
_LevelText = Annotated[
    str,
    Field(max_length=16),
    BeforeValidator(lambda given: given, json_schema_input_type=LevelName),
]

PageIdPath = Annotated[ClientId, Path(description="The client's id of the page.")]


async def get_level_query(
    level: Annotated[_LevelText | None, Query(description=_LEVELS)] = None,
) -> Level | None:
    """Return the level of `?level=`, or None."""
    return None if level is None else _level(level, "/query/level")


async def get_level_path(
    level: Annotated[_LevelText, Path(description=_LEVELS)],
) -> Level:
    """Return the level in the path."""
    return _level(level, "/path/level")


def _level(text: str, pointer: str) -> Level:
    level = parse_level(text)
    if level is None:
        raise InvalidPayloadError(
            "There is no such level.", faults=[Fault(pointer, f"must be one of {LEVEL_NAMES}")]
        )
    return level


LevelQuery = Annotated[Level | None, Depends(get_level_query)]
LevelPath = Annotated[Level, Depends(get_level_path)]
