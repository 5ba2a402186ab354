"""Resolution of turns for a target: eviction of old turns, and the media ladder.

Source: `providers`, degradation ladder; `context`, "Budget".
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
from pagefault_dialects.context.prefix_index import NO_PREFIX_FACTS, PrefixFacts
from pagefault_dialects.context.token_budget import next_frontier
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.render_options import RenderOptions, base64_length
from pagefault_dialects.targets.fitting import LoadedMedia, list_media, plan_media
from pagefault_dialects.targets.ladder import Ladder, ResolvedTurns, Sign
from pagefault_dialects.targets.opening_turns import with_lines
from pagefault_dialects.targets.part_weights import PartWeight, has_room, part_weight
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.tokens import request_text_bytes
from pagefault_dialects.turns.handles import add_handles
from pagefault_dialects.turns.text_limits import shorten_texts

_URL_HOURS = 2
# Rendering is Python, of which one thread runs at a time. More threads would only slow others down.
_THREADS = 2
# Longer conversations are processed one at a time, so that short ones do not wait for them.
_SHORT_TURNS = 1_000

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, eq=False)
class TurnResolver:
    """Resolves the turns of conversations."""

    records: Records
    """The records of pinned pages."""
    media_loader: MediaLoader
    """Loads media, and finds damaged ones."""
    links: LinkSigner
    """Signs URLs."""
    content_base_url: str | None
    """The base of those URLs; `None` if providers cannot reach this service."""
    limits: Limits
    """The limits of the media of one rendering."""
    _threads: anyio.CapacityLimiter = field(
        init=False, default_factory=lambda: anyio.CapacityLimiter(_THREADS)
    )
    _long_work: anyio.CapacityLimiter = field(
        init=False, default_factory=lambda: anyio.CapacityLimiter(1)
    )

    async def run(self, work: Callable[[], _Result], *, turns: int = 0) -> _Result:
        """Call a pure function in one of the few threads for renderings; return its result.

        Args:
            work: The function.
            turns: The approximate number of turns that it reads.

        Raises:
            MalformedRequestError: The client has disconnected, so the function was not called.
        """
        limiter = self._threads if turns <= _SHORT_TURNS else self._long_work
        async with until_disconnect():
            return await anyio.to_thread.run_sync(work, limiter=limiter)

    async def free(self, sequences: list[Sequence[object]], *, turns: int) -> None:
        """Free the last references to the objects of a long session, one by one, in a thread.

        If a million objects were freed at once, no other thread could run meanwhile.

        Args:
            sequences: The objects; the list is emptied.
            turns: The number of turns of the session.
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
        prefix_facts: PrefixFacts = NO_PREFIX_FACTS,
    ) -> tuple[ResolvedTurns, Frontier]:
        """Resolve turns within the limits; return them, and the frontier, moved as far as needed.

        Raises:
            MalformedRequestError: The client has disconnected, so the rendering was ended.
            InvalidPayloadError: The turns that are never evicted do not fit.
        """
        if options.max_tokens is None and options.frontier is None:
            resolved = await self._resolve(project_id, turns, profile, options, is_whole=is_whole)
            return resolved, frontier
        history = await self.load_history(project_id, turns, profile, options, prefix_facts)
        while True:
            evicted = await self.run(partial(history.turns_at, frontier), turns=len(turns))
            resolved = await self._resolve(project_id, evicted, profile, options, is_whole=is_whole)
            move = partial(next_frontier, history, frontier, resolved)
            moved = await self.run(move, turns=len(turns))
            if moved == frontier:
                return resolved, frontier
            frontier = moved

    async def resolve_part(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        options: RenderOptions,
        *,
        is_first: bool,
    ) -> tuple[ResolvedTurns, PartWeight]:
        """Resolve a part of a conversation by itself; return it with its weight.

        The result is the same as in the whole if all parts together have room; see `has_room`.

        Raises:
            MalformedRequestError: The client has disconnected, so the rendering was ended.
        """
        turns, max_base64, without_media = await self.run(
            partial(self._prepare, turns, profile, options, is_whole=is_first)
        )
        resolved = without_media or await self._resolve_media(
            project_id, turns, profile, options, max_base64
        )
        weight = await self.run(partial(part_weight, turns, resolved, profile, options))
        return resolved, weight

    def has_room(self, weight: PartWeight, profile: Profile, options: RenderOptions) -> bool:
        """Return whether a conversation of this weight has room for all its media."""
        max_base64 = base64_length(self.limits.inline_bytes)
        has_few_media = weight.inline_media <= MAX_IN_MEMORY
        return has_few_media and has_room(weight, profile, options, max_base64)

    async def limit_texts(
        self,
        project_id: str,
        session_id: str | None,
        turns: Sequence[ComposedTurn],
        options: RenderOptions,
    ) -> Sequence[ComposedTurn]:
        """Cut the texts of answers to `maxText`, if it is set.

        Args:
            project_id: The caller's project.
            session_id: The session of the turns, if they belong to one.
            turns: The turns.
            options: The options with that limit.

        Raises:
            StoreUnavailableError: A store did not answer.
        """
        max_chars = options.max_text
        if max_chars is None:
            return turns
        blobs = self.media_loader.blobs
        whole = await read_whole_texts(
            self.records, blobs, project_id, session_id, turns, max_chars
        )
        work = partial(shorten_texts, turns, max_chars, whole)
        return await self.run(work, turns=len(turns))

    async def load_history(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        options: RenderOptions,
        prefix_facts: PrefixFacts = NO_PREFIX_FACTS,
    ) -> EvictableTurns:
        """Return the turns of a conversation, prepared for eviction; reads its pinned pages."""
        page_ids = find_faulted_pages(turns)
        pinned: Collection[str] = ()
        if page_ids:
            pinned = await self.records.read(
                project_id, lambda unit: unit[PinnedPageRecords].among(page_ids)
            )
        work = partial(prepare_eviction, turns, profile, options, pinned, prefix_facts)
        return await self.run(work, turns=len(turns))

    async def _resolve(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        options: RenderOptions,
        *,
        is_whole: bool,
    ) -> ResolvedTurns:
        turns, max_base64, resolved = await self.run(
            partial(self._prepare, turns, profile, options, is_whole=is_whole), turns=len(turns)
        )
        return resolved or await self._resolve_media(
            project_id, turns, profile, options, max_base64
        )

    async def _resolve_media(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        options: RenderOptions,
        max_base64: int,
    ) -> ResolvedTurns:
        turns = await check_media(self.media_loader.checks, project_id, turns, profile, options)
        media_plan = await self.run(
            partial(plan_media, turns, profile, options, max_base64=max_base64), turns=len(turns)
        )
        loaded = await self.media_loader.load(
            project_id, turns, media_plan, profile.text_file_chars
        )
        sign = self._signer(project_id, options)
        ladder = Ladder(profile, options, max_base64=max_base64, sign=sign)
        return await self.run(lambda: ladder.resolve(turns, loaded), turns=len(turns))

    def _prepare(
        self,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        options: RenderOptions,
        *,
        is_whole: bool,
    ) -> tuple[Sequence[ComposedTurn], int, ResolvedTurns | None]:
        """Return the turns with the lines beside their media, and the limit of base64 for them.

        Turns without media are resolved as well, since nothing has to be loaded for them.
        """
        turns = measure_media(turns)
        if options.handles:
            turns = add_handles(turns, profile.takes_structured)
        turns = with_lines(turns, profile, is_whole=is_whole)
        limits = [base64_length(self.limits.inline_bytes)]
        if profile.request_bytes is not None:
            limits.append(max(0, profile.request_bytes - request_text_bytes(turns)))
        if options.max_bytes is not None:
            limits.append(options.max_bytes)
        max_base64 = min(limits)
        if list_media(turns):
            return turns, max_base64, None
        ladder = Ladder(profile, options, max_base64=max_base64, sign=None)
        return turns, max_base64, ladder.resolve(turns, LoadedMedia())

    def _signer(self, project_id: str, options: RenderOptions) -> Sign | None:
        if options.media != "signed-url" or self.content_base_url is None:
            return None
        base_url = self.content_base_url
        # URLs change by the hour, so the same request returns the same bytes until then.
        hour = utc_now().replace(minute=0, second=0, microsecond=0)
        expires_at = hour + timedelta(hours=_URL_HOURS)

        def sign(resource_id: str) -> str:
            grant = LinkGrant(project_id, resource_id, "inline", None, expires_at)
            return f"{base_url}{self.links.content_path(grant)}"

        return sign


def _free(sequences: list[Sequence[object]]) -> None:
    objects = [*chain.from_iterable(sequences)]
    sequences.clear()
    while objects:
        objects.pop()
