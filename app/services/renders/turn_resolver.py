"""Resolves the turns of a conversation for a target, the step of a rendering before its messages.

If there is a limit of tokens, old turns are evicted. Then media are loaded, and the *media ladder*
decides for each medium whether it is sent, replaced by a smaller copy, or described in a line.

Source: design document `providers.md`, degradation ladder; `context.md`, "Budget".
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import TypeVar

import anyio.to_thread

from app.models.identity import utc_now
from app.models.limits import Limits
from app.services.access.callers import LinkGrant, LinkSigner
from app.services.concurrency.client_disconnects import until_disconnect
from app.services.renders.media_loader import (
    MAX_IN_MEMORY,
    MediaLoader,
    check_media,
    measure_media,
)
from app.services.renders.whole_texts import read_whole_texts
from app.stores.records.pinned_pages import PinnedPageRecords
from app.stores.records.records import Records
from pagefault_dialects.context.eviction import EvictableTurns, find_faulted_pages, prepare_eviction
from pagefault_dialects.context.prefix_index import EMPTY_PREFIX_SUMMARY, PrefixSummary
from pagefault_dialects.context.token_budget import next_frontier
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.render_options import RenderOptions, base64_length
from pagefault_dialects.targets.fitting import LoadedMedia, list_media, plan_media
from pagefault_dialects.targets.ladder import Ladder, ResolvedTurns, Sign
from pagefault_dialects.targets.opening_turns import insert_required_lines
from pagefault_dialects.targets.part_sizes import PartSize, has_room, measure_part
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.tokens import estimate_text_bytes
from pagefault_dialects.turns.handles import add_handles
from pagefault_dialects.turns.text_limits import shorten_texts

# The time for which signed URLs are valid, counted from the start of the current hour.
_URL_HOURS = 2
# Rendering is Python code, and the GIL lets one thread run at a time. More threads would only delay
# each other.
_THREADS = 2
# Conversations with more turns than this are processed one at a time, in a thread of their own, so
# that short conversations do not wait for them.
_SHORT_TURNS = 1_000

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _PreparedTurns:
    """Turns that are ready for the loading of their media."""

    turns: Sequence[ComposedTurn]
    """The turns, with the lines of text that the target needs beside media."""
    max_base64: int
    """The maximum length of all media together, as base64, in characters."""
    resolved: ResolvedTurns | None
    """The resolved turns, if they have no media that have to be loaded."""


@dataclass(frozen=True, slots=True, eq=False)
class TurnResolver:
    """Resolves the turns of conversations."""

    records: Records
    media_loader: MediaLoader
    """Loads media, and finds damaged media."""
    links: LinkSigner
    """Signs the URLs of media."""
    content_base_url: str | None
    """The base of signed URLs; `None` if providers cannot reach this service."""
    limits: Limits
    """The limits of the media of one rendering."""
    _threads: anyio.CapacityLimiter = field(
        init=False, default_factory=lambda: anyio.CapacityLimiter(_THREADS)
    )
    _long_work: anyio.CapacityLimiter = field(
        init=False, default_factory=lambda: anyio.CapacityLimiter(1)
    )

    async def run(self, work: Callable[[], _Result], *, turns: int = 0) -> _Result:
        """Call a pure function in one of the few threads for renderings, and return its result.

        Args:
            work: The function.
            turns: The approximate number of turns that the function reads.

        Raises:
            MalformedRequestError: The client has disconnected, so the function was not called.
        """
        limiter = self._threads if turns <= _SHORT_TURNS else self._long_work
        async with until_disconnect():
            return await anyio.to_thread.run_sync(work, limiter=limiter)

    async def free(self, sequences: list[Sequence[object]], *, turns: int) -> None:
        """Free the objects of a long session one by one, in a thread.

        Python frees a list of a million objects at once, and runs no other thread in the meantime.

        Args:
            sequences: The objects. The caller has no other reference to them. The list is emptied.
            turns: The number of turns of the session. A short session is left to the caller.
        """
        if turns > _SHORT_TURNS:
            await self.run(partial(_free, sequences), turns=turns)

    async def fit(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        options: RenderOptions,
        frontier: Frontier,
        *,
        is_whole: bool,
        prefix_summary: PrefixSummary = EMPTY_PREFIX_SUMMARY,
    ) -> tuple[ResolvedTurns, Frontier]:
        """Resolve turns, and evict as many of them as the limits of the options require.

        Args:
            project_id: The caller's project.
            turns: The turns.
            profile: The profile of the target.
            options: The options with the limits.
            frontier: How far the turns are evicted at least.
            is_whole: True if these are all turns of a conversation.
            prefix_summary: Counts of folded steps that are not among the turns.

        Returns:
            The resolved turns, and the frontier up to which they are evicted.

        Raises:
            MalformedRequestError: The client has disconnected, so the rendering was ended.
            InvalidPayloadError: The turns that are never evicted do not fit.
        """
        if options.max_tokens is None and options.frontier is None:
            resolved = await self._resolve(project_id, turns, profile, options, is_whole=is_whole)
            return resolved, frontier
        history = await self.load_history(project_id, turns, profile, options, prefix_summary)
        while True:
            evicted = await self.run(partial(history.turns_at, frontier), turns=len(turns))
            resolved = await self._resolve(project_id, evicted, profile, options, is_whole=is_whole)
            move = partial(next_frontier, history, frontier, resolved)
            moved_frontier = await self.run(move, turns=len(turns))
            if moved_frontier == frontier:
                return resolved, frontier
            frontier = moved_frontier

    async def resolve_part(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        options: RenderOptions,
        *,
        is_first: bool,
    ) -> tuple[ResolvedTurns, PartSize]:
        """Resolve a part of a conversation without the other parts.

        The turns are the same as in the whole conversation, if `has_room` returns True for the sum
        of the sizes of all parts.

        Args:
            project_id: The caller's project.
            turns: The turns of the part.
            profile: The profile of the target.
            options: The options.
            is_first: True for the first part.

        Returns:
            The resolved turns, and the size of the part.

        Raises:
            MalformedRequestError: The client has disconnected, so the rendering was ended.
        """
        prepared = await self.run(
            partial(self._prepare, turns, profile, options, is_whole=is_first)
        )
        resolved = await self._resolve_prepared(project_id, prepared, profile, options)
        size = await self.run(partial(measure_part, prepared.turns, resolved, profile, options))
        return resolved, size

    def has_room(self, size: PartSize, profile: Profile, options: RenderOptions) -> bool:
        """Return True if all media of a conversation fit into one rendering.

        Args:
            size: The sum of the sizes of all parts of the conversation.
            profile: The profile of the target.
            options: The options with the limits.
        """
        max_base64 = base64_length(self.limits.inline_bytes)
        has_few_media = size.inline_media <= MAX_IN_MEMORY
        return has_few_media and has_room(size, profile, options, max_base64)

    async def limit_texts(
        self,
        project_id: str,
        session_id: str | None,
        turns: Sequence[ComposedTurn],
        options: RenderOptions,
    ) -> Sequence[ComposedTurn]:
        """Cut the texts of tool results to the length of the option `maxText`, if it is set.

        Args:
            project_id: The caller's project.
            session_id: The session of the turns, if they belong to one.
            turns: The turns.
            options: The options.

        Raises:
            StoreUnavailableError: A store did not answer.
        """
        max_chars = options.max_text
        if max_chars is None:
            return turns
        # The texts in the turns may be previews, so the texts from which they were made are read.
        whole_texts = await read_whole_texts(
            self.records, self.media_loader.blobs, project_id, session_id, turns, max_chars
        )
        shorten = partial(shorten_texts, turns, max_chars, whole_texts)
        return await self.run(shorten, turns=len(turns))

    async def load_history(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        options: RenderOptions,
        prefix_summary: PrefixSummary = EMPTY_PREFIX_SUMMARY,
    ) -> EvictableTurns:
        """Prepare the turns of a conversation for eviction.

        The ids of pinned pages are read first, because the newest result with a pinned page is
        never evicted.
        """
        page_ids = find_faulted_pages(turns)
        pinned_pages: Collection[str] = ()
        if page_ids:
            pinned_pages = await self.records.read(
                project_id, lambda unit: unit[PinnedPageRecords].find_pinned(page_ids)
            )
        prepare = partial(prepare_eviction, turns, profile, options, pinned_pages, prefix_summary)
        return await self.run(prepare, turns=len(turns))

    async def _resolve(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        options: RenderOptions,
        *,
        is_whole: bool,
    ) -> ResolvedTurns:
        prepared = await self.run(
            partial(self._prepare, turns, profile, options, is_whole=is_whole), turns=len(turns)
        )
        return await self._resolve_prepared(project_id, prepared, profile, options)

    async def _resolve_prepared(
        self, project_id: str, prepared: _PreparedTurns, profile: Profile, options: RenderOptions
    ) -> ResolvedTurns:
        """Load the media of turns, and resolve the turns."""
        if prepared.resolved is not None:
            return prepared.resolved
        max_base64 = prepared.max_base64
        turns = await check_media(
            self.media_loader.checks, project_id, prepared.turns, profile, options
        )
        media_plan = await self.run(
            partial(plan_media, turns, profile, options, max_base64=max_base64), turns=len(turns)
        )
        loaded = await self.media_loader.load(
            project_id, turns, media_plan, profile.text_file_chars
        )
        sign = self._make_signer(project_id, options)
        ladder = Ladder(profile, options, max_base64=max_base64, sign=sign)
        return await self.run(lambda: ladder.resolve(turns, loaded), turns=len(turns))

    def _prepare(
        self,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        options: RenderOptions,
        *,
        is_whole: bool,
    ) -> _PreparedTurns:
        """Add the lines that the target needs, and compute the limit of media.

        Turns without media are resolved at once. This is a pure function, for a thread.
        """
        turns = measure_media(turns)
        if options.handles:
            turns = add_handles(turns, profile.accepts_structured)
        turns = insert_required_lines(turns, profile, is_whole=is_whole)
        limits = [base64_length(self.limits.inline_bytes)]
        if profile.request_bytes is not None:
            limits.append(max(0, profile.request_bytes - estimate_text_bytes(turns)))
        if options.max_bytes is not None:
            limits.append(options.max_bytes)
        max_base64 = min(limits)
        if list_media(turns):
            return _PreparedTurns(turns, max_base64, resolved=None)
        ladder = Ladder(profile, options, max_base64=max_base64, sign=None)
        return _PreparedTurns(turns, max_base64, ladder.resolve(turns, LoadedMedia()))

    def _make_signer(self, project_id: str, options: RenderOptions) -> Sign | None:
        """Return a function that signs the URL of a resource; `None` if media are sent inline."""
        if options.media != "signed-url" or self.content_base_url is None:
            return None
        base_url = self.content_base_url
        # All URLs of one hour expire at the same time, so equal requests get equal responses.
        hour = utc_now().replace(minute=0, second=0, microsecond=0)
        expires_at = hour + timedelta(hours=_URL_HOURS)

        def sign(resource_id: str) -> str:
            grant = LinkGrant(project_id, resource_id, "inline", None, expires_at)
            return f"{base_url}{self.links.content_path(grant)}"

        return sign


def _free(sequences: list[Sequence[object]]) -> None:
    # One list has all objects, so that each `pop` frees one of them.
    objects = [*chain.from_iterable(sequences)]
    sequences.clear()
    while objects:
        objects.pop()
