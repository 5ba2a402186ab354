"""Memory pages."""

from collections.abc import Sequence
from typing import Any, Unpack

from pagefault_client import models, operations
from pagefault_client._async.lists import AsyncItems
from pagefault_client._async.transport import AsyncTransport
from pagefault_client.options import Level, RenderOptions, Target, level_name, to_camel_case


class AsyncPages:
    """Pages of an agent's memory, each with up to four levels.

    Levels are numbers or names: 0 is FULL, 1 REDUCED, 2 ABSTRACT, 3 REFERENCE.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def put(
        self,
        page_id: str,
        /,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        **page: Unpack[models.PageDraft],
    ) -> models.PageRecord:
        """Create or replace a page. Writing an identical page again has no effect.

        `put("img_001", modality="image", content="@blob:9a0e…", caption="A sunset")`

        Raises:
            PreconditionFailedError: The ETag of the page is not `if_match`, or the page exists and
                `if_none_match` is `*`.
        """
        return await self._transport.send(
            operations.put_page(page_id, page, if_match=if_match, if_none_match=if_none_match)
        )

    async def create(
        self, *, idempotency_key: str | None = None, **page: Unpack[models.PageDraft]
    ) -> models.PageRecord:
        """Create a page; without `page_id`, an id is generated.

        Raises:
            ConflictError: A page with this id exists.
        """
        return await self._transport.send(
            operations.create_page(page, idempotency_key=idempotency_key)
        )

    async def create_many(self, pages: Sequence[models.PageDraft]) -> Sequence[models.PageSummary]:
        """Create up to 1,000 pages in one transaction."""
        created = await self._transport.send(operations.create_pages({"pages": [*pages]}))
        return created["items"]

    async def get(
        self, page_id: str, *, media: models.MediaForm | None = None
    ) -> models.PageRecord:
        """Return a page with its content; `media="inline"` replaces references with media."""
        return await self._transport.send(operations.get_page(page_id, media=media))

    async def patch(
        self, page_id: str, *, if_match: str | None = None, **changes: Unpack[models.PagePatch]
    ) -> models.PageRecord:
        """Change fields of a page other than its content; None clears a field."""
        return await self._transport.send(
            operations.patch_page(page_id, changes, if_match=if_match)
        )

    async def delete(self, page_id: str, *, if_match: str | None = None) -> None:
        """Delete a page and its levels; its faults stay in the histories."""
        await self._transport.send(operations.delete_page(page_id, if_match=if_match))

    def list(
        self,
        *,
        session_id: str | None = None,
        modality: models.Modality | None = None,
        page_type: models.PageType | None = None,
        pinned: bool | None = None,
        level: Level | None = None,
        limit: int | None = None,
    ) -> AsyncItems[models.PageSummary]:
        """Return pages without contents, newest first."""
        return AsyncItems(
            self._transport,
            lambda cursor: operations.list_pages(
                limit=limit,
                cursor=cursor,
                session_id=session_id,
                modality=modality,
                page_type=page_type,
                pinned=pinned,
                level=level_name(level),
            ),
        )

    def search(
        self,
        query: str,
        *,
        session_id: str | None = None,
        modality: models.Modality | None = None,
        limit: int | None = None,
    ) -> AsyncItems[models.SearchHit]:
        """Search pages by words; return the best matches first."""
        return AsyncItems(
            self._transport,
            lambda cursor: operations.search_pages(
                q=query, limit=limit, cursor=cursor, session_id=session_id, modality=modality
            ),
        )

    async def fault(
        self,
        page_id: str,
        target_level: Level = 2,
        *,
        session_id: str | None = None,
        tool_call_id: str | None = None,
        max_chars: int | None = None,
        offset: int = 0,
        detail: models.ImageDetail = "low",
    ) -> models.PageToolMessage:
        """Load a page at a level, and return it as a message for a model (target `openai-compat`).

        With a session, the fault is appended to its history.

        Raises:
            NotFoundError: The page does not exist; `tool_message` is the message for the model.
        """
        body: models.FaultRequest = {
            "target_level": target_level,
            "session_id": session_id,
            "tool_call_id": tool_call_id,
            "max_chars": max_chars,
            "offset": offset,
            "detail": detail,
        }
        call = operations.fault_page(page_id, body)
        is_repeatable = session_id is None or tool_call_id is not None
        return await self._transport.send(call.replace(is_repeatable=is_repeatable))

    async def content(
        self,
        page_id: str,
        *,
        level: Level | None = None,
        media: models.MediaForm | None = None,
    ) -> models.PageContent:
        """Return the content of a level; its `type` depends on the modality."""
        return await self._transport.send(
            operations.get_page_content(page_id, level=level_name(level), media=media)
        )

    async def blocks(
        self,
        page_id: str,
        *,
        level: Level | None = None,
        media: models.MediaForm | None = None,
        detail: models.ImageDetail | None = None,
        max_chars: int | None = None,
        offset: int | None = None,
    ) -> models.PageBlocksRecord:
        """Render a level as blocks of a message."""
        return await self._transport.send(
            operations.get_page_blocks(
                page_id,
                level=level_name(level),
                media=media,
                detail=detail,
                max_chars=max_chars,
                offset=offset,
            )
        )

    async def level(self, page_id: str, level: Level) -> models.PageLevelRecord:
        """Return one stored level, with its origin."""
        return await self._transport.send(operations.get_page_representation(page_id, level))

    async def put_level(
        self,
        page_id: str,
        level: Level,
        content: Any,  # noqa: ANN401 - by modality
        *,
        if_match: str | None = None,
    ) -> models.PageLevelRecord:
        """Store a level: a summary, a transcript, a caption, a smaller image."""
        return await self._transport.send(
            operations.put_page_representation(
                page_id, level, {"content": content}, if_match=if_match
            )
        )

    async def delete_level(
        self, page_id: str, level: Level, *, if_match: str | None = None
    ) -> None:
        """Delete a stored level; a derived one replaces it."""
        await self._transport.send(
            operations.delete_page_representation(page_id, level, if_match=if_match)
        )

    async def render(
        self,
        page_id: str,
        target: Target = "openai-compat",
        *,
        level: Level | None = None,
        tool_call_id: str | None = None,
        **options: Unpack[RenderOptions],
    ) -> models.RenderedRecord:
        """Render a page as messages for a model."""
        body: Any = {"target": target, "pageId": page_id, **to_camel_case(options)}
        body |= to_camel_case({"level": level, "tool_call_id": tool_call_id})
        return await self._transport.send(operations.render_record(body))

    async def download(self, page_id: str, *, level: Level | None = None) -> bytes:
        """Return the content of a page as a file: media unchanged, text as text, data as JSON."""
        return await self._transport.send(
            operations.download_page(page_id, level=level_name(level))
        )
