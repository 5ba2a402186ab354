"""Read the bodies of the interaction routes: JSON in, checked interactions out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.errors import Fault, InvalidPayloadError, PayloadTooLargeError
from app.models.frozen_json import thawed
from app.models.interaction import ChatMessage, InputKind, Interaction, MultiModalInput
from app.models.json_value import JsonValue
from app.models.limits import Limits
from app.services.inline_media.message_media import references_in
from app.services.requests.identity import RequestIdentity, identity_of_body
from app.services.requests.validation import read_object, validated

_NOT_ONE = "The body is not an interaction; `errors` says where."
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
    a `MultiModalInput` is kept as the object it is.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    asserted_kind: Annotated[InputKind | None, Field(alias="input_kind")] = None


@dataclass(frozen=True, slots=True)
class ReadInteraction:
    """An interaction that was sent, what its words refer to, and what tells it from others.

    `identity` covers the session and the body.
    """

    interaction: Interaction
    references: set[str]
    identity: RequestIdentity


def read_interaction(body: bytes, *, session_id: str, limits: Limits) -> ReadInteraction:
    """Return an interaction to be created.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is none.
    """
    _check_length(body, limits)
    value = read_object(body, limits, spelled=True)
    kind = value.get("input_kind")
    if kind == "multimodal" and isinstance(value.get("input"), Mapping):
        # Read as what it is said to be, the faults point to what is misspelt in it.
        try:
            validated(MultiModalInput, value["input"], _NOT_ONE)
        except InvalidPayloadError as exc:
            faults = [Fault(f"/input{fault.pointer}", fault.detail) for fault in exc.faults]
            raise InvalidPayloadError(exc.detail, faults=faults) from exc
    draft = validated(InteractionDraft, value, _NOT_ONE)
    if draft.asserted_kind not in (None, draft.input_kind):
        raise InvalidPayloadError(
            "The input is of another kind than `input_kind` says.",
            faults=[Fault("/input", f"is {draft.input_kind}, and not {draft.asserted_kind}")],
        )
    rich = draft.input if isinstance(draft.input, MultiModalInput) else None
    if rich is not None and len(rich.attached_ids()) > limits.media_per_result:
        raise PayloadTooLargeError(
            f"An interaction may have {limits.media_per_result} attachments. Nothing was stored."
        )
    references = references_in([value["input"], value.get("output")])
    identity = identity_of_body(value, body, prefix=session_id.encode() + b"\0")
    return ReadInteraction(draft, references, identity)


def plain_input(interaction: Interaction) -> JsonValue:
    """Return the input of an interaction as the JSON value that is stored."""
    given = interaction.input
    return given.dump() if isinstance(given, MultiModalInput) else thawed(given)


def read_output(body: bytes, *, limits: Limits) -> ChatMessage:
    """Return the answer of an interaction.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is none.
    """
    _check_length(body, limits)
    value = read_object(body, limits)
    return validated(ChatMessage, value, "The body is not a chat message; `errors` says where.")


def _check_length(body: bytes, limits: Limits) -> None:
    if len(body) > limits.message_bytes:
        raise PayloadTooLargeError(
            f"An interaction may have {limits.message_bytes} bytes. Store what is longer as a "
            "resource, and attach it. Nothing was stored."
        )
