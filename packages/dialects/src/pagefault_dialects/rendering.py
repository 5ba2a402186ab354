"""Conversations rendered for a target, in memory.

Media in messages are examined (pixels, seconds, damage); expired links are not sent. No smaller
images are made: a medium that is too large is replaced by a line of text and an entry of the loss
account.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pagefault_dialects.context.eviction import history_of
from pagefault_dialects.context.token_budget import next_frontier
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.expired_links import damage_of_link
from pagefault_dialects.media.headers import hints_of
from pagefault_dialects.media.soundness import damage_of
from pagefault_dialects.model.conversation import Address, ComposedTurn, InlineBytes, Item, Medium
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.render_options import RenderOptions, base64_length
from pagefault_dialects.rendered_documents import document_of, mark
from pagefault_dialects.targets.base64_leaves import json_pieces
from pagefault_dialects.targets.fitting import LoadedMedia, places_of, plan_media
from pagefault_dialects.targets.ladder import Ladder, ResolvedTurns
from pagefault_dialects.targets.opening_turns import with_lines
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.table import find_profile
from pagefault_dialects.targets.tokens import request_text_bytes
from pagefault_dialects.texts.file_texts import FileText, read_file_text
from pagefault_dialects.turns.handles import with_handles
from pagefault_dialects.turns.text_limits import with_texts_within

_DEFAULTS = RenderOptions()
# The limit of base64 in one rendering, unless the target or the caller sets one.
_MAX_BYTES = 1 << 40


@dataclass(frozen=True, slots=True)
class RenderedMessages:
    """A conversation as the messages of a target."""

    target: str
    messages: list[JsonValue]
    """Ready for the request of the provider."""
    system: str
    """The system's words, where the target has them apart from the messages."""
    loss: tuple[LossEntry, ...]
    """The omissions, changes and additions, in reading order."""
    tokens: int | None
    """About how many tokens it takes; `None` with `count_tokens=False`."""
    open_calls: tuple[str, ...] = ()
    """The ids of calls in its last turn that nothing has answered yet."""


def render(
    turns: Sequence[ComposedTurn], target: str, options: RenderOptions = _DEFAULTS
) -> RenderedMessages:
    """Return a conversation as the messages of a target.

    Args:
        turns: A whole conversation, as `read_messages` returns it.
        target: A name of `TARGETS`.
        options: How it is rendered.

    Raises:
        InvalidPayloadError: There is no such target, the options need a service that stores media,
            or the parts that are always kept exceed the limits.
    """
    if options.media == "signed-url":
        raise InvalidPayloadError("Only a service signs URLs: ask for `inline` or `reference`.")
    profile = find_profile(target, options)
    if options.max_text is not None:
        turns = with_texts_within(turns, options.max_text, {})
    resolved = _fit(turns, profile, options)
    document = document_of(resolved, profile, options)
    mark(document, profile, options)
    pieces = json_pieces(document).pieces
    text = b"".join(piece for piece in pieces if isinstance(piece, bytes))
    if not all(isinstance(piece, bytes) for piece in pieces):
        raise InvalidPayloadError("Stored media are not at hand: ask for `reference`.")
    written = json.loads(text)
    return RenderedMessages(
        target,
        written["messages"],
        written.get("system", ""),
        resolved.loss,
        written.get("tokensEst"),
        tuple(written.get("openCalls", ())),
    )


def _fit(turns: Sequence[ComposedTurn], profile: Profile, options: RenderOptions) -> ResolvedTurns:
    """Resolve turns; evict old ones until the conversation fits the limits."""
    frontier = options.frontier if isinstance(options.frontier, Frontier) else NOTHING_EVICTED
    if options.max_tokens is None and frontier == NOTHING_EVICTED:
        return _resolve(turns, profile, options)
    history = history_of(turns, profile, options)
    while True:
        resolved = _resolve(history.turns_at(frontier), profile, options)
        further = next_frontier(history, frontier, resolved)
        if further == frontier:
            return resolved
        frontier = further


def _resolve(
    turns: Sequence[ComposedTurn], profile: Profile, options: RenderOptions
) -> ResolvedTurns:
    turns = [replace(turn, items=tuple(map(_examine, turn.items))) for turn in turns]
    if options.handles:
        turns = with_handles(turns, profile.takes_structured)
    turns = with_lines(turns, profile, is_whole=True)
    limits = [base64_length(_MAX_BYTES)]
    if profile.request_bytes is not None:
        limits.append(max(0, profile.request_bytes - request_text_bytes(turns)))
    if options.max_bytes is not None:
        limits.append(options.max_bytes)
    most = min(limits)
    plan = plan_media(turns, profile, options, most_base64=most)
    media = [place.medium for place in places_of(turns)]
    texts = {
        index: text
        for index in plan.texts
        if isinstance(source := media[index].source, InlineBytes)
        and (text := _read_text(source.data, media[index], profile)) is not None
    }
    ladder = Ladder(profile, options, most_base64=most, sign=None)
    return ladder.resolve(turns, LoadedMedia(texts=texts))


def _read_text(data: bytes, medium: Medium, profile: Profile) -> FileText | None:
    return read_file_text(data, medium.declared_type, profile.text_file_chars)


def _examine(item: Item) -> Item:
    """Return a medium with its pixels, its seconds and its damage; any other item as it is."""
    if isinstance(item, Medium) and isinstance(item.source, Address):
        return replace(item, damage=damage_of_link(item.source.url, datetime.now(UTC)))
    if not isinstance(item, Medium) or not isinstance(item.source, InlineBytes):
        return item
    data = item.source.data
    hints = hints_of(data, item.mime_type)
    damage = damage_of(InMemoryMedia(data), item.mime_type)
    if damage is not None and hints.width is None:
        hints = damage.hints
    return replace(item, hints=hints, damage=damage)
