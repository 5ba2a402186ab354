"""What is said about a page: in a field or, where that is empty, in `metadata`.

Other runtimes keep scenes and the name of a schema there, since their pages have no such fields.
"""

from collections.abc import Callable
from typing import TypeVar

from app.models.json_value import JsonValue
from app.models.page import PageFields, is_finite_number

_Said = TypeVar("_Said")

_LONGEST_NAME_CHARS = 512
_SHORTEST_MEDIUM_CHARS = 1_024

Scenes = tuple[str | dict[str, JsonValue], ...]


def scenes_of(fields: PageFields) -> Scenes | None:
    """The scenes of a video."""
    return _said(fields, "scenes", fields.scenes, _scenes)


def schema_name_of(fields: PageFields) -> str | None:
    """The name of the schema that data follow."""
    return _said(fields, "schema_name", fields.schema_name, _name)


def timestamps_of(fields: PageFields) -> tuple[JsonValue, ...] | None:
    """When what is said in a recording."""
    return _said(fields, "timestamps", fields.timestamps, _list)


def embedding_of(fields: PageFields) -> tuple[JsonValue, ...] | None:
    """A vector of finite numbers, each as it was written."""
    return _said(fields, "embedding", fields.embedding, _vector)


def _said(
    fields: PageFields, name: str, said: _Said | None, read: Callable[[JsonValue], _Said | None]
) -> _Said | None:
    """What a field says; if it is empty, what `metadata` has under its name, if that is one."""
    if said:
        return said
    found = read(fields.metadata.get(name))
    return said if found is None else found


def _scenes(value: JsonValue) -> Scenes | None:
    if not isinstance(value, list) or not all(isinstance(scene, str | dict) for scene in value):
        return None
    return tuple(scene if isinstance(scene, str) else _without_media(scene) for scene in value)


def _without_media(scene: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The scene without its pictures: nobody has judged what is in `metadata`."""
    return {name: member for name, member in scene.items() if not _is_medium(member)}


def _is_medium(member: JsonValue) -> bool:
    is_long = isinstance(member, str) and len(member) >= _SHORTEST_MEDIUM_CHARS
    return is_long and member[:5].lower() == "data:"


def _name(value: JsonValue) -> str | None:
    is_name = isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME_CHARS
    return value if is_name else None


def _list(value: JsonValue) -> tuple[JsonValue, ...] | None:
    return tuple(value) if isinstance(value, list) else None


def _vector(value: JsonValue) -> tuple[JsonValue, ...] | None:
    numbers = _list(value)
    return numbers if numbers is not None and all(map(is_finite_number, numbers)) else None
