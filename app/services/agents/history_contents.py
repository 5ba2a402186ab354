"""Reads the content that a handle names: an entry, an argument, a medium, or a list of entries."""

from contextlib import aclosing
from dataclasses import dataclass

from app.services.agents.history_texts import HistoryTexts
from app.services.agents.media_lookup import find_inline_medium
from app.services.agents.tools import ToolContext
from pagefault_dialects.context.entry_refs import EntryRange, parse_entry_range
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.tools.tool_arguments import WrongArgumentsError

_TEXT = "text/plain"


@dataclass(frozen=True, slots=True)
class HistoryContent:
    """The content that a handle names."""

    mime_type: str
    data: bytes


@dataclass(frozen=True, slots=True, eq=False)
class HistoryContents:
    """Reads contents of histories by handle."""

    texts: HistoryTexts

    async def read(
        self, project_id: str, session_id: str, reference: str, *, max_bytes: int
    ) -> HistoryContent | str:
        """Return the content of a reference; or, as a string, the reason why there is none.

        Raises:
            PayloadTooLargeError: The content has more than `max_bytes`.
            StoreUnavailableError: A store did not answer.
        """
        try:
            content = await self._read(project_id, session_id, reference, max_bytes)
        except WrongArgumentsError as exc:
            return str(exc)
        if isinstance(content, HistoryContent) and len(content.data) > max_bytes:
            raise _too_large_error(reference, max_bytes)
        return content

    async def _read(
        self, project_id: str, session_id: str, reference: str, max_bytes: int
    ) -> HistoryContent | str:
        entries = parse_entry_range(reference)
        if entries is not None:
            data = await self._read_list(project_id, session_id, entries, max_bytes)
            return HistoryContent(_TEXT, data)
        found = await self.texts.find(project_id, session_id, reference)
        if found is not None:
            return HistoryContent(_TEXT, found[1].encode("utf-8", "replace"))
        context = ToolContext(project_id, session_id, call_id="")
        medium = await find_inline_medium(self.texts.records, self.texts.blobs, context, reference)
        if medium is None:
            return "The entry has no such medium."
        return HistoryContent(medium.medium.mime_type, medium.data)

    async def _read_list(
        self, project_id: str, session_id: str, entries: EntryRange, max_bytes: int
    ) -> bytes:
        await self.texts.measure(project_id, session_id, entries)
        data = bytearray()
        async with aclosing(self.texts.lines(project_id, session_id, entries)) as pieces:
            async for piece in pieces:
                for line in piece:
                    data += line.text.encode("utf-8", "replace") + b"\n"
                if len(data) > max_bytes:
                    raise _too_large_error(entries.ref_from(entries.first), max_bytes)
        return bytes(data)


def _too_large_error(reference: str, max_bytes: int) -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"{reference} has more than the {max_bytes} bytes that there is room for in this answer. "
        "Ask for less at once, or read it in pieces with the tool read_text.",
        code="medium-too-large",
    )
