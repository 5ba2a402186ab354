"""Reads interactions as turns: the input of a user with its attachments, and the output of a model.

Source: spec 001.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from app.models.stored_interaction import (
    Bindings,
    StoredAnswer,
    StoredInteraction,
    bound_resource_id,
)
from pagefault_dialects.json.values import JsonValue, parse_stored_json
from pagefault_dialects.media.types import (
    OCTET_STREAM,
    canonical_mime_type,
    mime_type_for_filename,
)
from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    Item,
    Medium,
    Omission,
    TextItem,
    Turn,
    TurnRole,
    stored_medium,
)
from pagefault_dialects.model.resource import LINK_TYPE, Resource, resource_kind

_NO_LINKS: Mapping[str, str] = MappingProxyType({})

ReadItems: TypeAlias = Callable[[JsonValue, str], Iterable[Item]]
"""Returns the items of a turn in a JSON value. The arguments are the value and its JSON pointer."""


def read_interaction_turns(
    entry: StoredInteraction,
    resources: Mapping[str, Resource],
    *,
    origin: str,
    read: ReadItems,
    links: Mapping[str, str] = _NO_LINKS,
) -> list[ComposedTurn]:
    """Return the turn of the user, and the turn of the output if it was sent with the input.

    Args:
        entry: The interaction.
        resources: The attached resources by id. A line of text replaces a missing resource.
        origin: The path of the entry.
        read: Reads the items in texts, and in JSON objects of older clients.
        links: The URLs in attached link files, by resource id.
    """
    user_input = parse_stored_json(entry.input)
    question: ComposedTurn = Turn(
        role="user",
        items=tuple(_read_input(user_input, entry, _Attachments(resources, links), read)),
        origin=origin,
        seq=entry.seq,
    )
    if entry.first_output is None:
        return [question]
    output = _read_output(entry.first_output, "/interaction/output", read)
    return [question, replace(output, origin=origin, seq=entry.seq)]


def read_answer_turn(entry: StoredAnswer, *, origin: str, read: ReadItems) -> ComposedTurn:
    """Return the turn of an output that was sent after its input; see `read_interaction_turns`."""
    return replace(_read_output(entry.output, "/output", read), origin=origin, seq=entry.seq)


def find_attached_ids(entry: StoredInteraction) -> set[str]:
    """Return the ids of the resources that are attached to an interaction."""
    if entry.input_kind != "multimodal":
        return set()
    resource_ids = (
        bound_resource_id(attachment["id"], entry.bindings)
        for part in parse_stored_json(entry.input)["parts"]
        for attachment in part.get("attachments", ())
    )
    return {resource_id for resource_id in resource_ids if resource_id}


def _read_output(output: bytes, pointer: str, read: ReadItems) -> ComposedTurn:
    """Return the turn of an output, without its origin and `seq`.

    Args:
        output: The output, a message as JSON.
        pointer: The JSON pointer to the output in its entry.
        read: Reads the items of the content.
    """
    message = parse_stored_json(output)
    role = cast("TurnRole", message["role"])
    items = list(read(message["content"], f"{pointer}/content"))
    if role != "tool" and message.get("name"):
        reason = "Hardly any dialect has a place for the name of who speaks."
        items.append(Omission(f"{pointer}/name", "name", "no-place", reason))
    return Turn(
        role=role,
        items=tuple(items),
        call_id=message.get("tool_call_id") or "",
        tool_name=message.get("name") or "",
    )


def _read_input(
    user_input: Any,  # noqa: ANN401 - parsed JSON
    entry: StoredInteraction,
    attachments: "_Attachments",
    read: ReadItems,
) -> Iterator[Item]:
    """Yield the items of an input: its texts, each followed by its attachments."""
    if entry.input_kind != "multimodal":
        yield from read(user_input, "/interaction/input")
        return
    for index, part in enumerate(user_input["parts"]):
        pointer = f"/interaction/input/parts/{index}"
        if part.get("text") is not None:
            yield from read(part["text"], f"{pointer}/text")
        yield from _read_attachments(part, pointer, entry.bindings, attachments)


@dataclass(frozen=True, slots=True)
class _Attachments:
    """The stored files that the parts of an interaction refer to."""

    resources: Mapping[str, Resource]
    """The resources by id."""
    links: Mapping[str, str]
    """The URLs in resources that are link files, by the id of the resource."""


def _build_linked_medium(
    pointer: str, url: str, name: str | None, declared_type: str | None
) -> Medium:
    """Return the medium at a URL, with its declared type or the type of its file extension."""
    mime_type = canonical_mime_type(declared_type or "") or OCTET_STREAM
    if mime_type == OCTET_STREAM:
        mime_type = mime_type_for_filename(name or "") or OCTET_STREAM
    return Medium(pointer, Address(url), resource_kind(mime_type), mime_type, name, None)


def _read_attachments(
    part: dict[str, Any], pointer: str, bindings: Bindings, attachments: _Attachments
) -> Iterator[Item]:
    """Yield the media of the attachments of a part. A text replaces a file that is not stored."""
    resources = attachments.resources
    for index, attachment in enumerate(part.get("attachments", ())):
        attachment_pointer = f"{pointer}/attachments/{index}"
        resource_id = bound_resource_id(attachment["id"], bindings)
        if resource_id is None:
            yield TextItem(
                attachment_pointer,
                f"[File: {attachment['id']}, which is not stored here]",
            )
            reason = "Nobody knew the id of this file when the interaction was written."
            yield Omission(attachment_pointer, "attachment", "not-stored", reason)
        elif resource_id not in resources:
            yield TextItem(
                attachment_pointer, f"[File: {attachment['id']}, which is no longer there]"
            )
        elif resource_id in attachments.links and attachment.get("mime_type") != LINK_TYPE:
            # The attachment declares the type of the file at the URL, not that of the link file.
            name, url = resources[resource_id].filename, attachments.links[resource_id]
            yield _build_linked_medium(attachment_pointer, url, name, attachment.get("mime_type"))
        else:
            yield stored_medium(resources[resource_id], attachment_pointer)
