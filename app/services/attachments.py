"""What is attached to interactions: resources of the same project, by URI or bare id."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import Fault, MissingAttachmentError
from app.models.interaction import MultiModalInput, StoredInteraction
from app.models.json_value import parse_stored_json
from app.models.resource import Resource, parse_resource_id
from app.stores.records import UnitOfWork


@dataclass(frozen=True, slots=True)
class AttachedResource:
    """An attachment, by the id the client gave it, and the resource it is."""

    attached_id: str
    resource: Resource | None


async def resolve_attachments(unit: UnitOfWork, given: object) -> tuple[AttachedResource, ...]:
    """What is attached to an input, each file once, in order of first use.

    Raises:
        MissingAttachmentError: Not all of it is there; all that is missing is named.
    """
    if not isinstance(given, MultiModalInput):
        return ()
    attached = [(pointer, each, parse_resource_id(each)) for pointer, each in given.attached_ids()]
    found = await unit.resources.find_all(
        {resource_id for _, _, resource_id in attached if resource_id}
    )
    missing = [
        Fault(f"/input{pointer}", "is no resource of this project; upload the file first")
        for pointer, _, resource_id in attached
        if resource_id not in found
    ]
    if missing:
        raise MissingAttachmentError(
            f"{len(missing)} of the attached files are no resources of this project. Upload them "
            "with POST /api/resources, and attach what it answers. Nothing was stored.",
            faults=missing,
        )
    return tuple(
        AttachedResource(each, found[resource_id])
        for resource_id, each in _once([each for _, each, _ in attached]).items()
    )


async def attachments_of(
    unit: UnitOfWork, stored: Sequence[StoredInteraction]
) -> list[tuple[AttachedResource, ...]]:
    """What is attached to each of these interactions, looked up together."""
    attached = [_attached_ids(each) for each in stored]
    wanted = {resource_id for ids in attached for resource_id in ids}
    resources = await unit.resources.find_all(wanted)
    return [
        tuple(
            AttachedResource(attached_id, resources.get(resource_id))
            for resource_id, attached_id in ids.items()
        )
        for ids in attached
    ]


def _attached_ids(stored: StoredInteraction) -> dict[str, str]:
    if stored.input_kind != "multimodal":
        return {}
    rich = MultiModalInput.model_validate(parse_stored_json(stored.input))
    return _once([each for _, each in rich.attached_ids()])


def _once(attached_ids: Sequence[str]) -> dict[str, str]:
    """The ids of resources with the first spelling of each, in order of first use."""
    spellings: dict[str, str] = {}
    for attached_id in attached_ids:
        spellings.setdefault(parse_resource_id(attached_id) or "", attached_id)
    return spellings


def recorded_attachments(
    attachments: Sequence[AttachedResource],
) -> list[tuple[str, Resource | None]]:
    """What is attached, as the record of an interaction takes it."""
    return [(each.attached_id, each.resource) for each in attachments]
