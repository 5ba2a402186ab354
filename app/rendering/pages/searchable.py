"""The words of a page as they are read: what is indexed, and what passages are taken from.

JSON text would not do: its escapes stick to the words beside them.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from app.models.json_value import JsonValue, json_text
from app.models.page import Body, BodyKind, PageFields
from app.rendering.pages.descriptors import scenes_of
from app.rendering.pages.words import structured_data


def readable_texts(value: JsonValue) -> Iterator[str]:
    """The keys, strings and numbers of a JSON value, in order and at any depth.

    A string that is the JSON text of an object, an array or a string is read as that; any other
    string is itself.
    """
    parsed = structured_data(Body("json", value))
    is_plain = isinstance(value, str) and not isinstance(parsed, dict | list | str)
    parts: list[Iterator[JsonValue]] = [iter([value if is_plain else parsed])]
    while parts:
        for part in parts[-1]:
            if isinstance(part, str):
                yield part
            elif isinstance(part, int | float | Decimal) and not isinstance(part, bool):
                yield json_text(part)
            elif isinstance(part, dict | list):
                parts.append(_parts(part))
                break
        else:
            parts.pop()


def page_texts(
    fields: PageFields, content_kind: BodyKind, content: JsonValue
) -> tuple[list[str], list[str]]:
    """The texts of a page that a search looks in, in the order a passage is taken from them.

    Args:
        fields: What the client says of the page.
        content_kind: What the content is; only "text" and "json" are words.
        content: The text, or the JSON value.

    Returns:
        The texts that weigh more, hint and caption; then transcript, scenes and content.
    """
    texts = [fields.transcript, *_scene_texts(fields)]
    if content_kind == "text":
        texts.append(content)
    elif content_kind == "json":
        # One text: a key and its value are found together, and shown together.
        texts.append("\n".join(readable_texts(content)))
    return _filled([fields.hint, fields.caption]), _filled(texts)


def _parts(value: dict[str, JsonValue] | list[JsonValue]) -> Iterator[JsonValue]:
    if isinstance(value, list):
        return iter(value)
    return (part for member in value.items() for part in member)


def _scene_texts(fields: PageFields) -> Iterator[str]:
    for scene in scenes_of(fields) or ():
        if isinstance(scene, str):
            yield scene
        else:
            yield from readable_texts(scene)


def _filled(texts: Iterable[str | None]) -> list[str]:
    return [text for text in texts if text]
