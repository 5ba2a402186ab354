"""Renderings: a stored record, or a session, as the messages of one provider.

A rendering is a function of the stored records, the target's profile and the options: the same
request returns the same bytes. Signed URLs change every hour.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import partial

from app.models.named_record import NamedRecord
from app.services.inline_media.json_with_media import RenderedBody
from app.services.pages.page_views import PageViews
from app.services.renders.answer_renders import AnswerRenders
from app.services.renders.page_media import page_medium
from app.services.renders.queries import RenderQuery
from app.services.renders.session_renders import SessionRenders
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.page import Level
from pagefault_dialects.pages.effective_level import effective_level
from pagefault_dialects.turns.page_turns import page_turn


@dataclass(frozen=True, slots=True, eq=False)
class Renders:
    """Renders the records of a project."""

    views: PageViews
    """Reads pages at a level."""
    answers: AnswerRenders
    """Renders answers to calls."""
    sessions: SessionRenders
    """Renders histories."""

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
        """Render a page at a level as the answer to the call that faults it in.

        Args:
            project_id: The caller's project.
            page_id: The page.
            level: The level; `None` for the page's own.
            query: The target and the options.
            tool_call_id: The call that it answers; by default an id made of the page's.
            counts_access: Whether it counts as a read by a model, once it is sent.

        Raises:
            Exception: See `render_record`.
        Source: spec 000, "Multi-block Tool Results".
        """
        profile = self.answers.profile(query)
        view = await self.views.check_images(await self.views.view(project_id, page_id, level))
        if view.page.damage:
            # A damaged image is replaced by a line of text, which is of another level.
            view = replace(view, level=effective_level(view.page, view.level).level)
        medium = await page_medium(view)
        origin = f"/api/pages/{page_id}"
        call_id = tool_call_id or f"call_{hashlib.sha256(page_id.encode()).hexdigest()[:24]}"
        turn = await self.answers.resolver.run(
            lambda: page_turn(view.page, view.level, medium=medium, call_id=call_id, origin=origin)
        )
        count = partial(self.views.record_access, project_id, page_id) if counts_access else None
        return await self.answers.render(project_id, [turn], profile, query, on_delivery=count)

    async def render_record(
        self, project_id: str, request: NamedRecord, query: RenderQuery
    ) -> RenderedBody:
        """Render a record of any kind; see the method for its kind.

        Raises:
            NotFoundError: The project has no such record.
            InvalidPayloadError: The target is unknown, or signed URLs need a public URL.
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
            return await self.answers.render_tool_result(project_id, request.tool_result_id, query)
        if request.page_id is not None:
            return await self.render_page(
                project_id, request.page_id, request.level, query, tool_call_id=request.tool_call_id
            )
        return await self.sessions.render_session(
            project_id, request.session_id or "", query, since=request.since, stores_frontier=True
        )
