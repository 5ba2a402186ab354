"""Looks at the media of a conversation before anything is decided: their pixels, their damage.

Only media that could be attached are looked at, the newest first: where a target takes so many of a
kind, those before the newest sound ones step down anyway.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import anyio.to_thread

from app.errors import StoreUnavailableError
from app.models.conversation import ComposedTurn, InlineBytes, Item, Medium
from app.models.media import InMemoryMedia
from app.models.rendering import RenderOptions
from app.models.resource import Damage
from app.rendering.targets.fitting import Fitting, MediumRef, places_of
from app.rendering.targets.profile import MediaClass, Profile
from app.services.persistence.media_checks import MediaChecks
from app.services.persistence.probing import probe_media
from app.services.renders.media_loader import together

_CLASSES: tuple[MediaClass, ...] = ("image", "audio", "video", "document")


async def measured(turns: Sequence[ComposedTurn]) -> Sequence[ComposedTurn]:
    """The turns, with the hints of the media that are in the records themselves."""
    if not any(_is_inline(item) for turn in turns for item in turn.items):
        return turns
    return await anyio.to_thread.run_sync(lambda: [_measured(turn) for turn in turns])


async def judged(
    checks: MediaChecks,
    project_id: str,
    turns: Sequence[ComposedTurn],
    profile: Profile,
    options: RenderOptions,
) -> Sequence[ComposedTurn]:
    """The turns, with the damage of the media that could be attached.

    Raises:
        StoreUnavailableError: The store did not answer, or has lost the bytes. Where only
            references are sent, such a medium is not judged instead.
    """
    places = places_of(turns)
    fitting = Fitting(profile, options, places)
    found: dict[int, Damage] = {}

    async def look(place: MediumRef) -> None:
        try:
            damage = await checks.of_medium(project_id, place.medium)
        except StoreUnavailableError:
            if options.media != "reference":
                raise
            return
        if damage is not None:
            found[place.index] = damage

    for kind in _CLASSES:
        waiting = [each for each in places if each.media_class == kind and fitting.is_wanted(each)]
        most = fitting.most(kind)
        wanted = len(waiting) if most is None else most
        while waiting and wanted > 0:
            newest = waiting[-wanted:]
            del waiting[-wanted:]
            await together([partial(look, place) for place in newest])
            # A damaged one makes room for an older one, and so may one that is too large.
            wanted -= sum(
                each.index not in found and fitting.obstacle(each) is None for each in newest
            )
    return _with_damage(turns, found) if found else turns


def _with_damage(
    turns: Sequence[ComposedTurn], found: Mapping[int, Damage]
) -> Sequence[ComposedTurn]:
    following = iter(range(sum(len(turn.items) for turn in turns)))
    told: list[ComposedTurn] = []
    for turn in turns:
        items: list[Item] = []
        for item in turn.items:
            damage = found.get(next(following)) if isinstance(item, Medium) else None
            if isinstance(item, Medium) and damage is not None:
                has_pixels = item.hints.width is not None
                hints = item.hints if has_pixels else damage.hints
                items.append(replace(item, damage=damage, hints=hints))
            else:
                items.append(item)
        changed: ComposedTurn = replace(turn, items=tuple(items))
        told.append(changed)
    return told


def _is_inline(item: object) -> bool:
    return isinstance(item, Medium) and isinstance(item.source, InlineBytes)


def _measured(turn: ComposedTurn) -> ComposedTurn:
    items: list[Item] = []
    for item in turn.items:
        if isinstance(item, Medium) and isinstance(item.source, InlineBytes):
            data = item.source.data
            hints = probe_media(data, InMemoryMedia(data), item.mime_type)
            items.append(replace(item, hints=hints))
        else:
            items.append(item)
    changed: ComposedTurn = replace(turn, items=tuple(items))
    return changed
