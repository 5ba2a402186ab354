"""Renderings of sessions: whole histories, within a budget, from a frontier on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from app.errors import ConflictError
from app.models.identity import utc_now
from app.services.concurrency.project_slots import ProjectSlots
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.answer_renders import AnswerRenders
from app.services.renders.loaded_sessions import LoadedSession, load_session
from app.services.renders.queries import RenderQuery
from app.services.renders.settling import Settling
from app.services.renders.turn_cache import TurnCache
from app.services.requests.validation import require_found
from app.stores.records.frontier_moves import FrontierMoveRecords
from app.stores.records.frontiers import FrontierRecords
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.conversation import ComposedTurn, TextItem, Turn
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier, StoredFrontier
from pagefault_dialects.model.render_options import Rendering, RenderOptions
from pagefault_dialects.pages.instructions import instructions
from pagefault_dialects.rendered_documents import equal_hashes, mark, session_document
from pagefault_dialects.targets.base64_leaves import JsonLeaf, json_pieces
from pagefault_dialects.targets.ladder import ResolvedTurns
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.turns.answered_turns import PrefixChangedError
from pagefault_dialects.turns.pairing import orphans_in

# Each holds a whole history, and its turns. Those of one project leave room for others.
_SESSIONS_AT_ONCE = 8
_SESSIONS_OF_PROJECT = 2
# So often is a frontier moved anew that somebody else has moved meanwhile.
_TRIES = 8


class PageTexts(Protocol):
    """Describes the pages of sessions to models. See `PageManifests`."""

    async def text(
        self, project_id: str, session_id: str, *, most_tokens: int, count: Callable[[str], int]
    ) -> str:
        """Return a line for each page of a session, as many as have so few tokens.

        Raises:
            NotFoundError: Nothing was ever written to the session.
        """


class PartRenders(Protocol):
    """Renders what is new in sessions. See `NewEntries`."""

    async def render(
        self, project_id: str, session_id: str, profile: Profile, options: RenderOptions, since: int
    ) -> Rendering | None:
        """Return the answer; `None` where the session has to be rendered whole for it."""


class Windows(Protocol):
    """Reads sessions as far as a frontier shows them. See `SessionWindows`."""

    async def load(
        self, project_id: str, session_id: str, options: RenderOptions, frontier: Frontier
    ) -> LoadedSession | None:
        """Return what is behind the fold; `None` if the session has to be read whole."""


@dataclass(frozen=True, slots=True, eq=False)
class SessionRenders:
    """Renders the histories of sessions."""

    records: Records
    """Where they are."""
    settling: Settling
    """Makes what is read fit a target."""
    answers: AnswerRenders
    """Renders their entries."""
    pages: PageTexts
    """Lists the pages of a session."""
    new_entries: PartRenders
    """Renders what is new of them."""
    windows: Windows
    """Reads them as far as a frontier shows them."""
    known_turns: TurnCache
    """Remembers turns of their entries."""
    slots: ProjectSlots = field(
        init=False, default_factory=lambda: ProjectSlots(_SESSIONS_AT_ONCE, _SESSIONS_OF_PROJECT)
    )

    def check(self, query: RenderQuery, *, since: int = 0, up_to: int | None = None) -> Profile:
        """Make sure that a target and its options can be rendered; return the target.

        Raises:
            InvalidPayloadError: There is no such target, signed URLs would lead nowhere, marks for
                a cache are asked for in a part of a history, or an earlier rendering cannot be.
        """
        query.check_at(since=since, up_to=up_to)
        if query.options.cache_markers and since:
            raise InvalidPayloadError(
                "Marks for a cache move on with each rendering, and would stay in the messages you "
                "have: leave `since` out, or set the marks yourself.",
                faults=[Fault("/since", "cannot stand beside cacheMarkers")],
            )
        return self.answers.profile(query)

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
            Exception: See `Renders.record`.
        """
        profile = self.check(query, since=since, up_to=up_to)
        async with self.slots.slot(project_id):
            rendering = None
            is_newest = up_to is None and query.at is None
            if since and is_newest:
                rendering = await self.new_entries.render(
                    project_id, session_id, profile, query.options, since
                )
            if rendering is None and query.options.frontier is not None and is_newest:
                rendering = await self._behind_fold(
                    project_id, session_id, profile, query, since=since, moves=moves
                )
            if rendering is None:
                loaded = (await self.load(project_id, session_id, at=query.at)).up_to(up_to)
                rendering = await self.render_loaded(
                    project_id, loaded, profile, query, since=since, moves=moves
                )
                sequences, turns = [loaded.entries, *loaded.held], len(loaded.entries)
                del loaded
                await self.settling.release(sequences, turns=turns)
            return await self.answers.body(project_id, rendering)

    async def _behind_fold(
        self,
        project_id: str,
        session_id: str,
        profile: Profile,
        query: RenderQuery,
        *,
        since: int,
        moves: bool,
    ) -> Rendering | None:
        """Render a session without the entries that are folded; `None` if they are needed."""
        stored = await self._stored_frontier(project_id, session_id, query.options, query.at)
        loaded = await self.windows.load(project_id, session_id, query.options, stored.frontier)
        if loaded is None:
            return None
        try:
            return await self.render_loaded(
                project_id, loaded, profile, query, since=since, moves=moves
            )
        except PrefixChangedError:
            return None

    async def render_loaded(
        self,
        project_id: str,
        loaded: LoadedSession,
        profile: Profile,
        query: RenderQuery,
        *,
        since: int,
        moves: bool,
    ) -> Rendering:
        """Render a session that was read; for the rest see `session`."""
        # Nobody can be in the way of a rendering without a frontier that has a name.
        for _ in range(_TRIES):
            rendering = await self._session(
                project_id, loaded, profile, query, since=since, moves=moves
            )
            if rendering is not None:
                return rendering
        raise ConflictError(
            "Others move this frontier all the time. Send the request again, or use one of your "
            "own.",
            code="frontier-contended",
        )

    async def load(
        self, project_id: str, session_id: str, *, at: int | None = None
    ) -> LoadedSession:
        """Read a session, whole or up to an entry; for what it raises see `session`."""
        loaded = await load_session(
            self.records, self.answers.blobs, project_id, session_id, self.known_turns
        )
        if at is not None and at > loaded.last_seq:
            raise InvalidPayloadError(
                f"The newest entry of the session has the number {loaded.last_seq}.",
                faults=[Fault("/query/at", f"is above {loaded.last_seq}")],
            )
        return loaded.up_to(at)

    async def fitted(
        self, project_id: str, loaded: LoadedSession, profile: Profile, query: RenderQuery
    ) -> tuple[StoredFrontier, Sequence[ComposedTurn], ResolvedTurns, Frontier]:
        """Make a session fit a target, from the frontier that is asked for.

        Answers that were kept behind the calls that were written for them stay there.

        Returns:
            That frontier, the turns of the session, what is shown of them, and how far the frontier
            has moved for that.
        """
        options = query.options
        stored = await self._stored_frontier(project_id, loaded.session_id, options, query.at)
        kept = stored.frontier.orphans
        audience = options.audience
        turns, options = await self.settling.worked(
            lambda: (loaded.turns(audience=audience, kept=kept), loaded.with_model(options)),
            turns=len(loaded.entries),
        )
        if options.memory:
            memory = await self._memory(project_id, loaded.session_id, profile, options)
            turns = [memory, *turns]
        turns = await self.settling.limited(project_id, loaded.session_id, turns, options)
        settled, frontier = await self.settling.fitted(
            *(project_id, turns, profile, options, stored.frontier),
            is_whole=True,
            front=loaded.front,
        )
        return stored, turns, settled, frontier

    async def _memory(
        self, project_id: str, session_id: str, profile: Profile, options: RenderOptions
    ) -> ComposedTurn:
        """Return what the system says of the memory: its rules and its pages, as far as asked."""
        texts = [instructions("strict")] if "instructions" in options.memory else []
        if "manifest" in options.memory:
            most, count = options.memory_tokens, profile.tokens.text
            texts.append(
                await self.pages.text(project_id, session_id, most_tokens=most, count=count)
            )
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
    ) -> Rendering | None:
        """Render a session, and store how far its frontier has moved if it is to move.

        Returns:
            The answer; `None` if somebody else has moved the frontier meanwhile.
        """
        options = query.options
        stored, turns, settled, moved_to = await self.fitted(project_id, loaded, profile, query)
        loaded.held.extend((turns, settled.turns, settled.loss))

        def write() -> tuple[Rendering, StoredFrontier]:
            document, hashes = session_document(
                settled, profile, options, last_seq=loaded.last_seq, since=since
            )
            stable, frontier = equal_hashes(stored.sent, hashes), moved_to
            if options.frontier is not None:
                orphans = (*loaded.orphans, *orphans_in(turns))
                frontier = moved_to.with_orphans(orphans)
                document["frontier"] = JsonLeaf(frontier.wire())
            if stored.name:
                document["stableThrough"] = stable
            mark(document, profile, options, stable=stable)
            new = StoredFrontier(stored.name, frontier, b"".join(hashes), stored.version + 1)
            return json_pieces(document), new

        rendering, new = await self.settling.worked(write, turns=len(turns))
        if moves and stored.name and not await self._keep(project_id, loaded, stored, new):
            return None
        return rendering

    async def _stored_frontier(
        self, project_id: str, session_id: str, options: RenderOptions, at: int | None
    ) -> StoredFrontier:
        """Return the frontier that is asked for; one without a name is stored nowhere."""
        asked = options.frontier
        if not isinstance(asked, str):
            return StoredFrontier("", asked or NOTHING_EVICTED)

        def find(unit: UnitOfWork) -> StoredFrontier:
            found = unit[FrontierRecords].find(session_id, asked) or StoredFrontier(asked)
            if at is None:
                return found
            frontier = unit[FrontierMoveRecords].frontier_at(session_id, found, at)
            return replace(found, frontier=frontier)

        # The moves are read as they were with this frontier.
        read = self.records.read if at is None else self.records.read_snapshot
        return await read(project_id, find)

    async def _keep(
        self, project_id: str, loaded: LoadedSession, old: StoredFrontier, new: StoredFrontier
    ) -> bool:
        """Store a frontier; says whether nobody else has meanwhile."""
        if (old.frontier, old.sent) == (new.frontier, new.sent):
            return True

        def put(unit: UnitOfWork) -> bool:
            require_found(unit[SessionRecords].hold(loaded.session_id), "session")
            session_id, replaces = loaded.session_id, old.version or None
            if not unit[FrontierRecords].put(session_id, new, utc_now(), replaces=replaces):
                return False
            unit[FrontierMoveRecords].add(session_id, old.frontier, new, loaded.last_seq)
            return True

        # What was sent last only tells what has changed; how far it has moved decides what will.
        is_durable = old.frontier != new.frontier
        return await self.records.write(project_id, put, is_durable=is_durable)
