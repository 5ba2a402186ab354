"""Finds the media that models name in calls of memory tools.

A *handle* is the name of a medium in a text that a model has read: `@blob:ID` for a resource, or
`@entry:SEQ/ID` for a small medium whose bytes are in an entry of the history.
"""

from dataclasses import dataclass, replace

import anyio.to_thread
import pybase64

from app.errors import NotFoundError
from app.services.agents.tool_lines import format_medium
from app.services.agents.tools import ToolCallResult, ToolContext, build_text_result
from app.services.renders.loaded_sessions import LoadedSession, load_entry
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.context.recalls import ENTRY_HANDLE, MEDIUM_HANDLE
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.headers import read_hints
from pagefault_dialects.media.legacy_charsets import LegacyText, decode_any_text
from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.conversation import InlineBytes, Medium
from pagefault_dialects.model.media_handles import handle_of
from pagefault_dialects.model.page import Level
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.pages.line_formats import quote_short
from pagefault_dialects.tools.tool_arguments import WrongArgumentsError

_MAX_REF_CHARS = 100


async def find_resource(records: Records, context: ToolContext, ref: str) -> Resource | None:
    """Return the resource that a handle names; `None` if there is none in the scope of the call.

    Args:
        records: Reads resources.
        context: The project, the session and the scope of the call.
        ref: The argument of the call, a text with a handle in it.
    """
    match = MEDIUM_HANDLE.search(ref)
    if match is None:
        return None
    resource_id = match.group(1)

    def find(unit: UnitOfWork) -> Resource | None:
        if context.scope == "project":
            return unit[ResourceRecords].find(resource_id)
        return (
            unit[ResourceRecords]
            .find_in_session([resource_id], context.session_id)
            .get(resource_id)
        )

    return await records.read(context.project_id, find)


def missing_ref_error(ref: str) -> WrongArgumentsError:
    """Return the error for a reference that names nothing."""
    return WrongArgumentsError(
        f"There is no {quote_short(ref, _MAX_REF_CHARS)} here. A ref is an @blob:… or @entry:… "
        "that you were shown; list_media names those there are. read_text also takes the id of a "
        "page; search_pages finds pages by words."
    )


@dataclass(frozen=True, slots=True)
class InlineMedium:
    """A small medium, whose bytes are in an entry of the history and not in the blob store."""

    medium: Medium
    handle: str
    """The name of the medium for models, such as `@entry:12/0123456789ab`."""
    data: bytes

    @property
    def base64(self) -> str:
        """The bytes as base64."""
        return pybase64.b64encode(self.data).decode()

    def decode(self) -> LegacyText:
        """Decode the bytes of the medium as a text.

        Raises:
            WrongArgumentsError: The medium is not a text.
        """
        mime_type = self.medium.mime_type
        decoded = decode_any_text(self.data, self.medium.declared_type)
        if decoded is None or not is_textual(mime_type):
            raise WrongArgumentsError(f"{self.handle} is {mime_type} and no text. Use view_media.")
        return decoded

    def to_result(self, level: Level) -> ToolCallResult:
        """Return the medium as the result of a call of `view_media`.

        Args:
            level: The requested level of detail. ABSTRACT and REFERENCE only describe the medium.
        """
        line = format_medium(self.medium, self.handle)
        if is_textual(self.medium.mime_type):
            return build_text_result(f"{line}\nIt is a text: use read_text.")
        texts = [self.medium.words.text] if self.medium.words else []
        if level >= Level.ABSTRACT:
            return build_text_result("\n".join([line, *texts]))
        block: dict[str, JsonValue] = {
            "type": "file",
            "data": self.base64,
            "mimeType": self.medium.mime_type,
            "filename": self.medium.filename,
        }
        return ToolCallResult([block, *({"type": "text", "text": text} for text in texts)])


async def find_inline_medium(
    records: Records, blobs: BlobStore, context: ToolContext, ref: str
) -> InlineMedium | None:
    """Return the medium that a handle `@entry:SEQ/ID` names; `None` if the session has none.

    Args:
        records: Reads the entry.
        blobs: Reads the structured content of the entry.
        context: The session of the call.
        ref: The argument of the call, a text with a handle in it.

    Raises:
        StoreUnavailableError: A store did not answer.
    """
    match = ENTRY_HANDLE.search(ref)
    if match is None or match.group(2) is None:
        return None
    seq = int(match.group(1))
    try:
        loaded = await load_entry(records, blobs, context.project_id, context.session_id, seq)
    except NotFoundError:
        return None
    handle = f"@entry:{seq}/{match.group(2)}"
    return await anyio.to_thread.run_sync(_find_in_entry, loaded, seq, handle)


def _find_in_entry(loaded: LoadedSession, seq: int, handle: str) -> InlineMedium | None:
    """Return the medium with a handle among the media of an entry, with its size in pixels."""
    # A model only knows handles of media that it may see, so the audience is not checked here.
    for turn in loaded.read_first_entry_turns("everyone"):
        for item in turn.items:
            if (
                isinstance(item, Medium)
                and isinstance(item.source, InlineBytes)
                and handle_of(item, seq) == handle
            ):
                data = item.source.data
                measured = replace(item, hints=read_hints(data, item.mime_type))
                return InlineMedium(measured, handle, data)
    return None
