"""Rendering of conversations in memory: `render`, which needs no service.

Media in messages are checked for their dimensions, duration and damage. Expired links are left out.
Images are not made smaller: a medium that is too large is replaced by a line of text, with an entry
in the loss account.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pagefault_dialects.context.eviction import prepare_eviction
from pagefault_dialects.context.token_budget import next_frontier
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.expired_links import check_link_expiry
from pagefault_dialects.media.headers import read_hints
from pagefault_dialects.media.soundness import check_source_soundness
from pagefault_dialects.model.conversation import Address, ComposedTurn, InlineBytes, Item, Medium
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.render_options import RenderOptions, base64_length
from pagefault_dialects.rendered_documents import add_cache_marks, build_document
from pagefault_dialects.targets.base64_leaves import json_pieces
from pagefault_dialects.targets.fitting import LoadedMedia, list_media, plan_media
from pagefault_dialects.targets.ladder import Ladder, ResolvedTurns
from pagefault_dialects.targets.opening_turns import insert_required_lines
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.table import find_profile
from pagefault_dialects.targets.tokens import estimate_text_bytes
from pagefault_dialects.texts.file_texts import FileText, read_file_text
from pagefault_dialects.turns.handles import add_handles
from pagefault_dialects.turns.text_limits import shorten_texts

_DEFAULTS = RenderOptions()
# More bytes of media than a process can hold: the default is no limit.
_MAX_MEDIA_BYTES = 1 << 40


@dataclass(frozen=True, slots=True)
class RenderedMessages:
    """A conversation as the messages of a target, as `render` returns it."""

    target: str
    messages: list[JsonValue]
    """The messages for a request to the provider."""
    system: str
    """The system prompt, if the target has it outside of the messages; else empty."""
    loss: tuple[LossEntry, ...]
    """The omissions, changes and additions, in reading order."""
    tokens: int | None
    """The estimated number of tokens; `None` with `count_tokens=False`."""
    open_calls: tuple[str, ...] = ()
    """The ids of the calls in the last turn that have no answer yet."""


def render(
    turns: Sequence[ComposedTurn], target: str, options: RenderOptions = _DEFAULTS
) -> RenderedMessages:
    """Return a conversation as the messages of a target.

    Args:
        turns: A whole conversation, as `read_messages` returns it.
        target: The name of a target; see `TARGETS`.
        options: The limits and the form of the rendering.

    Raises:
        InvalidPayloadError: There is no such target, the options need a service that stores media,
            or the turns that are never left out exceed the limits.
    """
    if options.media == "signed-url":
        raise InvalidPayloadError("Only a service signs URLs: ask for `inline` or `reference`.")
    profile = find_profile(target, options)
    if options.max_text is not None:
        turns = shorten_texts(turns, options.max_text, {})
    resolved = _resolve_within_limits(turns, profile, options)
    document = build_document(resolved, profile, options)
    add_cache_marks(document, profile, options)
    pieces = json_pieces(document).pieces
    text = b"".join(piece for piece in pieces if isinstance(piece, bytes))
    if not all(isinstance(piece, bytes) for piece in pieces):
        raise InvalidPayloadError("Stored media cannot be read here: ask for `reference`.")
    document_json = json.loads(text)
    return RenderedMessages(
        target,
        document_json["messages"],
        document_json.get("system", ""),
        resolved.loss,
        document_json.get("tokensEst"),
        tuple(document_json.get("openCalls", ())),
    )


def _resolve_within_limits(
    turns: Sequence[ComposedTurn], profile: Profile, options: RenderOptions
) -> ResolvedTurns:
    """Resolve turns, and evict old content until the conversation fits its limits."""
    frontier = options.frontier if isinstance(options.frontier, Frontier) else NOTHING_EVICTED
    if options.max_tokens is None and frontier == NOTHING_EVICTED:
        return _resolve(turns, profile, options)
    history = prepare_eviction(turns, profile, options)
    while True:
        resolved = _resolve(history.turns_at(frontier), profile, options)
        advanced = next_frontier(history, frontier, resolved)
        if advanced == frontier:
            return resolved
        frontier = advanced


def _resolve(
    turns: Sequence[ComposedTurn], profile: Profile, options: RenderOptions
) -> ResolvedTurns:
    """Resolve turns: decide for each medium whether it is sent, or which text replaces it."""
    turns = [replace(turn, items=tuple(map(_examine, turn.items))) for turn in turns]
    if options.handles:
        turns = add_handles(turns, profile.accepts_structured)
    turns = insert_required_lines(turns, profile, is_whole=True)
    limits = [base64_length(_MAX_MEDIA_BYTES)]
    if profile.request_bytes is not None:
        limits.append(max(0, profile.request_bytes - estimate_text_bytes(turns)))
    if options.max_bytes is not None:
        limits.append(options.max_bytes)
    max_base64 = min(limits)
    plan = plan_media(turns, profile, options, max_base64=max_base64)
    media = [ref.medium for ref in list_media(turns)]
    texts: dict[int, FileText] = {}
    for index in plan.texts:
        medium = media[index]
        if isinstance(medium.source, InlineBytes):
            text = read_file_text(medium.source.data, medium.declared_type, profile.text_file_chars)
            if text is not None:
                texts[index] = text
    ladder = Ladder(profile, options, max_base64=max_base64, sign=None)
    return ladder.resolve(turns, LoadedMedia(texts=texts))


def _examine(item: Item) -> Item:
    """Return a medium with its dimensions, duration and damage; another item unchanged."""
    if not isinstance(item, Medium):
        return item
    if isinstance(item.source, Address):
        return replace(item, damage=check_link_expiry(item.source.url, datetime.now(UTC)))
    if not isinstance(item.source, InlineBytes):
        return item
    data = item.source.data
    hints = read_hints(data, item.mime_type)
    damage = check_source_soundness(InMemoryMedia(data), item.mime_type)
    if damage is not None and hints.width is None:
        hints = damage.hints
    return replace(item, hints=hints, damage=damage)
