"""Rows as frozen dataclasses, where the fields of these have the names of columns."""

from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, cast

from sqlalchemy import Row

_Item = TypeVar("_Item")


def read_row(kind: Callable[..., _Item], row: Row[Any], **others: object) -> _Item:
    """Return a dataclass made of the columns of a row; `others` are fields that are none."""
    columns = {name: getattr(row, name) for name in _names(kind) if name not in others}
    return kind(**columns, **others)


def values_of(item: object, **others: object) -> dict[str, object]:
    """Return the fields of a dataclass by name, as columns of its row, and others beside them."""
    return {name: getattr(item, name) for name in _names(cast(Any, type(item)))} | others


def in_batches(values: Collection[str], most: int = 500) -> Iterator[list[str]]:
    """Yield values in order, up to `most` at once, for a condition that names them all."""
    ordered = sorted(values)
    for start in range(0, len(ordered), most):
        yield ordered[start : start + most]


@cache
def _names(kind: Hashable) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast(Any, kind)))
