"""Memory pages."""

# Written by generate.py from `_async/`; change that.

from collections.abc import Sequence
from typing import Any, Unpack

from pagefault_client import models, operations
from pagefault_client._sync.lists import Items
from pagefault_client._sync.transport import Transport
from pagefault_client.options import Level, RenderOptions, Target, level_name, on_the_wire


class Pages:
    """Pages of an agent's memory, each with up to four levels.

    Levels are numbers or names: 0 is FULL, 1 REDUCED, 2 ABSTRACT, 3 REFERENCE.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def put(
        self,
        page_id: str,
        /,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        **page: Unpack[models.PageDraft],
    ) -> models.PageRecord:
        """Create or replace a page; the same page again changes nothing.

        `put("img_001", modality="image", content="@blob:9a0e…", caption="A sunset")`

        Raises:
            PreconditionFailedError: The page is not the one of `if_match`, or is there in spite of
                `if_none_match="*"`.
        """
        return self._transport.send(
            operations.put_page(page_id, page, if_match=if_match, if_none_match=if_none_match)
        )

    def create(
        self, *, idempotency_key: str | None = None, **page: Unpack[models.PageDraft]
    ) -> models.PageRecord:
        """Create a page, which gets an id unless `page_id` gives one.

        Raises:
            ConflictError: There is a page with this id.
        """
        return self._transport.send(operations.create_page(page, idempotency_key=idempotency_key))

    def create_many(self, pages: Sequence[models.PageDraft]) -> Sequence[models.PageSummary]:
        """Create up to 1,000 pages, all of them or none."""
        made = self._transport.send(operations.create_pages({"pages": [*pages]}))
        return made["items"]

    def get(self, page_id: str, *, media: models.MediaForm | None = None) -> models.PageRecord:
        """Return a page with its content; `media="inline"` has its media in place of references."""
        return self._transport.send(operations.get_page(page_id, media=media))

    def patch(
        self, page_id: str, *, if_match: str | None = None, **changes: Unpack[models.PagePatch]
    ) -> models.PageRecord:
        """Change fields of a page, of all but its content; None clears one."""
        return self._transport.send(operations.patch_page(page_id, changes, if_match=if_match))

    def delete(self, page_id: str, *, if_match: str | None = None) -> None:
        """Delete a page and its levels; histories keep its faults."""
        self._transport.send(operations.delete_page(page_id, if_match=if_match))

    def list(
        self,
        *,
        session_id: str | None = None,
        modality: models.Modality | None = None,
        page_type: models.PageType | None = None,
        pinned: bool | None = None,
        level: Level | None = None,
        limit: int | None = None,
    ) -> Items[models.PageSummary]:
        """Return pages without contents, newest first."""
        return Items(
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
    ) -> Items[models.SearchHit]:
        """Return the pages that have the words of a query, the best first."""
        return Items(
            self._transport,
            lambda cursor: operations.search_pages(
                q=query, limit=limit, cursor=cursor, session_id=session_id, modality=modality
            ),
        )

    def fault(
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
        """Return a page at a level as the message for a model (the shape `openai-compat`).

        With a session, the fault becomes an entry of its history.

        Raises:
            NotFoundError: There is no such page; `tool_message` says it to the model.
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
        return self._transport.send(call.changed(is_repeatable=is_repeatable))

    def content(
        self,
        page_id: str,
        *,
        level: Level | None = None,
        media: models.MediaForm | None = None,
    ) -> models.PageContent:
        """Return the content of a level; its `type` is that of the modality."""
        return self._transport.send(
            operations.get_page_content(page_id, level=level_name(level), media=media)
        )

    def blocks(
        self,
        page_id: str,
        *,
        level: Level | None = None,
        media: models.MediaForm | None = None,
        detail: models.ImageDetail | None = None,
        max_chars: int | None = None,
        offset: int | None = None,
    ) -> models.PageBlocksRecord:
        """Return a level as blocks of a message."""
        return self._transport.send(
            operations.get_page_blocks(
                page_id,
                level=level_name(level),
                media=media,
                detail=detail,
                max_chars=max_chars,
                offset=offset,
            )
        )

    def level(self, page_id: str, level: Level) -> models.PageLevelRecord:
        """Return one level as it is stored, and where it comes from."""
        return self._transport.send(operations.get_page_representation(page_id, level))

    def put_level(
        self,
        page_id: str,
        level: Level,
        content: Any,  # noqa: ANN401 - by modality
        *,
        if_match: str | None = None,
    ) -> models.PageLevelRecord:
        """Supply a level: a summary, a transcript, a caption, a smaller image."""
        return self._transport.send(
            operations.put_page_representation(
                page_id, level, {"content": content}, if_match=if_match
            )
        )

    def delete_level(self, page_id: str, level: Level, *, if_match: str | None = None) -> None:
        """Remove a supplied level; a derived one takes its place."""
        self._transport.send(
            operations.delete_page_representation(page_id, level, if_match=if_match)
        )

    def render(
        self,
        page_id: str,
        target: Target = "openai-compat",
        *,
        level: Level | None = None,
        tool_call_id: str | None = None,
        **options: Unpack[RenderOptions],
    ) -> models.RenderedRecord:
        """Return a page as messages for a model."""
        body: Any = {"target": target, "pageId": page_id, **on_the_wire(options)}
        body |= on_the_wire({"level": level, "tool_call_id": tool_call_id})
        return self._transport.send(operations.render_record(body))

    def download(self, page_id: str, *, level: Level | None = None) -> bytes:
        """Return the file of a page: media as they are, text as text, data as JSON."""
        return self._transport.send(operations.download_page(page_id, level=level_name(level)))
