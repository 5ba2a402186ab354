"""Renderings: a stored record, or a session, as the messages of one provider.

A rendering is a function of what is stored, of the target's profile and of the options: the same
call gives the same bytes. With signed URLs it does so for an hour, when the URLs change.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import anyio

from app.errors import ConflictError
from app.models.identity import is_id, utc_now
from app.models.named_record import NamedRecord
from app.services.inline_media.json_with_media import RenderedBody
from app.services.pages.manifests import PageManifests
from app.services.pages.views import PageViews
from app.services.renders.loading import LoadedSession, load_entry, load_session, read_apart
from app.services.renders.page_media import page_medium
from app.services.renders.queries import RenderQuery
from app.services.renders.settling import Settling
from app.services.renders.turn_cache import TurnCache
from app.services.requests.validation import require_found
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.stores.records.sessions import FrontierRecords, SessionRecords
from app.stores.records.tool_results import ToolResultRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import Fault, InvalidPayloadError, PagefaultError
from pagefault_dialects.model.conversation import ComposedTurn, TextItem, Turn
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier, StoredFrontier
from pagefault_dialects.model.page import Level
from pagefault_dialects.model.render_options import Rendering, RenderOptions, joined_pieces
from pagefault_dialects.pages.effective_level import shown_level
from pagefault_dialects.pages.instructions import instructions
from pagefault_dialects.rendered_documents import document_of, equal_hashes, mark, session_document
from pagefault_dialects.targets.ladder import Settled
from pagefault_dialects.targets.leaves import JsonLeaf, Node, json_pieces
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.turns.page_turns import page_turn
from pagefault_dialects.turns.pairing import orphans_in
from pagefault_dialects.turns.record_turns import tool_result_turn

# Each holds a whole history, and its turns.
_SESSIONS_AT_ONCE = 8
# So often is a frontier moved anew that somebody else has moved meanwhile.
_TRIES = 8
# Of the pages of a session, in what is said of its memory.
_MOST_LISTED = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Renders:
    """Renders the records of a project."""

    records: Records
    """Where they are."""
    blobs: BlobStore
    """Where their media are."""
    reading: PageViews
    """Reads pages at a level."""
    settling: Settling
    """Makes what is read fit a target."""
    manifests: PageManifests
    """Lists the pages of a session."""
    _known_turns: TurnCache = field(init=False, default_factory=TurnCache)
    session_slots: anyio.CapacityLimiter = field(
        init=False, default_factory=lambda: anyio.CapacityLimiter(_SESSIONS_AT_ONCE)
    )

    def check(self, query: RenderQuery, *, since: int = 0) -> Profile:
        """Make sure that a target and its options can be rendered; return the target.

        Raises:
            InvalidPayloadError: There is no such target, signed URLs would lead nowhere, or marks
                for a cache are asked for in a part of a history.
        """
        if query.options.cache_markers and since:
            raise InvalidPayloadError(
                "Marks for a cache move on with each rendering, and would stay in the messages you "
                "have: leave `since` out, or set the marks yourself.",
                faults=[Fault("/since", "cannot stand beside cacheMarkers")],
            )
        return self._profile(query)

    async def tool_result(
        self, project_id: str, tool_result_id: str, query: RenderQuery
    ) -> RenderedBody:
        """Render a tool result as the answer to its call; for what it raises see `record`."""
        profile = self._profile(query)
        stored = None
        if is_id(tool_result_id):
            stored = await self.records.read(
                project_id, lambda unit: unit[ToolResultRecords].find(tool_result_id)
            )
        found = require_found(stored, "tool result")
        sanitized = found.sanitized
        options = query.options
        # A text has no name but that of its entry.
        seq = found.seq if options.handles or options.max_text is not None else None
        apart = await read_apart(self.blobs, project_id, [sanitized])
        origin, audience = f"/api/tool-results/{tool_result_id}", options.audience
        turn = await self.settling.worked(
            lambda: tool_result_turn(
                sanitized, origin=origin, audience=audience, seq=seq, apart=apart
            )
        )
        turns = await self.settling.limited(project_id, found.session_id, [turn], options)
        return await self._rendered(project_id, turns, profile, query)

    async def with_record(
        self, project_id: str, tool_result_id: str, record: bytes, query: RenderQuery
    ) -> RenderedBody:
        """Return a stored tool result as JSON, with its rendering as one more member.

        The record is stored, whatever becomes of the rendering: null stands for one that failed.
        """
        try:
            rendered = await self.tool_result(project_id, tool_result_id, query)
        except PagefaultError:
            rendered = RenderedBody(self.blobs, project_id, Rendering([b"null"]))
        head = record[:-1] + b',"rendering":'
        pieces = joined_pieces([head, *rendered.rendering.pieces, b"}"])
        return replace(rendered, rendering=Rendering(pieces))

    async def page(
        self,
        project_id: str,
        page_id: str,
        level: Level | None,
        query: RenderQuery,
        *,
        tool_call_id: str | None,
    ) -> RenderedBody:
        """Render a page at a level as the answer to the call that faults it in.

        Args:
            project_id: The caller's project.
            page_id: The page.
            level: The level; `None` for the one that the page names itself.
            query: For which target, and how.
            tool_call_id: The call it answers; without one, an id made of the page's.

        Raises:
            Exception: See `record`.
        Source: spec 000, "Multi-block Tool Results".
        """
        profile = self._profile(query)
        view = await self.reading.looked_at(await self.reading.view(project_id, page_id, level))
        if view.page.damage:
            # An image that no model can read makes no level fuller, and is told of at any.
            view = replace(view, level=shown_level(view.page, view.level).level)
        medium = await page_medium(view)
        origin = f"/api/pages/{page_id}"
        call_id = tool_call_id or f"call_{hashlib.sha256(page_id.encode()).hexdigest()[:24]}"
        turn = await self.settling.worked(
            lambda: page_turn(view.page, view.level, medium=medium, call_id=call_id, origin=origin)
        )
        counted = partial(self.reading.note, project_id, page_id)
        return await self._rendered(project_id, [turn], profile, query, given=counted)

    async def session(
        self,
        project_id: str,
        session_id: str,
        query: RenderQuery,
        *,
        since: int,
        up_to: int | None = None,
        moves: bool = False,
    ) -> RenderedBody:
        """Render the history of a session as one list of messages.

        Args:
            project_id: The caller's project.
            session_id: The session.
            query: For which target, and how.
            since: Only messages of entries with a larger `seq`, and a hash of what is before them.
            up_to: The entry that is taken for the last one.
            moves: Whether a frontier that is named is stored as far as it has moved.

        Raises:
            Exception: See `record`.
        """
        profile = self.check(query, since=since)
        async with self.session_slots:
            loaded = (await self.load(project_id, session_id)).up_to(up_to)
            # Nobody can be in the way of a rendering without a frontier that has a name.
            for _ in range(_TRIES):
                document = await self._session(
                    project_id, loaded, profile, query, since=since, moves=moves
                )
                if document is not None:
                    return await self._body(project_id, document)
        raise ConflictError(
            "Others move this frontier all the time. Send the request again, or use one of your "
            "own.",
            code="frontier-contended",
        )

    async def load(self, project_id: str, session_id: str) -> LoadedSession:
        """Read a session; for what it raises see `session`."""
        return await load_session(
            self.records, self.blobs, project_id, session_id, self._known_turns
        )

    async def fitted(
        self, project_id: str, loaded: LoadedSession, profile: Profile, options: RenderOptions
    ) -> tuple[StoredFrontier, Sequence[ComposedTurn], Settled, Frontier]:
        """Make a session fit a target, from the frontier that is asked for.

        Answers that were kept behind the calls that were written for them stay there.

        Returns:
            That frontier, the turns of the session, what is shown of them, and how far the frontier
            has moved for that.
        """
        stored = await self._stored_frontier(project_id, loaded.session_id, options)
        kept = stored.frontier.orphans
        turns = await self.settling.worked(
            lambda: loaded.turns(audience=options.audience, kept=kept)
        )
        if options.memory:
            memory = await self._memory(project_id, loaded.session_id, profile, options)
            turns = [memory, *turns]
        turns = await self.settling.limited(project_id, loaded.session_id, turns, options)
        settled, frontier = await self.settling.fitted(
            project_id, turns, profile, options, stored.frontier, is_whole=True
        )
        return stored, turns, settled, frontier

    async def _memory(
        self, project_id: str, session_id: str, profile: Profile, options: RenderOptions
    ) -> ComposedTurn:
        """Return what the system says of the memory: its rules and its pages, as far as asked."""
        texts = [instructions("strict")] if "instructions" in options.memory else []
        if "manifest" in options.memory:
            most, count = options.memory_tokens, profile.tokens.text
            listed = await self.manifests.get(
                project_id, session_id, limit=_MOST_LISTED, most_tokens=most, least=0, count=count
            )
            texts.append(listed.text)
        items = (TextItem("", "\n\n".join(texts)),)
        return Turn(role="system", items=items, origin=f"/api/sessions/{session_id}/manifest")

    async def _session(
        self,
        project_id: str,
        loaded: LoadedSession,
        profile: Profile,
        query: RenderQuery,
        *,
        since: int,
        moves: bool,
    ) -> dict[str, Node] | None:
        """Render a session, and store how far its frontier has moved if it is to move.

        Returns:
            The answer; `None` if somebody else has moved the frontier meanwhile.
        """
        options = query.options
        stored, turns, settled, moved_to = await self.fitted(project_id, loaded, profile, options)
        document, hashes = await self.settling.worked(
            lambda: session_document(
                settled, profile, options, last_seq=loaded.last_seq, since=since
            )
        )
        stable = equal_hashes(stored.sent, hashes)
        if options.frontier is not None:
            frontier = moved_to.model_copy(update={"orphans": orphans_in(turns)})
            new = StoredFrontier(stored.name, frontier, b"".join(hashes), stored.version + 1)
            if moves and stored.name and not await self._keep(project_id, loaded, stored, new):
                return None
            document["frontier"] = JsonLeaf(frontier.wire())
        if stored.name:
            document["stableThrough"] = stable
        mark(document, profile, options, stable=stable)
        return document

    async def _stored_frontier(
        self, project_id: str, session_id: str, options: RenderOptions
    ) -> StoredFrontier:
        """Return the frontier that is asked for; one without a name is stored nowhere."""
        asked = options.frontier
        if not isinstance(asked, str):
            return StoredFrontier("", asked or NOTHING_EVICTED)
        found = await self.records.read(
            project_id, lambda unit: unit[FrontierRecords].find(session_id, asked)
        )
        return found or StoredFrontier(asked)

    async def _keep(
        self, project_id: str, loaded: LoadedSession, old: StoredFrontier, new: StoredFrontier
    ) -> bool:
        """Store a frontier; says whether nobody else has meanwhile."""
        if (old.frontier, old.sent) == (new.frontier, new.sent):
            return True

        def put(unit: UnitOfWork) -> bool:
            require_found(unit[SessionRecords].hold(loaded.session_id), "session")
            replaces = old.version or None
            return unit[FrontierRecords].put(loaded.session_id, new, utc_now(), replaces=replaces)

        # What was sent last only tells what has changed; how far it has moved decides what will.
        is_durable = old.frontier != new.frontier
        return await self.records.write(project_id, put, is_durable=is_durable)

    async def answer(
        self, project_id: str, session_id: str, seq: int, query: RenderQuery
    ) -> RenderedBody:
        """Render one entry of a session, the answer to a call; for what it raises see `record`."""
        profile = self._profile(query)
        loaded = await load_entry(self.records, self.blobs, project_id, session_id, seq)
        turns = await self.settling.worked(lambda: loaded.answer(query.options.audience))
        turns = await self.settling.limited(project_id, session_id, turns, query.options)
        return await self._rendered(project_id, turns, profile, query)

    async def words(
        self, project_id: str, call_id: str, tool_name: str, text: str, query: RenderQuery
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
        return await self._rendered(project_id, [turn], self._profile(query), query)

    async def record(self, project_id: str, named: NamedRecord, query: RenderQuery) -> RenderedBody:
        """Render whichever record is named; see the methods for each kind.

        Raises:
            NotFoundError: The project has no such record.
            InvalidPayloadError: There is no such target, or signed URLs would lead nowhere.
            ConflictError: Others move the frontier that is named all the time.
            PayloadTooLargeError: The history is too long to be rendered at once.
            StoreUnavailableError: A store did not answer.
        """
        if named.session_id is None and query.options.frontier is not None:
            raise InvalidPayloadError(
                "Only the renderings of sessions have a frontier.",
                faults=[Fault("/frontier", "needs sessionId")],
            )
        if named.tool_result_id is not None:
            return await self.tool_result(project_id, named.tool_result_id, query)
        if named.page_id is not None:
            return await self.page(
                project_id, named.page_id, named.level, query, tool_call_id=named.tool_call_id
            )
        return await self.session(
            project_id, named.session_id or "", query, since=named.since, moves=True
        )

    def _profile(self, query: RenderQuery) -> Profile:
        return query.profile(can_sign=self.settling.content_base_url is not None)

    async def _rendered(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        query: RenderQuery,
        *,
        given: Callable[[], None] | None = None,
    ) -> RenderedBody:
        options = query.options
        settled, _ = await self.settling.fitted(
            project_id, turns, profile, options, NOTHING_EVICTED, is_whole=False
        )
        document = await self.settling.worked(lambda: document_of(settled, profile, options))
        mark(document, profile, options)
        return await self._body(project_id, document, given=given)

    async def _body(
        self, project_id: str, document: dict[str, Node], given: Callable[[], None] | None = None
    ) -> RenderedBody:
        rendered = await self.settling.worked(lambda: json_pieces(document))
        return await RenderedBody(self.blobs, project_id, rendered, given=given).check()
