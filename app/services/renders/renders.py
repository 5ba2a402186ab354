"""Renderings: a stored record, or a session, as the messages of one provider.

A rendering is a function of what is stored, of the target's profile and of the options: the same
call gives the same bytes. With signed URLs it does so for an hour, when the URLs change.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TypeVar

import anyio.to_thread

from app.errors import Fault, InvalidPayloadError, NotFoundError, ServiceError
from app.models.conversation import ComposedTurn, TextItem, Turn
from app.models.identity import is_id, utc_now
from app.models.limits import Limits
from app.models.page import Level
from app.models.rendering import (
    NamedRecord,
    Rendering,
    RenderOptions,
    base64_length,
    joined_pieces,
)
from app.rendering.pages.effective_level import shown_level
from app.rendering.pages.instructions import instructions, manifest_within
from app.rendering.targets.fitting import plan_media
from app.rendering.targets.ladder import Ladder, Settled, Sign
from app.rendering.targets.leaves import JsonLeaf, Node, json_pieces
from app.rendering.targets.mcp import of_revision
from app.rendering.targets.opening import opened, with_lines
from app.rendering.targets.profile import Profile
from app.rendering.targets.table import TARGETS
from app.rendering.targets.tokens import estimate_turns, request_text_bytes
from app.rendering.turns.handles import with_handles
from app.rendering.turns.pages import page_turn
from app.rendering.turns.tool_results import tool_result_turn
from app.services.access.callers import LinkGrant, LinkSigner
from app.services.inline_media.json_with_media import RenderedBody
from app.services.pages.lists import PageLists
from app.services.pages.reading import PageReading
from app.services.renders.loading import load_entry, load_session, page_medium, read_apart
from app.services.renders.media_loader import MediaLoader, judged, measured
from app.stores.blobs import BlobStore
from app.stores.records import Records

_URL_HOURS = 2
# Each holds a whole history, and its turns.
_SESSIONS_AT_ONCE = 8
_MOST_LISTED = 200
# What renders is Python, of which one thread runs at a time; more would only slow others down.
_THREADS = 2

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class RenderQuery:
    """For which target something is to be rendered, and how."""

    target: str
    options: RenderOptions


@dataclass(frozen=True, slots=True, eq=False)
class Renders:
    """Renders the records of a project.

    Args:
        records: Where they are.
        blobs: Where their media are.
        reading: Reads pages at a level.
        media_loader: Makes smaller images, and knows which media are sound.
        links: Signs URLs.
        content_base_url: What those URLs begin with; `None` if providers do not reach this service.
        limits: For all media of one rendering.
        lists: Lists the pages of a session.
    """

    records: Records
    blobs: BlobStore
    reading: PageReading
    media_loader: MediaLoader
    links: LinkSigner
    content_base_url: str | None
    limits: Limits
    lists: PageLists
    _sessions: anyio.CapacityLimiter = field(
        init=False, default_factory=lambda: anyio.CapacityLimiter(_SESSIONS_AT_ONCE)
    )
    _threads: anyio.CapacityLimiter = field(
        init=False, default_factory=lambda: anyio.CapacityLimiter(_THREADS)
    )

    def check(self, wish: RenderQuery) -> None:
        """Make sure that a target and its options can be rendered.

        Raises:
            InvalidPayloadError: There is no such target, or signed URLs would lead nowhere.
        """
        self._profile(wish)

    async def tool_result(
        self, project_id: str, tool_result_id: str, wish: RenderQuery
    ) -> RenderedBody:
        """Render a tool result as the answer to its call; for what it raises see `record`."""
        profile = self._profile(wish)
        stored = None
        if is_id(tool_result_id):
            stored = await self.records.read(
                project_id, lambda unit: unit.tool_results.find(tool_result_id)
            )
        if stored is None:
            raise NotFoundError("tool result")
        apart = await read_apart(self.blobs, project_id, [stored.sanitized])
        origin, audience = f"/api/tool-results/{tool_result_id}", wish.options.audience
        turn = await self._worked(
            lambda: tool_result_turn(
                stored.sanitized, origin=origin, audience=audience, apart=apart
            )
        )
        return await self._rendered(project_id, [turn], profile, wish)

    async def with_record(
        self, project_id: str, tool_result_id: str, record: bytes, wish: RenderQuery
    ) -> RenderedBody:
        """Return a stored tool result as JSON, with its rendering as one more member.

        The record is stored, whatever becomes of the rendering: null stands for one that failed.
        """
        try:
            rendered = await self.tool_result(project_id, tool_result_id, wish)
        except ServiceError:
            rendered = RenderedBody(self.blobs, project_id, Rendering([b"null"]))
        head = record[:-1] + b',"rendering":'
        pieces = joined_pieces([head, *rendered.rendering.pieces, b"}"])
        return replace(rendered, rendering=Rendering(pieces))

    async def page(
        self,
        project_id: str,
        page_id: str,
        level: Level | None,
        wish: RenderQuery,
        *,
        tool_call_id: str | None,
    ) -> RenderedBody:
        """Render a page at a level as the answer to the call that faults it in.

        Args:
            project_id: The caller's project.
            page_id: The page.
            level: The level; `None` for the one that the page names itself.
            wish: For which target, and how.
            tool_call_id: The call it answers; without one, an id made of the page's.

        Raises:
            Exception: See `record`.
        Source: spec 000, "Multi-block Tool Results".
        """
        profile = self._profile(wish)
        view = await self.reading.looked_at(await self.reading.view(project_id, page_id, level))
        if view.page.damage:
            # An image that no model can read makes no level fuller, and is told of at any.
            view = replace(view, level=shown_level(view.page, view.level).level)
        medium = await page_medium(self.reading, project_id, view)
        origin = f"/api/pages/{page_id}"
        call_id = tool_call_id or f"call_{hashlib.sha256(page_id.encode()).hexdigest()[:24]}"
        turn = await self._worked(
            lambda: page_turn(view.page, view.level, medium=medium, call_id=call_id, origin=origin)
        )
        counted = partial(self.reading.note, project_id, page_id)
        return await self._rendered(project_id, [turn], profile, wish, given=counted)

    async def session(
        self, project_id: str, session_id: str, wish: RenderQuery, *, since: int
    ) -> RenderedBody:
        """Render the history of a session as one list of messages.

        Args:
            project_id: The caller's project.
            session_id: The session.
            wish: For which target, and how.
            since: Only entries with a larger `seq`.

        Raises:
            Exception: See `record`.
        """
        profile = self._profile(wish)
        async with self._sessions:
            loaded = await load_session(self.records, self.blobs, project_id, session_id)
            turns = await self._worked(
                lambda: loaded.turns(since=since, audience=wish.options.audience)
            )
            if wish.options.memory:
                turns = [await self._memory(project_id, session_id, wish.options), *turns]
            return await self._rendered(project_id, turns, profile, wish, is_whole=since == 0)

    async def answer(
        self, project_id: str, session_id: str, seq: int, wish: RenderQuery
    ) -> RenderedBody:
        """Render one entry of a session, the answer to a call; for what it raises see `record`."""
        profile = self._profile(wish)
        loaded = await load_entry(self.records, self.blobs, project_id, session_id, seq)
        turns = await self._worked(lambda: loaded.answer(wish.options.audience))
        return await self._rendered(project_id, turns, profile, wish)

    async def words(
        self, project_id: str, call_id: str, tool_name: str, text: str, wish: RenderQuery
    ) -> RenderedBody:
        """Render words as the failed answer to a call, which is stored nowhere."""
        turn: ComposedTurn = Turn(
            role="tool",
            items=(TextItem("", text),),
            origin="",
            call_id=call_id,
            tool_name=tool_name,
            is_error=True,
        )
        return await self._rendered(project_id, [turn], self._profile(wish), wish)

    async def record(self, project_id: str, named: NamedRecord, wish: RenderQuery) -> RenderedBody:
        """Render whichever record is named; see the methods for each kind.

        Raises:
            NotFoundError: The project has no such record.
            InvalidPayloadError: There is no such target, or signed URLs would lead nowhere.
            PayloadTooLargeError: The history is too long to be rendered at once.
            StoreUnavailableError: A store did not answer.
        """
        if named.tool_result_id is not None:
            return await self.tool_result(project_id, named.tool_result_id, wish)
        if named.page_id is not None:
            return await self.page(
                project_id, named.page_id, named.level, wish, tool_call_id=named.tool_call_id
            )
        return await self.session(project_id, named.session_id or "", wish, since=named.since)

    async def _memory(
        self, project_id: str, session_id: str, options: RenderOptions
    ) -> ComposedTurn:
        """Return what the system says of the memory of a session."""
        texts = [instructions("strict")] if "instructions" in options.memory else []
        if "manifest" in options.memory:
            listed = await self.lists.manifest(project_id, session_id, limit=_MOST_LISTED)
            most = options.memory_tokens
            texts.append(manifest_within(listed.entries, total=listed.total, most_tokens=most))
        origin = f"/api/sessions/{session_id}/manifest"
        return Turn(role="system", items=(TextItem("", "\n\n".join(texts)),), origin=origin)

    def _profile(self, wish: RenderQuery) -> Profile:
        profile = TARGETS.get(wish.target)
        if profile is None:
            raise InvalidPayloadError(
                "There is no such target.",
                faults=[Fault("/target", f"must be one of {', '.join(TARGETS)}")],
            )
        if wish.options.media == "signed-url" and self.content_base_url is None:
            raise InvalidPayloadError(
                "Signed URLs would lead nowhere: nobody has said by which URL providers reach this "
                "service. Set PAGEFAULT_PUBLIC_URL, or ask for `media=inline`.",
                faults=[Fault("/media", "needs PAGEFAULT_PUBLIC_URL")],
            )
        if wish.target == "mcp":
            return of_revision(profile, wish.options.protocol_version)
        return profile

    async def _rendered(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        wish: RenderQuery,
        *,
        is_whole: bool = False,
        given: Callable[[], None] | None = None,
    ) -> RenderedBody:
        options = wish.options
        if options.handles:
            turns = with_handles(turns)
        turns = with_lines(turns, profile, is_whole=is_whole)
        most = self._most_base64(profile, options, turns)
        turns = await measured(turns)
        turns = await judged(self.media_loader.checks, project_id, turns, profile, options)
        media_plan = plan_media(turns, profile, options, most_base64=most)
        loaded = await self.media_loader.gather(project_id, turns, media_plan)
        sign = self._signer(project_id, options)
        ladder = Ladder(profile, options, most_base64=most, sign=sign)
        rendered = await self._worked(
            lambda: _document(ladder.settle(turns, loaded), profile, options)
        )
        body = RenderedBody(self.blobs, project_id, rendered, given=given)
        await body.check()
        return body

    async def _worked(self, work: Callable[[], _Result]) -> _Result:
        """Do pure work in one of the few threads that renderings may take; return its result."""
        return await anyio.to_thread.run_sync(work, limiter=self._threads)

    def _most_base64(
        self, profile: Profile, options: RenderOptions, turns: Sequence[ComposedTurn]
    ) -> int:
        limits = [base64_length(self.limits.inline_bytes)]
        if profile.request_bytes is not None:
            limits.append(max(0, profile.request_bytes - request_text_bytes(turns)))
        if options.max_bytes is not None:
            limits.append(options.max_bytes)
        return min(limits)

    def _signer(self, project_id: str, options: RenderOptions) -> Sign | None:
        if options.media != "signed-url" or self.content_base_url is None:
            return None
        base_url = self.content_base_url
        # By the hour, so that the same call gives the same bytes for as long.
        hour = utc_now().replace(minute=0, second=0, microsecond=0)
        expires_at = hour + timedelta(hours=_URL_HOURS)

        def sign(resource_id: str) -> str:
            grant = LinkGrant(project_id, resource_id, "inline", None, expires_at)
            return f"{base_url}{self.links.content_path(grant)}"

        return sign


def _document(settled: Settled, profile: Profile, options: RenderOptions) -> Rendering:
    """Return the answer: `{target, profile, messages, system?, loss, tokensEst}`."""
    system, turns = opened(settled.turns, profile)
    messages = profile.write(turns, profile, options.detail or profile.default_detail)
    document: dict[str, Node] = {
        "target": profile.target,
        "profile": f"{profile.target}/{profile.version}",
        "messages": messages,
    }
    if system:
        document["system"] = system
    document["loss"] = [JsonLeaf(entry.wire()) for entry in settled.loss]
    document["tokensEst"] = estimate_turns(turns, system)
    return json_pieces(document)
