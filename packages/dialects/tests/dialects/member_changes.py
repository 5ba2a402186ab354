"""Changes of dumps: one member is removed, or is the number 7."""

from collections.abc import Callable, Iterable, Iterator

from packages.dialects.tests.dialects.readings import (
    BODIES,
    MESSAGES,
    RESULTS,
    Json,
    Readings,
    dump,
)
from pagefault_dialects.dialects.message_registry import read_message
from pagefault_dialects.dialects.registry import find_results
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.messages.conversation_reading import read_conversation

_MAX_DEPTH = 2
"""Members, and members of these, are changed; of a list, those of its first item."""

Path = tuple[str | int, ...]


def change_messages(names: Iterable[str]) -> Readings:
    """Return of messages how dialects and roles differ if a member is changed."""
    return {f"changed-messages {name}": _change(MESSAGES[name], _outline_message) for name in names}


def change_bodies(names: Iterable[str]) -> Readings:
    """Return of bodies how numbers of messages and prompts differ if a member is changed.

    Of lists of messages, only the first message is read, since it decides how all are read.
    """
    return {
        f"changed-bodies {name}": _change(_keep_first(BODIES[name]), _outline_body)
        for name in names
    }


def change_results(names: Iterable[str]) -> Readings:
    """Return of results how dialects, outcomes and calls differ if a member is changed."""
    return {f"changed-results {name}": _change(RESULTS[name], _outline_results) for name in names}


def _keep_first(body: Json) -> Json:
    if isinstance(body, list):
        return body[:1]
    return {name: item[:1] if isinstance(item, list) else item for name, item in body.items()}


def _change(value: Json, outline: Callable[[Json], str]) -> str:
    """Return the outline of a value; and other outlines, each with the changes that lead to it.

    `-role` is the value without its member `role`, and `7role` the value with a number there.
    """
    whole = outline(value)
    changes: dict[str, list[str]] = {}
    for path in _list_paths(value, _MAX_DEPTH):
        for mark, changed in (("-", _replace(value, path, None)), ("7", _replace(value, path, 7))):
            if (outlined := outline(changed)) != whole:
                changes.setdefault(outlined, []).append(mark + ".".join(map(str, path)))
    return dump([whole, {outlined: " ".join(paths) for outlined, paths in changes.items()}])


def _list_paths(value: Json, depth: int, path: Path = ()) -> Iterator[Path]:
    if isinstance(value, list):
        yield from _list_paths(value[0], depth, (*path, 0)) if value else ()
    elif isinstance(value, dict):
        for name, member in value.items():
            if member is not None:
                yield (*path, name)
                yield from _list_paths(member, depth - 1, (*path, name)) if depth > 1 else ()


def _replace(value: Json, path: Path, other: Json) -> Json:
    """Return a value with another member at a path; without the member, if that is `None`."""
    key, *rest = path
    if isinstance(value, list):
        return [_replace(value[0], (*rest,), other), *value[1:]]
    member = _replace(value[key], (*rest,), other) if rest else other
    return {
        name: item
        for name, item in {**value, key: member}.items()
        if name != key or item is not None
    }


def _outline_message(value: Json) -> str:
    return " ".join(
        "nothing"
        if message.message is None
        else f"{message.dialect_name}/{message.unknown_role or message.message['role']}"
        for message in read_message(value, "")
    )


def _outline_body(value: Json) -> str:
    try:
        read = read_conversation(value)
    except InvalidPayloadError:
        return "refused"
    counts = f"{len(read.entries)} messages, {read.skipped_count} skipped"
    return f"{read.dialect}: {counts}, {'part' if read.continues else 'whole'}, {[*read.prompt]}"


def _outline_results(value: Json) -> str:
    outcomes = {True: "failed", False: "done", None: "unknown"}
    outlines = (
        f"{result.dialect}/{outcomes[result.is_error]}{'' if result.call_id else ' of no call'}"
        for result in find_results(value)
    )
    return ", ".join(outlines) or "nothing"
