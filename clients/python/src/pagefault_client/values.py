"""The conversion of Python values to JSON."""

import base64
import dataclasses
import datetime
import enum
import io
import math
import os
import uuid
from collections.abc import Mapping, Set
from decimal import Decimal
from typing import Any

_AS_TEXT = (datetime.date, datetime.time, datetime.timedelta, uuid.UUID, os.PathLike, Decimal)


def jsonable(value: object) -> Any:  # noqa: ANN401 - JSON
    """Convert a value to JSON for the service.

    Bytes become a data URI, whose media type the service detects. Pillow images become a PNG.
    pydantic models and dataclasses become objects. NaN and infinities become text, because JSON
    cannot represent them. Any other value becomes its `str`.
    """
    if isinstance(value, enum.Enum):
        return jsonable(value.value)
    if value is None or isinstance(value, bool | int | str | float):
        is_json = not isinstance(value, float) or math.isfinite(value)
        return value if is_json else str(value)
    if isinstance(value, Mapping):
        return {_key(name): jsonable(member) for name, member in value.items()}
    if isinstance(value, list | tuple | Set):
        return [jsonable(member) for member in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return _data_uri(bytes(value), "application/octet-stream")
    return _object(value)


def _object(value: object) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, _AS_TEXT):
        return str(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return jsonable(dump(mode="json", by_alias=True, exclude_none=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: jsonable(getattr(value, field.name)) for field in fields}
    if hasattr(value, "save") and type(value).__module__.startswith("PIL."):
        file = io.BytesIO()
        value.save(file, "PNG")
        return _data_uri(file.getvalue(), "image/png")
    return str(value)


def _key(name: object) -> str:
    return name if isinstance(name, str) else str(jsonable(name))


def _data_uri(data: bytes, mime_type: str) -> str:
    return f"data:{mime_type};base64,{base64.b64encode(data).decode()}"
