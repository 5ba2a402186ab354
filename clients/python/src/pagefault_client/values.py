"""The conversion of Python values to JSON, in which no value is lost without an error.

Arrays and data frames are recognised by their methods: this package imports none of their
libraries.
"""

import array
import base64
import dataclasses
import datetime
import enum
import io
import ipaddress
import itertools
import json
import math
import numbers
import os
import sys
import uuid
from collections.abc import (
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
    ValuesView,
)
from typing import Any

MAX_ITERATOR_BYTES = 64 * 1024 * 1024
# The memory of an item in a list, beside its own.
ITEM_BYTES = 64
# A longer table is a file with a preview.
MAX_TABLE_TEXT_CHARS = 4_000
PREVIEW_CHARS = 1_000

_AS_TEXT = (
    datetime.timedelta,
    uuid.UUID,
    os.PathLike,
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    ipaddress.IPv4Network,
    ipaddress.IPv6Network,
)
_LISTS = (Sequence, array.array, ValuesView)
# The cells that a data frame writes to CSV as they are.
_CELLS = (str, numbers.Number, datetime.date, datetime.time, type(None), *_AS_TEXT)
_TOO_DEEP = "is nested too deep, or contains itself"
_NOT_CSV = "is a data frame that CSV cannot represent: use its rows as a list instead"


class UnstorableError(ValueError):
    """A value cannot be stored whole.

    Attributes:
        reason: The description of the value, and its remedy.
        pointer: The JSON pointer of the value in the body of the request.
    """

    def __init__(self, reason: str, pointer: str = "") -> None:
        self.reason = reason
        self.pointer = pointer
        super().__init__(reason, pointer)

    def __str__(self) -> str:
        """Return the place and the reason."""
        return f"the value at {self.pointer or 'the root'} {self.reason}"

    def add_step(self, step: str | int) -> None:
        """Put the name or the index of an outer value before the pointer."""
        self.pointer = f"/{_escaped(str(step))}{self.pointer}"


class ReadIterator(Iterator[Any]):
    """An iterator whose items were read ahead, up to 64 MiB; it yields all items.

    Attributes:
        items: The items that were read.
        is_whole: These are all items.
    """

    def __init__(self, source: Iterator[Any]) -> None:
        self.items: list[Any] = []
        self.is_whole = False
        size = 0
        for item in source:
            self.items.append(item)
            size += _size_of(item)
            if size > MAX_ITERATOR_BYTES:
                break
        else:
            self.is_whole = True
        self._all = itertools.chain(self.items, source)

    def __next__(self) -> Any:  # noqa: ANN401 - any item
        """Return the next item."""
        return next(self._all)


class ReadAsyncIterator(AsyncIterator[Any]):
    """An asynchronous iterator whose items were read ahead; see `ReadIterator`."""

    def __init__(self, source: AsyncIterator[Any]) -> None:
        self.items: list[Any] = []
        self.is_whole = False
        self._source = source
        self._position = 0

    async def read(self) -> None:
        """Read the items."""
        size = 0
        async for item in self._source:
            self.items.append(item)
            size += _size_of(item)
            if size > MAX_ITERATOR_BYTES:
                return
        self.is_whole = True

    async def __anext__(self) -> Any:  # noqa: ANN401 - any item
        """Return the next item."""
        if self._position == len(self.items):
            return await self._source.__anext__()
        self._position += 1
        return self.items[self._position - 1]


def read_iterator(value: Any) -> Any:  # noqa: ANN401 - any value
    """Read an iterator ahead; return any other value, such as a file, unchanged."""
    is_read = isinstance(value, ReadIterator | io.IOBase)
    return value if is_read or not isinstance(value, Iterator) else ReadIterator(value)


def _size_of(item: object) -> int:
    """Estimate the memory of an item with its members, each of which is counted once."""
    if isinstance(item, int | float | str | bytes):
        return ITEM_BYTES + sys.getsizeof(item)
    size, counted, remaining = 0, set[int](), [item]
    while remaining and size <= MAX_ITERATOR_BYTES:
        value = remaining.pop()
        if id(value) in counted:
            continue
        counted.add(id(value))
        size += ITEM_BYTES + sys.getsizeof(value)
        if isinstance(value, dict):
            remaining.extend(value.values())
        elif isinstance(value, list | tuple | set | frozenset):
            remaining.extend(value)
        elif _is_model(value) or dataclasses.is_dataclass(value):
            remaining.extend(vars(value).values() if hasattr(value, "__dict__") else ())
    return size


def jsonable(value: object) -> Any:  # noqa: ANN401 - JSON
    """Convert a value to JSON for the service.

    Bytes become a data URI, whose media type the service detects; Pillow images become a PNG.
    Models of pydantic, dataclasses, classes of attrs and named tuples become objects. Arrays become
    their values. A data frame becomes CSV: a text, or above 4,000 characters a file with a preview.
    Iterators are read to their end. Dates become ISO 8601; exceptions, and numbers that JSON does
    not have, such as `Decimal`, become text.

    Raises:
        UnstorableError: A value has no such form, is NaN or infinite, or is an iterator of more
            than 64 MiB; it has the JSON pointer of the value.
    """
    try:
        return _convert(value)
    except RecursionError:
        raise UnstorableError(_TOO_DEEP) from None


def _convert(value: object) -> Any:  # noqa: ANN401, PLR0911 - JSON; a table of types
    if isinstance(value, enum.Enum):
        return _convert(value.value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise UnstorableError(f"is {value}, which JSON cannot represent: use None or a text")
    if isinstance(value, Mapping):
        return _convert_object(value.items())
    if isinstance(value, bytes | bytearray | memoryview):
        return _data_uri(bytes(value), "application/octet-stream")
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _convert_object(zip(value._fields, value, strict=True))
    if isinstance(value, _LISTS):
        return _convert_list(value)
    if isinstance(value, Set):
        # A set has another order in each process, and a repeated request has to be the same.
        return sorted(_convert_list(value), key=lambda item: json.dumps(item, sort_keys=True))
    return _convert_instance(value)


def _convert_list(items: Iterable[object]) -> list[Any]:
    converted: list[Any] = []
    try:
        converted.extend(map(_convert, items))
    except UnstorableError as error:
        error.add_step(len(converted))
        raise
    return converted


def _convert_object(members: Iterable[tuple[object, object]]) -> dict[str, Any]:
    converted: dict[str, Any] = {}
    for key, member in members:
        name = key if isinstance(key, str) else _name_of(key)
        if name in converted:
            raise UnstorableError(
                "has the name of another member: names become text", f"/{_escaped(name)}"
            )
        try:
            converted[name] = _convert(member)
        except UnstorableError as error:
            error.add_step(name)
            raise
    return converted


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def _name_of(key: object) -> str:
    name = _convert(key)
    if isinstance(name, dict | list) or isinstance(key, bytes):
        raise UnstorableError(f"has a {type(key).__name__} as the name of a member: use a text")
    return name if isinstance(name, str) else json.dumps(name)


def _convert_instance(value: Any) -> Any:  # noqa: ANN401, PLR0911 - JSON; a table of types
    if isinstance(value, type):
        raise UnstorableError(f"is the class {value.__name__}")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, _AS_TEXT):
        return os.fsdecode(value) if isinstance(value, os.PathLike) else str(value)
    if _is_model(value):
        return _convert(_dump_model(value))
    fields: Any = getattr(value, "__attrs_attrs__", None)
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
    if fields is not None:
        return _convert_object((field.name, getattr(value, field.name)) for field in fields)
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    if type(value).__module__.startswith("PIL.") and hasattr(value, "save"):
        return _convert_image(value)
    return _convert_data(value)


def _convert_image(image: Any) -> str:  # noqa: ANN401 - of Pillow
    """Convert an image of Pillow to a PNG with its frames and its orientation."""
    file = io.BytesIO()
    is_animated = getattr(image, "is_animated", False)
    try:
        image.save(file, "PNG", save_all=is_animated, exif=image.getexif())
    except OSError as error:
        raise UnstorableError(f"is an image that cannot be a PNG: convert it ({error})") from error
    return _data_uri(file.getvalue(), "image/png")


def dump_messages(value: Any) -> Any:  # noqa: ANN401 - of any SDK
    """Dump the models of an SDK in messages, without members that are None.

    In these, None is a member that the provider did not send, and may refuse. Members of a mapping
    stay.
    """
    try:
        return _dump_messages(value)
    except RecursionError:
        raise UnstorableError(_TOO_DEEP) from None


def _dump_messages(value: Any) -> Any:  # noqa: ANN401 - of any SDK
    if _is_model(value):
        return _dump_model(value, exclude_none=True)
    if type(value) is dict:
        return {name: _dump_messages(member) for name, member in value.items()}
    return [*map(_dump_messages, value)] if type(value) in {list, tuple} else value


def dump_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Dump the models of an SDK in the messages of an entry of a turn; see `dump_messages`."""
    dumped = {**entry}
    if "message" in dumped:
        dumped["message"] = dump_messages(dumped["message"])
    if isinstance(result := dumped.get("toolResult"), Mapping) and "callMessage" in result:
        dumped["toolResult"] = {**result, "callMessage": dump_messages(result["callMessage"])}
    return dumped


def _is_model(value: object) -> bool:
    return callable(getattr(value, "model_dump", None)) and not isinstance(value, type)


def _dump_model(model: Any, *, exclude_none: bool = False) -> Any:  # noqa: ANN401 - JSON
    """Return the members of a model of pydantic."""
    members = model.model_dump(by_alias=True, exclude_none=exclude_none)
    try:
        # In JSON, pydantic writes None for NaN, and refuses binary data and arrays.
        json.dumps(members, allow_nan=False, skipkeys=True, default=lambda _: None)
        return model.model_dump(mode="json", by_alias=True, exclude_none=exclude_none)
    except ValueError:
        return members


def _convert_data(value: Any) -> Any:  # noqa: ANN401 - JSON; a table of types
    """Convert arrays, data frames, iterators, and numbers that are not built in."""
    if convert := _method(value, "to_frame"):
        # A series: its index and its name stay.
        value = convert()
    if write := _method(value, "to_csv", "write_csv"):
        return _convert_table(value, write)
    if hasattr(value, "column_names") and hasattr(value, "__arrow_c_stream__"):
        return _convert_object(zip(value.column_names, value.columns, strict=True))
    if convert := _method(value, "to_pylist", "as_py"):
        return _convert(convert())
    if hasattr(value, "__array__") and callable(getattr(value, "tolist", None)):
        return _convert_array(value)
    if isinstance(value, numbers.Number):
        return str(value)
    value = read_iterator(value)
    if isinstance(value, ReadIterator | ReadAsyncIterator):
        if not value.is_whole:
            raise UnstorableError("is an iterator of more than 64 MiB: use a part of it")
        return _convert_list(value.items)
    raise UnstorableError(
        f"has the type {type(value).__name__}, which cannot be stored whole: use values of JSON, "
        "bytes, a dataclass, a model of pydantic, or a text instead"
    )


def _method(value: object, *names: str) -> Callable[[], Any] | None:
    """Return the first method that a value has, of several names."""
    found = (getattr(value, name, None) for name in names)
    return next((method for method in found if callable(method)), None)


def _convert_array(values: Any) -> Any:  # noqa: ANN401 - JSON
    """Convert an array or a scalar of numpy, torch or the like to its values."""
    if names := getattr(values.dtype, "names", None):
        return _convert_object((name, values[name]) for name in names)
    if getattr(values.dtype, "kind", "") in {"m", "M"}:
        # `tolist` makes integers of times in nanoseconds.
        values = values.astype(str)
    listed = values.tolist()
    return str(listed) if type(listed) is type(values) else _convert(listed)


def _convert_table(table: Any, write: Callable[[], str]) -> Any:  # noqa: ANN401 - JSON
    """Convert a data frame of pandas or Polars to CSV."""
    if callable(getattr(table, "items", None)):
        _check_cells(table)
    try:
        text = write()
        data = base64.b64encode(text.encode()).decode()
    except Exception as error:
        raise UnstorableError(f"{_NOT_CSV} ({error})") from error
    if len(text) <= MAX_TABLE_TEXT_CHARS:
        return text
    return {
        "rows": len(table),
        "preview": text[:PREVIEW_CHARS].rpartition("\n")[0] or text[:PREVIEW_CHARS],
        "table": {"data": data, "mimeType": "text/csv", "filename": "table.csv"},
    }


def _check_cells(table: Any) -> None:  # noqa: ANN401 - a data frame of pandas
    """Raise an error for a cell whose `str` would be written, which leaves out parts of arrays."""
    for name, column in table.items():
        if column.dtype != object:
            continue
        for row, cell in enumerate(column):
            if not isinstance(cell, _CELLS):
                place = f"the column {name!r} has a {type(cell).__name__} in row {row}"
                raise UnstorableError(f"{_NOT_CSV} ({place})")


def _data_uri(data: bytes, mime_type: str) -> str:
    return f"data:{mime_type};base64,{base64.b64encode(data).decode()}"
