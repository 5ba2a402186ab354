"""What is attached to interactions: resources of the same project, by URI, bare id or alias."""

from collections.abc import Collection, Iterable, Sequence

from app.errors import Fault, MissingAttachmentError
from app.models.interaction import (
    AttachedResource,
    Bindings,
    MultiModalInput,
    StoredInteraction,
    attachment_key,
    bound_resource_id,
)
from app.models.json_value import parse_stored_json
from app.models.resource import Resource, is_alias, parse_resource_id
from app.stores.records import UnitOfWork


def resolve_attachments(
    unit: UnitOfWork, given: object, *, accepts_unknown: bool
) -> tuple[AttachedResource, ...]:
    """Return what is attached to an input, each id once, in order of first use.

    Args:
        unit: The transaction that writes the interaction.
        given: Its input.
        accepts_unknown: Whether ids may be attached that nobody knows.

    Raises:
        MissingAttachmentError: Not all of it is there; all that is missing is named.
    """
    if not isinstance(given, MultiModalInput):
        return ()
    attached = given.attached_ids()
    found = _find(unit, {each for _, each in attached})
    missing = [
        Fault(f"/input{pointer}", "is no resource and no alias of this project")
        for pointer, each in attached
        if attachment_key(each) not in found
    ]
    if missing and not accepts_unknown:
        raise MissingAttachmentError(
            f"{len(missing)} of the attached files are no resources of this project, by id or by "
            "alias. Upload them with POST /api/resources, and attach what it answers; or let an "
            "alias name them (`?alias=` on upload, PUT /api/aliases/{alias}); or take ids that "
            "nobody knows with `?attachments=any`. Nothing was stored.",
            faults=missing,
        )
    return tuple(
        _attached(each, found.get(key)) for key, each in _once(each for _, each in attached).items()
    )


def bindings_of(attachments: Iterable[AttachedResource]) -> Bindings:
    """Return what attachments are bound to, where their ids do not say so."""
    return {
        attachment_key(each.attached_id): each.resource_id
        for each in attachments
        if each.resource_id != parse_resource_id(each.attached_id)
    }


def attachments_of(
    unit: UnitOfWork, stored: Sequence[StoredInteraction]
) -> list[tuple[AttachedResource, ...]]:
    """Return what is attached to each of these interactions, looked up together."""
    attached = [
        [(each, bound_resource_id(each, interaction.bindings)) for each in _ids(interaction)]
        for interaction in stored
    ]
    wanted = {resource_id for ids in attached for _, resource_id in ids if resource_id}
    resources = unit.resources.find_all(wanted)
    return [
        tuple(
            AttachedResource(each, resource_id, resources.get(resource_id or ""))
            for each, resource_id in ids
        )
        for ids in attached
    ]


def _find(unit: UnitOfWork, attached_ids: Collection[str]) -> dict[str, Resource]:
    """Return the resources there are, by what the spellings of an id have in common."""
    by_id = {resource_id for each in attached_ids if (resource_id := parse_resource_id(each))}
    by_alias = {each for each in attached_ids if is_alias(each)}
    return {**unit.resources.find_all(by_id), **unit.aliases.find_all(by_alias)}


def _attached(attached_id: str, resource: Resource | None) -> AttachedResource:
    return AttachedResource(attached_id, resource.resource_id if resource else None, resource)


def _ids(stored: StoredInteraction) -> Collection[str]:
    if stored.input_kind != "multimodal":
        return ()
    rich = MultiModalInput.model_validate(parse_stored_json(stored.input))
    return _once(each for _, each in rich.attached_ids()).values()


def _once(attached_ids: Iterable[str]) -> dict[str, str]:
    """Return the first spelling of each id, in order of first use."""
    spellings: dict[str, str] = {}
    for attached_id in attached_ids:
        spellings.setdefault(attachment_key(attached_id), attached_id)
    return spellings
