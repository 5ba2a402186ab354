"""Renders sessions: the whole history as messages for a model, within a limit of tokens.

A *frontier* says how far the history was evicted, which means that old turns are shortened or left
out. If the messages exceed the limit, the frontier moves on. A frontier with a name is stored, so
that the next rendering has the same beginning, for the prompt cache of the provider.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeVar

from app.errors import ConflictError
from app.models.identity import utc_now
from app.services.concurrency.project_slots import ProjectSlots
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.loaded_sessions import LoadedSession
from app.services.renders.queries import RenderQuery
from app.services.renders.tool_result_renders import ToolResultRenders
from app.services.renders.turn_resolver import TurnResolver
from app.services.requests.validation import require_found
from app.stores.records.frontier_moves import FrontierMoveRecords
from app.stores.records.frontiers import FrontierRecords
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.telemetry.frontier_metrics import FrontierMetrics
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.conversation import ComposedTurn, TextItem, Turn
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier, StoredFrontier
from pagefault_dialects.model.render_options import Rendering, RenderOptions
from pagefault_dialects.pages.instructions import instructions
from pagefault_dialects.rendered_documents import (
    add_cache_marks,
    build_session_document,
    count_unchanged_messages,
)
from pagefault_dialects.targets.base64_leaves import JsonLeaf, json_pieces
from pagefault_dialects.targets.ladder import ResolvedTurns
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.turns.pairing import find_orphans

# The limits of concurrent renderings, since each has a whole history in memory.
_MAX_RENDERINGS = 8
_RENDERINGS_PER_PROJECT = 2
# The number of times that a rendering is tried if other requests move its frontier.
_ATTEMPTS = 8

_Result = TypeVar("_Result")


class PageTexts(Protocol):
    """Lists the pages of sessions for models. Implemented by `PageManifests`."""

    async def text(
        self, project_id: str, session_id: str, *, max_tokens: int, count: Callable[[str], int]
    ) -> str:
        """Return a line for each page of a session.

        Args:
            project_id: The project.
            session_id: The session.
            max_tokens: The maximum number of tokens of all lines.
            count: Counts the tokens of a text.

        Raises:
            NotFoundError: Nothing was ever written to the session.
        """


class NewEntryRenders(Protocol):
    """Renders the newest entries of sessions. Implemented by `NewEntries`."""

    async def render(
        self, project_id: str, session_id: str, profile: Profile, options: RenderOptions, since: int
    ) -> Rendering | None:
        """Render the entries after `since`; return `None` if the whole session has to be read."""


class Windows(Protocol):
    """Loads sessions without their folded entries. Implemented by `SessionWindows`."""

    async def load_and_render(
        self,
        project_id: str,
        session_id: str,
        options: RenderOptions,
        frontier: Frontier,
        render: Callable[[LoadedSession], Awaitable[_Result]],
        *,
        up_to: int | None,
    ) -> _Result:
        """Load a session without its folded entries, and return the result of `render`."""


@dataclass(frozen=True, slots=True)
class FittedSession:
    """A session whose turns were evicted and resolved to fit a target and the limits of a query."""

    stored: StoredFrontier
    """The frontier at which the eviction started."""
    turns: Sequence[ComposedTurn]
    """The turns of the session before any of them was evicted."""
    resolved: ResolvedTurns
    """The turns as they are sent to the target."""
    frontier: Frontier
    """The frontier up to which the turns were evicted."""


@dataclass(frozen=True, slots=True, eq=False)
class SessionRenders:
    """Renders sessions."""

    records: Records
    """Reads sessions, and stores frontiers."""
    resolver: TurnResolver
    """Resolves turns for a target."""
    tool_results: ToolResultRenders
    """Finds profiles, and builds the bodies of responses."""
    pages: PageTexts
    """Lists the pages of a session."""
    new_entries: NewEntryRenders
    """Renders the newest entries."""
    windows: Windows
    """Loads sessions without their folded entries."""
    metrics: FrontierMetrics
    """Counts the moves of frontiers."""
    slots: ProjectSlots = field(
        init=False, default_factory=lambda: ProjectSlots(_MAX_RENDERINGS, _RENDERINGS_PER_PROJECT)
    )

    def check(self, query: RenderQuery, *, since: int = 0, up_to: int | None = None) -> Profile:
        """Check the options of a query, and return the profile of its target.

        Args:
            query: The target and the options.
            since: See `render_session`.
            up_to: See `render_session`.

        Raises:
            InvalidPayloadError: The target is unknown, signed URLs need a public URL, or `since`
                or `at` cannot be combined with other options.
        """
        query.check_at(since=since, up_to=up_to)
        if query.options.cache_markers and since:
            raise InvalidPayloadError(
                "Marks for a cache move on with each rendering, and would stay in the messages you "
                "have: leave `since` out, or set the marks yourself.",
                faults=[Fault("/since", "cannot stand beside cacheMarkers")],
            )
        return self.tool_results.find_profile(query)

    async def render_session(
        self,
        project_id: str,
        session_id: str,
        query: RenderQuery,
        *,
        since: int,
        up_to: int | None = None,
        stores_frontier: bool = False,
    ) -> RenderedBody:
        """Render the history of a session as one list of messages.

        Args:
            project_id: The caller's project.
            session_id: The session.
            query: The target and the options.
            since: If it is not 0, only the messages of entries with a larger `seq` are returned,
                with the hash of the messages before them.
            up_to: The `seq` of the last entry to render; `None` for the newest one.
            stores_frontier: True to store a named frontier that has moved.

        Raises:
            Exception: See `Renders.render_record`.
        """
        profile = self.check(query, since=since, up_to=up_to)
        async with self.slots.slot(project_id):
            rendering = None
            if since and up_to is None and query.at is None:
                rendering = await self.new_entries.render(
                    project_id, session_id, profile, query.options, since
                )
            if rendering is None:
                rendering = await self.load_and_render(
                    project_id,
                    session_id,
                    query,
                    lambda loaded: self.render_loaded(
                        project_id,
                        loaded,
                        profile,
                        query,
                        since=since,
                        stores_frontier=stores_frontier,
                    ),
                    up_to=up_to,
                )
            return await self.tool_results.build_body(project_id, rendering)

    async def load_and_render(
        self,
        project_id: str,
        session_id: str,
        query: RenderQuery,
        render: Callable[[LoadedSession], Awaitable[_Result]],
        *,
        up_to: int | None = None,
    ) -> _Result:
        """Load a session without its folded entries, and return the result of `render`.

        Args:
            project_id: The caller's project.
            session_id: The session.
            query: The target, and the options with the frontier.
            render: Renders the loaded session. It is called again with the whole session if it
                needs folded entries.
            up_to: The `seq` of the last entry to load; `None` for the newest entry.

        Raises:
            Exception: See `Renders.render_record`.
        """
        options, end = query.options, query.at if up_to is None else up_to
        stored = await self._find_frontier(project_id, session_id, options, query.at)
        return await self.windows.load_and_render(
            project_id, session_id, options, stored.frontier, render, up_to=end
        )

    async def render_loaded(
        self,
        project_id: str,
        loaded: LoadedSession,
        profile: Profile,
        query: RenderQuery,
        *,
        since: int,
        stores_frontier: bool,
    ) -> Rendering:
        """Render a loaded session; see `render_session`.

        Raises:
            ConflictError: Other requests moved the frontier during each attempt.
        """
        for _ in range(_ATTEMPTS):
            rendering = await self._try_render(
                project_id, loaded, profile, query, since=since, stores_frontier=stores_frontier
            )
            if rendering is not None:
                return rendering
        self.metrics.count_move("refused")
        raise ConflictError(
            f"The frontier was moved by other requests {_ATTEMPTS} times in a row. Send the "
            "request again, or use a frontier of your own.",
            code="frontier-contended",
        )

    async def fit(
        self, project_id: str, loaded: LoadedSession, profile: Profile, query: RenderQuery
    ) -> FittedSession:
        """Evict and resolve the turns of a session to fit a target and the limits of a query.

        A result without a call in the history gets an added call. The frontier lists such results.
        They keep the added call, even if the history has the real call by now, so that the messages
        do not change.

        Args:
            project_id: The caller's project.
            loaded: The session.
            profile: The profile of the target.
            query: The target, and the options with the frontier and the limits.
        """
        options = query.options
        stored = await self._find_frontier(project_id, loaded.session_id, options, query.at)
        pair_turns = partial(
            loaded.pair_turns, audience=options.audience, pinned_results=stored.frontier.orphans
        )
        turns, options = await self.resolver.run(
            lambda: (pair_turns(), loaded.with_model(query.options)), turns=len(loaded.entries)
        )
        if options.memory:
            memory = await self._build_memory_turn(project_id, loaded.session_id, profile, options)
            turns = [memory, *turns]
        turns = await self.resolver.limit_texts(project_id, loaded.session_id, turns, options)
        resolved, frontier = await self.resolver.fit(
            project_id,
            turns,
            profile,
            options,
            loaded.clamp_frontier(stored.frontier),
            is_whole=True,
            prefix_summary=loaded.prefix_summary,
        )
        return FittedSession(stored, turns, resolved, frontier)

    async def _build_memory_turn(
        self, project_id: str, session_id: str, profile: Profile, options: RenderOptions
    ) -> ComposedTurn:
        """Return a system turn about the memory: instructions, the list of pages, or both."""
        texts = [instructions("strict")] if "instructions" in options.memory else []
        if "manifest" in options.memory:
            texts.append(
                await self.pages.text(
                    project_id,
                    session_id,
                    max_tokens=options.memory_tokens,
                    count=profile.tokens.count_text,
                )
            )
        items = (TextItem("", "\n\n".join(texts)),)
        return Turn(role="system", items=items, origin=f"/api/sessions/{session_id}/manifest")

    async def _try_render(
        self,
        project_id: str,
        loaded: LoadedSession,
        profile: Profile,
        query: RenderQuery,
        *,
        since: int,
        stores_frontier: bool,
    ) -> Rendering | None:
        """Render a session, and store its frontier if `stores_frontier` is set.

        Returns:
            The rendering; `None` if another request has moved the frontier meanwhile.
        """
        options = query.options
        fitted = await self.fit(project_id, loaded, profile, query)
        stored, resolved = fitted.stored, fitted.resolved
        # These lists may be long, so they are freed in a thread; see `TurnResolver.free`.
        loaded.derived.extend((fitted.turns, resolved.turns, resolved.loss))

        def write() -> tuple[Rendering, StoredFrontier]:
            document, hashes = build_session_document(
                resolved, profile, options, last_seq=loaded.last_seq, since=since
            )
            unchanged_count = count_unchanged_messages(stored.sent, hashes)
            frontier = fitted.frontier
            if options.frontier is not None:
                frontier = frontier.with_orphans((*loaded.orphans, *find_orphans(fitted.turns)))
                document["frontier"] = JsonLeaf(frontier.wire())
            if stored.name:
                document["stableThrough"] = unchanged_count
            add_cache_marks(document, profile, options, sent_messages=unchanged_count)
            moved = StoredFrontier(stored.name, frontier, b"".join(hashes), stored.version + 1)
            return json_pieces(document), moved

        rendering, moved = await self.resolver.run(write, turns=len(fitted.turns))
        if stores_frontier and stored.name:
            is_stored = await self._store_frontier(project_id, loaded, stored, moved)
            return rendering if is_stored else None
        return rendering

    async def _find_frontier(
        self, project_id: str, session_id: str, options: RenderOptions, at: int | None
    ) -> StoredFrontier:
        """Return the frontier that the options contain or name.

        Args:
            project_id: The caller's project.
            session_id: The session.
            options: The options. Their frontier is a frontier, the name of a stored frontier, or
                `None`.
            at: The `seq` of an entry, to return the stored frontier as it was when this entry was
                the newest.
        """
        frontier = options.frontier
        if not isinstance(frontier, str) and at is None:
            return StoredFrontier("", frontier or NOTHING_EVICTED)

        def find(unit: UnitOfWork) -> StoredFrontier:
            if at is not None:
                _require_entry(unit, session_id, at)
            if not isinstance(frontier, str):
                return StoredFrontier("", frontier or NOTHING_EVICTED)
            stored = unit[FrontierRecords].find(session_id, frontier) or StoredFrontier(frontier)
            if at is None:
                return stored
            earlier = unit[FrontierMoveRecords].find_frontier_at(session_id, stored, at)
            return replace(stored, frontier=earlier)

        # The frontier and its moves are read by two queries, so they need a snapshot.
        read = self.records.read if at is None else self.records.read_snapshot
        return await read(project_id, find)

    async def _store_frontier(
        self, project_id: str, loaded: LoadedSession, old: StoredFrontier, new: StoredFrontier
    ) -> bool:
        """Store a frontier if it has changed.

        Returns:
            False if another request has changed the stored frontier since `old` was read.
        """
        if (old.frontier, old.sent) == (new.frontier, new.sent):
            return True

        def put(unit: UnitOfWork) -> bool:
            session_id = loaded.session_id
            require_found(unit[SessionRecords].find_and_lock(session_id), "session")
            replaces = old.version or None
            if not unit[FrontierRecords].put(session_id, new, utc_now(), replaces=replaces):
                return False
            unit[FrontierMoveRecords].add(session_id, old.frontier, new, loaded.last_seq)
            return True

        # The hashes of the messages may be lost in a crash, which only lowers `stableThrough`. The
        # position must not be lost, because the next rendering would differ.
        is_durable = old.frontier != new.frontier
        is_stored = await self.records.write(project_id, put, is_durable=is_durable)
        if is_durable or not is_stored:
            self.metrics.count_move("moved" if is_stored else "contended")
        return is_stored


def _require_entry(unit: UnitOfWork, session_id: str, at: int) -> None:
    """Raise an error if `at` is above the `seq` of the last entry of a session.

    Raises:
        InvalidPayloadError: There is no such entry yet.
        NotFoundError: There is no such session.
    """
    head = require_found(unit[SessionHistory].find_head(session_id), "session")
    if at > head.last_seq:
        raise InvalidPayloadError(
            f"The newest entry of the session has the number {head.last_seq}.",
            faults=[Fault("/query/at", f"is above {head.last_seq}")],
        )
