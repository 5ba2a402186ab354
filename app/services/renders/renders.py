"""Renders a tool result, a memory page or a session as the messages of one provider.

A rendering depends only on the stored records, the profile of the target and the options. So the
same request returns the same bytes, except for signed URLs, which change every hour.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import partial

from app.models.named_record import NamedRecord
from app.services.inline_media.json_with_media import RenderedBody
from app.services.pages.page_views import PageViews
from app.services.renders.page_media import load_page_medium
from app.services.renders.queries import RenderQuery
from app.services.renders.session_renders import SessionRenders
from app.services.renders.tool_result_renders import ToolResultRenders
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.page import Level
from pagefault_dialects.pages.effective_level import find_effective_level
from pagefault_dialects.turns.page_turns import make_page_turn


@dataclass(frozen=True, slots=True, eq=False)
class Renders:
    """Renders the records of a project."""

    views: PageViews
    """Loads pages."""
    tool_results: ToolResultRenders
    """Renders single results, and the results of page faults."""
    sessions: SessionRenders
    """Renders sessions."""

    async def render_page(
        self,
        project_id: str,
        page_id: str,
        level: Level | None,
        query: RenderQuery,
        *,
        tool_call_id: str | None,
        counts_access: bool = True,
    ) -> RenderedBody:
        """Render a page as the result of a tool call that faults the page in.

        Args:
            project_id: The caller's project.
            page_id: The page.
            level: The level of detail; `None` for the level that is set for the page.
            query: The target and the options.
            tool_call_id: The id of the call; `None` to derive an id from the id of the page.
            counts_access: True to record, when the response has been sent, that a model has read
                the page.

        Raises:
            Exception: See `render_record`.
        Source: spec 000, "Multi-block Tool Results".
        """
        profile = self.tool_results.find_profile(query)
        view = await self.views.check_images(await self.views.view(project_id, page_id, level))
        if view.page.damage:
            # A text replaces a damaged image, so the level of the rendering is that of the text.
            view = replace(view, level=find_effective_level(view.page, view.level).level)
        medium = await load_page_medium(view)
        origin = f"/api/pages/{page_id}"
        call_id = tool_call_id or f"call_{hashlib.sha256(page_id.encode()).hexdigest()[:24]}"
        turn = await self.tool_results.resolver.run(
            lambda: make_page_turn(
                view.page, view.level, medium=medium, call_id=call_id, origin=origin
            )
        )
        record_access = partial(self.views.record_access, project_id, page_id)
        on_delivery = record_access if counts_access else None
        return await self.tool_results.render(
            project_id, [turn], profile, query, on_delivery=on_delivery
        )

    async def render_record(
        self, project_id: str, request: NamedRecord, query: RenderQuery
    ) -> RenderedBody:
        """Render the tool result, the page or the session that a request names.

        Raises:
            NotFoundError: The project has no such record.
            InvalidPayloadError: The target is unknown, signed URLs need a public URL, or a frontier
                is set for a record that is no session.
            ConflictError: Other requests moved the frontier during each attempt.
            PayloadTooLargeError: The history is too long to be rendered at once.
            StoreUnavailableError: A store did not answer.
        """
        if request.session_id is None and query.options.frontier is not None:
            raise InvalidPayloadError(
                "Only the renderings of sessions have a frontier.",
                faults=[Fault("/frontier", "needs sessionId")],
            )
        if request.tool_result_id is not None:
            return await self.tool_results.render_tool_result(
                project_id, request.tool_result_id, query
            )
        if request.page_id is not None:
            return await self.render_page(
                project_id, request.page_id, request.level, query, tool_call_id=request.tool_call_id
            )
        return await self.sessions.render_session(
            project_id, request.session_id or "", query, since=request.since, stores_frontier=True
        )
