"""Reads the bytes that a handle of a history names, for programs (`references.py`).

A handle names an entry, an argument of a call, a small medium in an entry, or a list of entries.
`text_reader.py` reads the same handles for models, in pieces.
"""

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
    """The bytes that a handle names, and their type."""

    mime_type: str
    data: bytes


@dataclass(frozen=True, slots=True, eq=False)
class HistoryContents:
    """Reads contents of histories by handle."""

    texts: HistoryTexts
    """Reads entries and lists of entries."""

    async def read(
        self, project_id: str, session_id: str, reference: str, *, max_bytes: int
    ) -> HistoryContent | str:
        """Return the content that a handle names.

        Args:
            project_id: The project.
            session_id: The session.
            reference: The handle.
            max_bytes: The maximum size of the content.

        Returns:
            The content; if there is none, a text that explains why.

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
        """Return the content of a handle, before its size is checked; see `read`."""
        entries = parse_entry_range(reference)
        if entries is not None:
            data = await self._read_list(project_id, session_id, entries, max_bytes)
            return HistoryContent(_TEXT, data)
        named_text = await self.texts.find(project_id, session_id, reference)
        if named_text is not None:
            _, text = named_text
            return HistoryContent(_TEXT, text.encode("utf-8", "replace"))
        context = ToolContext(project_id, session_id, call_id="")
        medium = await find_inline_medium(self.texts.records, self.texts.blobs, context, reference)
        if medium is None:
            return "The entry has no such medium."
        return HistoryContent(medium.medium.mime_type, medium.data)

    async def _read_list(
        self, project_id: str, session_id: str, entries: EntryRange, max_bytes: int
    ) -> bytes:
        """Return the lines of a list as UTF-8."""
        # Called for its error if the list is empty.
        await self.texts.measure(project_id, session_id, entries)
        data = bytearray()
        async with aclosing(self.texts.lines(project_id, session_id, entries)) as batches:
            async for batch in batches:
                for line in batch:
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
