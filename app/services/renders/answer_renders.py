"""Renderings of answers to calls: tool results, and texts that are not stored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.models.identity import is_id
from app.services.inline_media.json_with_media import RenderedBody
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
from pagefault_dialects.rendered_documents import document_of, mark
from pagefault_dialects.targets.base64_leaves import json_pieces
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.turns.record_turns import tool_result_turn


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRenders:
    """Renders answers to calls."""

    records: Records
    """The records of tool results."""
    blobs: BlobStore
    """The files of their media."""
    resolver: TurnResolver
    """Resolves turns for a target."""

    def profile(self, query: RenderQuery) -> Profile:
        """Return the profile of the target of a rendering.

        Raises:
            InvalidPayloadError: The target is unknown, or signed URLs need a public URL.
        """
        return query.profile(can_sign=self.resolver.content_base_url is not None)

    async def render_tool_result(
        self, project_id: str, tool_result_id: str, query: RenderQuery
    ) -> RenderedBody:
        """Render a tool result as the answer to its call; errors as in `Renders.render_record`."""
        profile = self.profile(query)
        found = None
        if is_id(tool_result_id):
            found = await self.records.read(
                project_id, lambda unit: unit[ToolResultRecords].find(tool_result_id)
            )
        stored = require_found(found, "tool result")
        sanitized = stored.sanitized
        options = query.options
        # Handles of texts contain the `seq` of their entry.
        seq = stored.seq if options.handles or options.max_text is not None else None
        structured = await read_structured_contents(self.blobs, project_id, [sanitized])
        origin, audience = f"/api/tool-results/{tool_result_id}", options.audience
        turn = await self.resolver.run(
            lambda: tool_result_turn(
                sanitized, origin=origin, audience=audience, seq=seq, structured_contents=structured
            )
        )
        turns = await self.resolver.limit_texts(project_id, stored.session_id, [turn], options)
        return await self.render(project_id, turns, profile, query)

    async def append_rendering(
        self, project_id: str, tool_result_id: str, record: bytes, query: RenderQuery
    ) -> RenderedBody:
        """Return a stored tool result as JSON, with its rendering as an additional member.

        If the rendering fails, the member is null, because the record is stored already.
        """
        try:
            rendered = await self.render_tool_result(project_id, tool_result_id, query)
        except PagefaultError:
            rendered = RenderedBody(self.blobs, project_id, Rendering([b"null"]))
        head = record[:-1] + b',"rendering":'
        pieces = joined_pieces([head, *rendered.rendering.pieces, b"}"])
        return replace(rendered, rendering=Rendering(pieces))

    async def render_text(
        self, project_id: str, call_id: str, tool_name: str, text: str, query: RenderQuery
    ) -> RenderedBody:
        """Render a text as the failed answer to a call, which is not stored."""
        turn: ComposedTurn = Turn(
            role="tool",
            items=(TextItem("", text),),
            origin="",
            call_id=call_id,
            tool_name=tool_name,
            is_error=True,
        )
        return await self.render(project_id, [turn], self.profile(query), query)

    async def render(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        query: RenderQuery,
        *,
        on_delivery: Callable[[], None] | None = None,
    ) -> RenderedBody:
        """Render turns that are not a whole history."""
        options = query.options
        resolved, _ = await self.resolver.fit(
            project_id, turns, profile, options, NOTHING_EVICTED, is_whole=False
        )

        def write() -> Rendering:
            document = document_of(resolved, profile, options)
            mark(document, profile, options)
            return json_pieces(document)

        return await self.body(project_id, await self.resolver.run(write), on_delivery)

    async def body(
        self, project_id: str, rendering: Rendering, on_delivery: Callable[[], None] | None = None
    ) -> RenderedBody:
        """Return a rendering as a body, after a check of its files."""
        return await RenderedBody(
            self.blobs, project_id, rendering, on_delivery=on_delivery
        ).check()
