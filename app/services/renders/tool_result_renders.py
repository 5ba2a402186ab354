"""Renders the results of tool calls as messages for a model, each without the rest of its session.

A result may be a stored record, or a text that is not stored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from app.models.identity import is_id
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.loaded_sessions import load_entry
from app.services.renders.queries import RenderQuery
from app.services.renders.structured_contents import read_structured_contents
from app.services.renders.turn_resolver import TurnResolver
from app.services.requests.validation import require_found
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.stores.records.tool_results import ToolResultRecords
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.model.conversation import ComposedTurn, TextItem, Turn
from pagefault_dialects.model.frontier import NOTHING_EVICTED
from pagefault_dialects.model.render_options import Rendering, joined_pieces
from pagefault_dialects.rendered_documents import add_cache_marks, build_document
from pagefault_dialects.targets.base64_leaves import json_pieces
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.turns.record_turns import make_tool_result_turn


@dataclass(frozen=True, slots=True, eq=False)
class ToolResultRenders:
    """Renders results of tool calls for a target."""

    records: Records
    blobs: BlobStore
    resolver: TurnResolver
    """Replaces media and texts that the target does not accept."""

    def find_profile(self, query: RenderQuery) -> Profile:
        """Return the profile of a query's target: the limits and rules of its API.

        Raises:
            InvalidPayloadError: The target is unknown, or signed URLs need a public URL.
        """
        return query.find_profile(can_sign=self.resolver.content_base_url is not None)

    async def render_tool_result(
        self, project_id: str, tool_result_id: str, query: RenderQuery
    ) -> RenderedBody:
        """Render a stored tool result as the answer to its call.

        Args:
            project_id: The caller's project.
            tool_result_id: The id of the record.
            query: The target and the options.

        Raises:
            Exception: See `Renders.render_record`.
        """
        profile = self.find_profile(query)
        record = None
        if is_id(tool_result_id):
            record = await self.records.read(
                project_id, lambda unit: unit[ToolResultRecords].find(tool_result_id)
            )
        record = require_found(record, "tool result")
        options = query.options
        # Handles of texts contain the `seq` of the entry, so they are the only use of it.
        seq = record.seq if options.handles or options.max_text is not None else None
        structured = await read_structured_contents(self.blobs, project_id, [record.sanitized])
        build_turn = partial(
            make_tool_result_turn,
            record.sanitized,
            origin=f"/api/tool-results/{tool_result_id}",
            audience=options.audience,
            seq=seq,
            structured_contents=structured,
        )
        turn = await self.resolver.run(build_turn)
        turns = await self.resolver.limit_texts(project_id, record.session_id, [turn], options)
        return await self.render(project_id, turns, profile, query)

    async def render_entry(
        self, project_id: str, session_id: str, seq: int, query: RenderQuery
    ) -> RenderedBody:
        """Render one entry of a session, a tool result or a page fault, as the answer to its call.

        Args:
            project_id: The caller's project.
            session_id: The session.
            seq: The `seq` of the entry.
            query: The target and the options.

        Raises:
            Exception: See `Renders.render_record`.
        """
        profile, options = self.find_profile(query), query.options
        loaded = await load_entry(self.records, self.blobs, project_id, session_id, seq)
        turns = await self.resolver.run(lambda: loaded.read_first_entry_turns(options.audience))
        turns = await self.resolver.limit_texts(project_id, session_id, turns, options)
        return await self.render(project_id, turns, profile, query)

    async def append_rendering(
        self, project_id: str, tool_result_id: str, record: bytes, query: RenderQuery
    ) -> RenderedBody:
        """Return a stored tool result as JSON, with its rendering in the member `rendering`.

        If the rendering fails, the member is null. The request that has stored the record succeeds
        nevertheless.

        Args:
            project_id: The caller's project.
            tool_result_id: The id of the record.
            record: The record as JSON, an object.
            query: The target and the options of the rendering.
        """
        try:
            rendered = await self.render_tool_result(project_id, tool_result_id, query)
        except PagefaultError:
            rendered = RenderedBody(self.blobs, project_id, Rendering([b"null"]))
        record_members = record.removesuffix(b"}") + b',"rendering":'
        pieces = joined_pieces([record_members, *rendered.rendering.pieces, b"}"])
        return replace(rendered, rendering=Rendering(pieces))

    async def render_text(
        self, project_id: str, call_id: str, tool_name: str, text: str, query: RenderQuery
    ) -> RenderedBody:
        """Render a text as the result of a tool call that failed. Nothing is stored."""
        turn: ComposedTurn = Turn(
            role="tool",
            items=(TextItem("", text),),
            origin="",
            call_id=call_id,
            tool_name=tool_name,
            is_error=True,
        )
        return await self.render(project_id, [turn], self.find_profile(query), query)

    async def render(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        query: RenderQuery,
        *,
        on_delivery: Callable[[], None] | None = None,
    ) -> RenderedBody:
        """Render turns that are not a whole conversation, without evicting any of them.

        Args:
            project_id: The caller's project.
            turns: The turns, in order.
            profile: The profile of the target.
            query: The target and the options.
            on_delivery: Called once the response has been sent.
        """
        options = query.options
        resolved, _ = await self.resolver.fit(
            project_id, turns, profile, options, NOTHING_EVICTED, is_whole=False
        )

        def write() -> Rendering:
            document = build_document(resolved, profile, options)
            add_cache_marks(document, profile, options)
            return json_pieces(document)

        return await self.build_body(project_id, await self.resolver.run(write), on_delivery)

    async def build_body(
        self, project_id: str, rendering: Rendering, on_delivery: Callable[[], None] | None = None
    ) -> RenderedBody:
        """Return a rendering as the body of a response, after a check that its media are stored.

        Args:
            project_id: The caller's project.
            rendering: The JSON, with references to media that are read while it is sent.
            on_delivery: Called once the response has been sent.
        """
        return await RenderedBody(
            self.blobs, project_id, rendering, on_delivery=on_delivery
        ).check()
