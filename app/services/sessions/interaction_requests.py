"""Parses the bodies of the interaction routes, and finds the resources that they attach.

An attachment names a resource of the same project by its URI, its bare id or an alias.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.errors import MissingAttachmentError
from app.models.interaction import (
    AttachedFile,
    ChatMessage,
    ContentPart,
    Interaction,
    MultiModalInput,
)
from app.models.limits import Limits
from app.models.resource_descriptor import is_alias
from app.models.stored_interaction import (
    AttachedResource,
    Bindings,
    InputKind,
    StoredInteraction,
    attachment_key,
    bound_resource_id,
)
from app.services.requests.request_identity import RequestIdentity, identity_of_body
from app.services.requests.validation import read_object, validate_model
from app.stores.records.aliases import AliasRecords
from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import Fault, InvalidPayloadError, PayloadTooLargeError
from pagefault_dialects.json.pointers import json_pointer
from pagefault_dialects.json.values import JsonValue, json_text, parse_stored_json
from pagefault_dialects.messages.message_references import find_references
from pagefault_dialects.model.base import thaw_json
from pagefault_dialects.model.resource import parse_resource_id

_NOT_AN_INTERACTION = "The body is not an interaction; `errors` says where."
_MAX_FAULTS = 100
_EXAMPLE: JsonDict = {
    "input": {
        "parts": [
            {
                "text": "Please summarize this document.",
                "attachments": [
                    {
                        "id": "blob:0c8e6cc1ab1f4d34b4a5a0e21f7d6c15",
                        "mime_type": "application/pdf",
                    }
                ],
            }
        ]
    },
    "input_kind": "multimodal",
}


class InteractionDraft(Interaction):
    """An interaction as a client writes it.

    With `input_kind` an input of another kind is refused; without it, an input that is not exactly
    a `MultiModalInput` is kept as the object it is. An attachment with further members is an error.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    asserted_kind: Annotated[InputKind | None, Field(alias="input_kind")] = None


@dataclass(frozen=True, slots=True)
class ParsedInteraction:
    """The interaction of a request."""

    interaction: Interaction
    input: bytes
    """The input as the JSON that is stored."""
    output: bytes | None
    """The output as the JSON that is stored, if the request has one."""
    references: set[str]
    """The ids of the resources to which its texts refer."""
    identity: RequestIdentity
    """The identity of the session and the body."""


def read_interaction(body: bytes, *, session_id: str, limits: Limits) -> ParsedInteraction:
    """Parse and check an interaction.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid, or too
            large.
    """
    _check_length(body, limits)
    value = read_object(body, limits, keeps_spelling=True)
    kind = value.get("input_kind")
    if kind == "multimodal" and isinstance(value.get("input"), Mapping):
        # The input is validated as the kind that is declared. Otherwise an input with a misspelt
        # member would be taken for another kind, without an error.
        try:
            validate_model(MultiModalInput, value["input"], _NOT_AN_INTERACTION)
        except InvalidPayloadError as exc:
            faults = [Fault(f"/input{fault.pointer}", fault.detail) for fault in exc.faults]
            raise InvalidPayloadError(exc.detail, faults=faults) from exc
    elif kind is None and (
        faults := [*islice(_find_unknown_members(value.get("input")), _MAX_FAULTS)]
    ):
        raise InvalidPayloadError(_NOT_AN_INTERACTION, faults=faults)
    draft = validate_model(InteractionDraft, value, _NOT_AN_INTERACTION)
    if draft.asserted_kind not in (None, draft.input_kind):
        raise InvalidPayloadError(
            "The input is of another kind than `input_kind` says.",
            faults=[Fault("/input", f"is {draft.input_kind}, and not {draft.asserted_kind}")],
        )
    multimodal = draft.input if isinstance(draft.input, MultiModalInput) else None
    if multimodal is not None and len(multimodal.attached_ids()) > limits.media_per_result:
        raise PayloadTooLargeError(
            f"An interaction may have {limits.media_per_result} attachments. Nothing was stored."
        )
    references = find_references([value["input"], value.get("output")])
    identity = identity_of_body(value, body, prefix=session_id.encode() + b"\0")
    output = None if draft.output is None else json_text(draft.output.dump()).encode()
    input_json = json_text(dump_input(draft)).encode()
    return ParsedInteraction(draft, input_json, output, references, identity)


def _find_unknown_members(value: JsonValue) -> Iterator[Fault]:
    """Yield a fault for each unknown member of an attachment.

    Without these faults, the whole input would be stored as a legacy object, and its attachments
    would be ignored.
    """
    parts = value["parts"] if isinstance(value, dict) and value.keys() == {"parts"} else None
    for part_index, part in enumerate(parts if isinstance(parts, list) else ()):
        is_part = isinstance(part, dict) and part.keys() <= ContentPart.model_fields.keys()
        attachments = part.get("attachments") if isinstance(part, dict) and is_part else None
        for index, attached in enumerate(attachments if isinstance(attachments, list) else ()):
            if isinstance(attached, dict) and isinstance(attached.get("id"), str):
                for name in sorted(attached.keys() - AttachedFile.model_fields.keys()):
                    names = ("input", "parts", part_index, "attachments", index, name)
                    pointer = json_pointer(names)
                    yield Fault(pointer, "is no member of an attachment: it has id and mime_type")


def dump_input(interaction: Interaction) -> JsonValue:
    """Return the input of an interaction as the JSON value that is stored."""
    if isinstance(interaction.input, MultiModalInput):
        return interaction.input.dump()
    return thaw_json(interaction.input)


def read_output(body: bytes, *, limits: Limits) -> ChatMessage:
    """Parse and check the answer of an interaction.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid.
    """
    _check_length(body, limits)
    value = read_object(body, limits)
    return validate_model(
        ChatMessage, value, "The body is not a chat message; `errors` says where."
    )


def resolve_attachments(
    unit: UnitOfWork, interaction_input: object, *, accepts_unknown: bool
) -> tuple[AttachedResource, ...]:
    """Return the attachments of an input, each id once, in order of first use.

    Args:
        unit: The transaction that writes the interaction.
        interaction_input: The input of the interaction.
        accepts_unknown: True to accept ids of unknown resources.

    Raises:
        MissingAttachmentError: Resources do not exist. The error lists all of them.
    """
    if not isinstance(interaction_input, MultiModalInput):
        return ()
    attached = interaction_input.attached_ids()
    resource_ids = {resource_id for _, item in attached if (resource_id := parse_resource_id(item))}
    aliases = {item for _, item in attached if is_alias(item)}
    # The keys are those of `attachment_key`.
    found = {**unit[ResourceRecords].find_all(resource_ids), **unit[AliasRecords].find_all(aliases)}
    missing = [
        Fault(f"/input{pointer}", "is no resource and no alias of this project")
        for pointer, item in attached
        if attachment_key(item) not in found
    ]
    if missing and not accepts_unknown:
        raise MissingAttachmentError(
            f"{len(missing)} of the attached files are no resources of this project, by id or by "
            "alias. Upload them with POST /api/resources, and attach what it answers; or let an "
            "alias name them (`?alias=` on upload, PUT /api/aliases/{alias}); or take ids that "
            "nobody knows with `?attachments=any`. Nothing was stored.",
            faults=missing,
        )
    resolved = []
    for key, value in _distinct_ids(item for _, item in attached).items():
        resource = found.get(key)
        resource_id = resource.resource_id if resource else None
        resolved.append(AttachedResource(value, resource_id, resource))
    return tuple(resolved)


def make_bindings(attachments: Iterable[AttachedResource]) -> Bindings:
    """Return the resource ids of those attachments that a client has named by an alias or else.

    The keys are those of `attachment_key`.
    """
    return {
        attachment_key(attachment.attached_id): attachment.resource_id
        for attachment in attachments
        if attachment.resource_id != parse_resource_id(attachment.attached_id)
    }


def find_attachments(
    unit: UnitOfWork, stored: Sequence[StoredInteraction]
) -> list[tuple[AttachedResource, ...]]:
    """Return the attachments of each interaction, found with one query."""
    bound_ids = [
        {
            attached_id: bound_resource_id(attached_id, interaction.bindings)
            for attached_id in _find_attached_ids(interaction)
        }
        for interaction in stored
    ]
    resource_ids = {item for ids in bound_ids for item in ids.values() if item}
    resources = unit[ResourceRecords].find_all(resource_ids)
    return [
        tuple(
            AttachedResource(attached_id, resource_id, resources.get(resource_id or ""))
            for attached_id, resource_id in ids.items()
        )
        for ids in bound_ids
    ]


def _find_attached_ids(stored: StoredInteraction) -> Collection[str]:
    if stored.input_kind != "multimodal":
        return ()
    multimodal = MultiModalInput.model_validate(parse_stored_json(stored.input))
    return _distinct_ids(attached_id for _, attached_id in multimodal.attached_ids()).values()


def _distinct_ids(attached_ids: Iterable[str]) -> dict[str, str]:
    """Return the first spelling of each id, by `attachment_key`, in order of first use."""
    spellings: dict[str, str] = {}
    for attached_id in attached_ids:
        spellings.setdefault(attachment_key(attached_id), attached_id)
    return spellings


def _check_length(body: bytes, limits: Limits) -> None:
    if len(body) > limits.message_bytes:
        raise PayloadTooLargeError(
            f"An interaction may have {limits.message_bytes} bytes. Store what is longer as a "
            "resource, and attach it. Nothing was stored."
        )
