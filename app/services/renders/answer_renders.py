"""Renderings of answers to calls: tool results, and words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.models.identity import is_id
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.queries import RenderQuery
from app.services.renders.settling import Settling
from app.services.renders.structured_contents import read_apart
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
    """Where they are."""
    blobs: BlobStore
    """Where their media are."""
    settling: Settling
    """Makes what is read fit a target."""

    def profile(self, query: RenderQuery) -> Profile:
        """Return the target of a rendering.

        Raises:
            InvalidPayloadError: There is none, or signed URLs would lead nowhere.
        """
        return query.profile(can_sign=self.settling.content_base_url is not None)

    async def tool_result(
        self, project_id: str, tool_result_id: str, query: RenderQuery
    ) -> RenderedBody:
        """Render a tool result as the answer to its call. Raises as `Renders.record`."""
        profile = self.profile(query)
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
        return await self.rendered(project_id, turns, profile, query)

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
        return await self.rendered(project_id, [turn], self.profile(query), query)

    async def rendered(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        profile: Profile,
        query: RenderQuery,
        *,
        given: Callable[[], None] | None = None,
    ) -> RenderedBody:
        """Render turns that are no whole history."""
        options = query.options
        settled, _ = await self.settling.fitted(
            project_id, turns, profile, options, NOTHING_EVICTED, is_whole=False
        )

        def write() -> Rendering:
            document = document_of(settled, profile, options)
            mark(document, profile, options)
            return json_pieces(document)

        return await self.body(project_id, await self.settling.worked(write), given=given)

    async def body(
        self, project_id: str, rendering: Rendering, given: Callable[[], None] | None = None
    ) -> RenderedBody:
        """Return a rendering as it is sent."""
        return await RenderedBody(self.blobs, project_id, rendering, given=given).check()
